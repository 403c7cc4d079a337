//===- Product.cpp - launches of a matrix product --------------------------===//
#include "codegen/cuda/gemm/Schedule.h"

#include "ir/Extents.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

// Along which dimension the outputs of the first result are next to each other: 0 to 2.
unsigned fastestDim(const gemm::TemplateKernel &kernel, const Product &product) {
  const gemm::Output &output = kernel.outputs.front();
  Exprs at;
  for (AffineExpr expr : output.coordinate)
    at.push_back(gemm::simplify(gemm::substitute(expr, product.result)));
  AffineExpr offset = gemm::rowMajorOffset(at, ir::getExtents(output.tensor.getType()), kernel.op->getContext());
  AffineExpr extents[] = {product.batch, product.m, product.n};
  for (unsigned dim : {2u, 1u, 0u})
    if (ir::getConstant(extents[dim]) != 1 && gemm::laneStride(offset, dim, 8) == 1)
      return dim;
  return 2;
}

std::string sumType(const KernelBuilder &builder) {
  return cppType(gemm::accumulationType(builder.kernel.resultElement()));
}

// "  const Extents<Index> extents{...};"
std::string extentsText(KernelText &text, const Product &product, int splits) {
  return "  const tcc::gemm::Extents<Index> extents{" + text.value(product.batch) + ", " + text.value(product.m) +
         ", " + text.value(product.n) + ", " + text.value(product.k) + ", " + std::to_string(splits) + "};\n";
}

AffineExpr blocksFor(AffineExpr threads, int perBlock) { return threads.ceilDiv(perBlock); }

} // namespace

LogicalResult launchProduct(KernelBuilder &builder, StringRef name, const Product &product) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  Type sum = gemm::accumulationType(kernel.resultElement());
  int64_t elementBytes = kernel.operands[0].element.getIntOrFloatBitWidth() / 8,
          sumBytes = sum.getIntOrFloatBitWidth() / 8;
  GemmShape shape{ir::getConstant(product.batch), ir::getConstant(product.m), ir::getConstant(product.n),
                  ir::getConstant(product.k)};
  GemmChoice choice = chooseTiles(shape, elementBytes, builder.backend.device());
  const GemmTiles &tiles = choice.tiles;
  AffineExpr blocks = product.batch * product.m.ceilDiv(tiles.m) * product.n.ceilDiv(tiles.n);
  bool rowsFastest = fastestDim(kernel, product) == 1;
  std::string prefix = "tcc::gemm::";

  int partial = -1;
  AffineExpr results = gemm::simplify(product.batch * product.m * product.n);
  // Partial sums have to be within reach of the index type, too.
  if (choice.splits > 1 && ir::getConstant(results).value_or(INT64_MAX) < (int64_t(1) << 30) / choice.splits)
    partial = builder.addTemporary(results * choice.splits, sum);
  int splits = partial >= 0 ? choice.splits : 1;

  KernelText text(builder, "gemm.cuh");
  FailureOr<std::string> a = defineOperand(text, "A", product.a), b = defineOperand(text, "B", product.b);
  if (failed(a) || failed(b))
    return failure();
  std::string body = extentsText(text, product, splits), epilogue;
  if (partial >= 0) {
    epilogue = "tcc::gemm::StorePartial<" + sumType(builder) + ", Index>{" + text.buffer(partial) + ", extents}";
  } else {
    FailureOr<std::string> made = text.epilogue(product.result, tiles.mma ? 8 : 4);
    if (failed(made))
      return failure();
    epilogue = *made;
  }
  int64_t shared = tiles.sharedBytes(elementBytes, sumBytes);
  body += "  using Tiles = " + prefix + tiles.text() + ";\n";
  body += "  static_assert(Tiles::kThreads == " + std::to_string(tiles.threads()) +
          " && tcc::gemm::Layout<Tiles, A, B, " + sumType(builder) + ">::kBytes == " + std::to_string(shared) +
          ", \"as launched\");\n";
  body += "  tcc::gemm::multiply<Tiles, " + sumType(builder) + ", " + (rowsFastest && partial < 0 ? "true" : "false") +
          ">(" + *a + ", " + *b + ", extents, " + epilogue + ");\n";
  text.launch(name, tiles.threads(), blocks * splits, shared, body);
  builder.code.choices.push_back(llvm::formatv("{0}x{1} tiles, {2} of k in {3} stages, {4} threads{5}", tiles.m,
                                               tiles.n, tiles.depth, tiles.stages, tiles.threads(),
                                               splits > 1 ? llvm::formatv(", k in {0} parts", splits).str() : "")
                                     .str());
  if (partial < 0)
    return success();

  constexpr int kThreads = 256;
  KernelText second(builder, "gemm.cuh");
  body = extentsText(second, product, splits);
  FailureOr<std::string> made = second.epilogue(product.result);
  if (failed(made))
    return failure();
  body +=
      llvm::formatv("  tcc::gemm::reduce<{0}>({1}, extents, {2});\n", kThreads, second.buffer(partial), *made).str();
  second.launch((name + "_sum").str(), kThreads, blocksFor(results, kThreads), 0, body);
  return success();
}

LogicalResult launchDirect(KernelBuilder &builder, StringRef name, const Product &product) {
  constexpr int kThreads = 256;
  constexpr int64_t kUnrolled = 49; // a window of 7 by 7
  KernelText text(builder, "gemm.cuh");
  FailureOr<std::string> a = defineOperand(text, "A", product.a), b = defineOperand(text, "B", product.b);
  FailureOr<std::string> epilogue = text.epilogue(product.result);
  if (failed(a) || failed(b) || failed(epilogue))
    return failure();
  const char *fastest[] = {"kBatch", "kRow", "kColumn"};
  int64_t depth = ir::getConstant(product.k).value_or(0);
  std::string body = extentsText(text, product, 1);
  body += llvm::formatv("  tcc::gemm::direct<{0}, tcc::gemm::Fastest::{1}, {2}, {3}>({4}, {5}, extents, {6});\n",
                        kThreads, fastest[fastestDim(builder.kernel, product)], depth <= kUnrolled ? depth : 0,
                        sumType(builder), *a, *b, *epilogue)
              .str();
  text.launch(name, kThreads, blocksFor(gemm::simplify(product.batch * product.m * product.n), kThreads), 0, body);
  return success();
}

} // namespace tcc::codegen::cuda
