// Random numbers: library kernels of a counter-based generator, repeatable for a seed.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static NamedAttribute seed(NodeBuilder &b) { return b.f64("seed", b.floatAttr("seed", 0)); }

static void random(NodeBuilder &b, bool normal, const Exprs &extents, Type type) {
  SmallVector<NamedAttribute> config{seed(b)};
  for (auto [name, fallback] : normal ? std::array{std::pair("mean", 0.0), std::pair("scale", 1.0)}
                                      : std::array{std::pair("low", 0.0), std::pair("high", 1.0)})
    config.push_back(b.f64(name, b.floatAttr(name, fallback)));
  Value shape = b.full(extents, b.scalar(type, 0));
  b.result(b.libraryOne(normal ? "random_normal" : "random_uniform", {shape}, config, b.tensorType(extents, type)));
}

static Exprs shapeAttr(NodeBuilder &b) {
  std::optional<Ints> shape = b.intsAttr("shape");
  b.check(shape.has_value(), "attribute 'shape' is missing");
  for (int64_t extent : *shape)
    b.check(extent >= 0, "attribute 'shape' has a negative extent");
  return b.exprs(*shape);
}

static Type likeType(NodeBuilder &b) {
  Type type = b.elementType(b.input(0));
  return b.dtypeAttr("dtype", isa<FloatType>(type) ? type : b.f32Type());
}

void convertRandomUniform(NodeBuilder &b) { random(b, false, shapeAttr(b), b.dtypeAttr("dtype", b.f32Type())); }
void convertRandomNormal(NodeBuilder &b) { random(b, true, shapeAttr(b), b.dtypeAttr("dtype", b.f32Type())); }
void convertRandomUniformLike(NodeBuilder &b) { random(b, false, b.extents(b.input(0)), likeType(b)); }
void convertRandomNormalLike(NodeBuilder &b) { random(b, true, b.extents(b.input(0)), likeType(b)); }

void convertBernoulli(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.libraryOne("bernoulli", {x}, seed(b), b.tensorType(b.extents(x), b.dtypeAttr("dtype", b.elementType(x)))));
}

void convertMultinomial(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) == 2, "needs an input of rank 2");
  int64_t size = b.sizeAttr("sample_size", 1);
  b.check(size > 0, "attribute 'sample_size' must be positive");
  b.result(b.libraryOne("multinomial", {x}, {b.i64("sample_size", size), seed(b)},
                        b.tensorType({b.extent(x, 0), b.expr(size)}, b.dtypeAttr("dtype", b.builder.getI32Type()))));
}

} // namespace tcc::onnx
