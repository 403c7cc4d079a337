//===- TmaProduct.cpp - products whose tiles TMA loads ---------------------===//
#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/schedule/template/TileExpr.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr unsigned kBatch = 0, kRow = 1, kDepth = 2; // the operand's dimensions
constexpr int kLine = 64;                            // elements of a tile's line: 128 bytes

// How an operand lies in memory: along k or along the row; then come the other dimensions, in the order that tensor
// maps want, in which each stride is a multiple of the one before.
struct Layout {
  bool alongRows;
  SmallVector<unsigned> dims;
  SmallVector<AffineExpr> strides;
};

std::optional<Layout> layoutOf(const OperandSpec &operand, ArrayAttr symbols) {
  if (operand.tensor || !operand.windows.empty())
    return std::nullopt;
  constexpr int kAligned = 8; // 16 bytes
  OperandSpec::Access access = operand.access(symbols);
  if (access.vector != kAligned)
    return std::nullopt;
  const unsigned line = access.alongK ? kDepth : kRow, outer = access.alongK ? kRow : kDepth;
  auto batch = gemm::dimStride(operand.offset, kBatch, 3), row = gemm::dimStride(operand.offset, outer, 3);
  auto unit = gemm::dimStride(operand.offset, line, 3);
  if (!batch || !row || !unit || ir::getConstant(*unit) != 1 || ir::getConstant(*row) == 0)
    return std::nullopt;
  // All that the offset is made of.
  MLIRContext *context = operand.offset.getContext();
  auto dim = [&](unsigned position) { return getAffineDimExpr(position, context); };
  if (gemm::simplify(operand.offset - *batch * dim(kBatch) - *row * dim(outer) - dim(line)) != 0)
    return std::nullopt;
  if (ir::getConstant(operand.extents[kBatch]) == 1 || ir::getConstant(*batch) == 0)
    return Layout{!access.alongK, {outer}, {*row}};
  auto batchStride = ir::getConstant(*batch), rowStride = ir::getConstant(*row);
  if ((batchStride && rowStride && *batchStride % *rowStride == 0) ||
      gemm::simplify(*batch - *row * operand.extents[outer]) == 0)
    return Layout{!access.alongK, {outer, kBatch}, {*row, *batch}};
  if (batchStride && rowStride && *rowStride % *batchStride == 0)
    return Layout{!access.alongK, {kBatch, outer}, {*batch, *row}};
  return std::nullopt;
}

// The functor that starts the copy of a tile of so many rows; the expression that makes it.
std::string defineLoad(KernelText &text, StringRef name, StringRef map, const OperandSpec &operand, int rows) {
  Layout layout = *layoutOf(operand, text.builder.symbols);
  TensorMap spec;
  spec.buffer = operand.buffer;
  spec.elementBytes = 2;
  spec.swizzle = 2 * kLine;
  spec.extents = {operand.extents[layout.alongRows ? kRow : kDepth]};
  spec.box = {kLine};
  // Where lines lie along rows, a copy brings 64 of them.
  const char *index[] = {"static_cast<int>(g)", "static_cast<int>(row)", "static_cast<int>(k)"};
  std::string coordinates = layout.alongRows ? "static_cast<int>(row) + i" : index[kDepth];
  for (auto [dim, stride] : llvm::zip(layout.dims, layout.strides)) {
    spec.extents.push_back(operand.extents[dim]);
    spec.strides.push_back(stride);
    spec.box.push_back(dim == kRow ? rows : dim == kDepth ? kLine : 1);
    coordinates += std::string(", ") + index[dim];
  }
  text.tensorMap(map, std::move(spec));
  std::string copies = "    tcc::tensor_load(to, map, " + coordinates + ", full);\n";
  if (layout.alongRows)
    copies = "    for (int i = 0; i < " + std::to_string(rows) + "; i += " + std::to_string(kLine) +
             ")\n      tcc::tensor_load(static_cast<unsigned char*>(to) + i * " + std::to_string(2 * kLine) +
             ", map, " + coordinates + ", full);\n";
  text.define("struct " + name.str() +
              " {\n  static constexpr bool kAlongRows = " + (layout.alongRows ? "true" : "false") +
              ";\n  const tcc::TensorMap& map;\n\n  TCC_DEVICE void prefetch() const { tcc::prefetch_map(map); }\n"
              "  TCC_DEVICE void operator()(void* to, [[maybe_unused]] Index g, "
              "Index row, Index k, tcc::uint64* full) const {\n" +
              copies + "  }\n};\n\n");
  return name.str() + "{" + map.str() + "}";
}

} // namespace

bool canLoadByTma(const KernelBuilder &builder, const Product &product) {
  const CudaDescription &device = builder.backend.device();
  Type element = product.a.element;
  return (device.arch == "sm_90a" || device.isSim()) && builder.indexBits == 32 && isa<FloatType>(element) &&
         element.getIntOrFloatBitWidth() == 16 && layoutOf(product.a, builder.symbols) &&
         layoutOf(product.b, builder.symbols);
}

LogicalResult launchByTma(KernelBuilder &builder, StringRef name, const Product &product, const GemmChoice &choice) {
  constexpr unsigned kWidest = 8;
  const GemmTiles &tiles = choice.tiles;
  KernelText text(builder, "gemm_tma.cuh");
  std::string body = extentsText(text, product, 1);
  std::string a = defineLoad(text, "LoadA", "map_a", product.a, tiles.m);
  std::string b = defineLoad(text, "LoadB", "map_b", product.b, tiles.n);
  unsigned fastest = fastestDim(builder.kernel, product);
  FailureOr<std::string> epilogue = text.tileEpilogue(product.result, fastest, kWidest, kWidest);
  if (failed(epilogue))
    return failure();
  GemmElements elements;
  elements.bytes = 2;
  int64_t shared = tiles.sharedBytes(elements);
  body += "  using Tiles = tcc::gemm::" + tiles.text() + ";\n";
  body += "  static_assert(Tiles::kThreads == " + std::to_string(tiles.threads()) +
          " && Tiles::kBytes == " + std::to_string(shared) + ", \"as launched\");\n";
  body += "  tcc::gemm::multiply_by_tma<Tiles, " + cppType(product.a.element) + ", " +
          (fastest == 1 ? "true" : "false") + ">(" + a + ", " + b + ", extents, " + *epilogue + ");\n";
  // Blocks go from tile to tile, as many as the largest device has multiprocessors.
  const int64_t most = builder.backend.device().mostMultiprocessors;
  AffineExpr count = gemm::simplify(product.batch * product.m.ceilDiv(tiles.m) * product.n.ceilDiv(tiles.n));
  const int64_t blocks = std::min(most, ir::getRange(count, builder.symbols).second);
  text.launch(name, tiles.threads(), getAffineConstantExpr(std::max<int64_t>(1, blocks), builder.context), shared, body,
              choice.beside);
  builder.code.choices.push_back(describe(choice));
  return success();
}

} // namespace tcc::codegen::cuda
