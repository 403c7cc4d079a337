// https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html, https://arxiv.org/abs/2104.09864
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertRotaryEmbedding(NodeBuilder &b) {
  Value x = b.input(0);
  Exprs original = b.extents(x);
  bool merged = b.rank(x) == 3;
  if (merged) {
    int64_t heads = b.sizeAttr("num_heads", 0);
    b.check(heads > 0, "an input of rank 3 needs attribute 'num_heads'");
    x = b.reshape(x, {original[0], original[1], b.expr(heads), b.divideProducts({original[2]}, {b.expr(heads)})});
  } else {
    b.check(b.rank(x) == 4, "needs an input of rank 3 or 4");
    x = b.transpose(x, {0, 2, 1, 3});
  }
  // x is [batch, sequence, heads, head size] from here.
  int64_t size = b.requireExtent(x, 3, "the rotation"), rotated = b.sizeAttr("rotary_embedding_dim", 0);
  if (rotated == 0)
    rotated = size;
  b.check(rotated > 0 && rotated <= size && rotated % 2 == 0,
          "'rotary_embedding_dim' must be even and within the head size");
  int64_t half = rotated / 2;
  auto cache = [&](size_t i) {
    Value c = b.input(i);
    if (b.has(3))
      c = b.gather(c, b.input(3), 0);
    b.check(b.rank(c) == 3, "the caches must have rank 2 with position_ids, else 3");
    return b.unsqueeze(c, {2});
  };
  Value cos = cache(1), sin = cache(2), turned = b.sliceAxis(x, 3, 0, rotated);
  bool interleaved = b.intAttr("interleaved", 0) != 0;
  Value x1 = interleaved ? b.sliceAxis(turned, 3, 0, half, 2) : b.sliceAxis(turned, 3, 0, half);
  Value x2 = interleaved ? b.sliceAxis(turned, 3, 1, half, 2) : b.sliceAxis(turned, 3, half, half);
  Value real = b.sub(b.mul(x1, cos), b.mul(x2, sin)), imaginary = b.add(b.mul(x1, sin), b.mul(x2, cos));
  if (interleaved)
    turned = b.reshape(b.concat({b.unsqueeze(real, {4}), b.unsqueeze(imaginary, {4})}, 4), b.extents(turned));
  else
    turned = b.concat({real, imaginary}, 3);
  Value y = rotated == size ? turned : b.concat({turned, b.sliceAxis(x, 3, rotated, size - rotated)}, 3);
  b.result(merged ? b.reshape(y, original) : b.transpose(y, {0, 2, 1, 3}));
}

} // namespace tcc::onnx
