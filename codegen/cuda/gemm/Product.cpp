//===- Product.cpp - launches of a matrix product --------------------------===//
#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/cuda/gemm/SearchSpace.h"

#include "ir/Extents.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

std::string sumType(const KernelBuilder &builder) {
  return cppType(gemm::accumulationType(builder.kernel.resultElement()));
}

AffineExpr blocksFor(AffineExpr threads, int perBlock) { return threads.ceilDiv(perBlock); }

// What multiplies the product's elements, and what could.
GemmElements elementsOf(const KernelBuilder &builder, const Product &product, Type sum,
                        const ScheduleOptions &options) {
  const ArrayAttr symbols = builder.symbols;
  const CudaDescription &device = builder.backend.device();
  Type element = product.a.element;
  GemmElements elements;
  elements.bytes = element.getIntOrFloatBitWidth() / 8;
  elements.sumBytes = sum.getIntOrFloatBitWidth() / 8;
  elements.zeros = !product.zeroA.empty() || !product.zeroB.empty();
  OperandSpec::Access a = product.a.access(symbols), b = product.b.access(symbols);
  bool half = isa<FloatType>(element) && elements.bytes == 2;
  elements.wgmma = half && (device.arch == "sm_90a" || device.isSim()) && a.alongK && b.alongK;
  elements.tma = canLoadByTma(builder, product);
  if (options.tma && elements.tma && !isCall(product.library))
    elements.engine = GemmEngine::Tma;
  else if (options.wgmma && elements.wgmma)
    elements.engine = GemmEngine::Wgmma;
  else if (half || element.isInteger(8) || (element.isF32() && options.tf32))
    elements.engine = GemmEngine::Mma;
  // What passes through registers does so in small portions.
  auto copied = [&](const OperandSpec &operand, const OperandSpec::Access &access) {
    constexpr int kLeastBytes = 4, kFewCopies = 16;
    return !operand.tensor && access.vector * elements.bytes >= kLeastBytes ? access.vector : kFewCopies;
  };
  elements.vectorA = copied(product.a, a);
  elements.vectorB = copied(product.b, b);
  elements.addressA = 1 + static_cast<int>(product.a.windows.size());
  elements.addressB = 1 + static_cast<int>(product.b.windows.size());
  // ldmatrix transposes elements of 2 bytes only.
  elements.gathered = elements.engine == GemmEngine::Mma && elements.bytes != 2 && !(a.alongK && b.alongK);
  return elements;
}

// Zero points, as a struct of the buffers that they read; the expression that makes it.
std::string defineZeros(KernelText &text, const Product &product) {
  std::string fields, members;
  for (int number : product.zeroBuffers) {
    std::string name = text.buffer(number);
    fields += "  const " + cppType(text.builder.element(number)) + "* " + name + ";\n";
    members += (members.empty() ? "" : ", ") + name;
  }
  auto function = [](const char *name, const char *index, const std::string &value) {
    return std::string("  TCC_DEVICE int ") + name + "([[maybe_unused]] Index g, [[maybe_unused]] Index " + index +
           ") const { return " + (value.empty() ? "0" : value) + "; }\n";
  };
  text.define("struct Zeros {\n  static constexpr bool kPresent = true;\n" + fields + "\n" +
              function("a", "row", product.zeroA) + function("b", "row", product.zeroB) + "};\n\n");
  return "Zeros{" + members + "}";
}

} // namespace

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

std::string extentsText(KernelText &text, const Product &product, int splits) {
  return "  const tcc::gemm::Extents<Index> extents{" + text.value(product.batch) + ", " + text.value(product.m) +
         ", " + text.value(product.n) + ", " + text.value(product.k) + ", " + std::to_string(splits) + "};\n";
}

LogicalResult launchProduct(KernelBuilder &builder, StringRef name, const Product &product,
                            const ScheduleOptions &options) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  Type sum = gemm::accumulationType(kernel.resultElement());
  auto atMost = [&](AffineExpr extent) -> std::optional<int64_t> {
    constexpr int64_t kMiddling = 1024;
    int64_t most = ir::getRange(extent, builder.symbols).second;
    return most <= kMiddling ? most : ir::getConstant(extent);
  };
  GemmShape shape{atMost(product.batch), atMost(product.m), atMost(product.n), ir::getConstant(product.k)};
  const CudaDescription &device = builder.backend.device();
  GemmElements elements = elementsOf(builder, product, sum, options);
  builder.products.push_back({shape, {product.batch, product.m, product.n, product.k}, elements});
  GemmChoice choice = chooseTiles(shape, elements, device);
  if (std::optional<GemmChoice> measured = measuredTiles(kernel.kernel, shape, elements, device)) {
    choice = *measured;
    elements.engine = choice.tiles.engine;
  }
  // What a call stands beside has the product's operands and no others.
  if (isCall(product.library))
    choice.splits = 1;
  if (choice.tiles.engine == GemmEngine::Tma)
    return launchByTma(builder, name, product, choice);
  const GemmTiles &tiles = choice.tiles;
  AffineExpr blocks = product.batch * product.m.ceilDiv(tiles.m) * product.n.ceilDiv(tiles.n);
  unsigned fastest = fastestDim(kernel, product);

  int splits = choice.splits;
  bool rowsFastest = fastest == 1;

  KernelText text(builder, "gemm.cuh");
  text.library = product.library;
  FailureOr<std::string> a = defineOperand(text, "A", product.a), b = defineOperand(text, "B", product.b);
  if (failed(a) || failed(b))
    return failure();
  std::string body = extentsText(text, product, splits), zeros, parts;
  // Without tensor cores a warp stages 4 rows, which are neighbours only where the operand's are not.
  constexpr unsigned kMost = 8, kRows = 4;
  bool simt = tiles.engine == GemmEngine::Simt;
  unsigned widest = !simt || !rowsFastest ? kMost : product.a.access(builder.symbols).alongK ? kRows : 1;
  FailureOr<std::string> epilogue = text.tileEpilogue(product.result, fastest, widest, simt ? kRows : kMost);
  if (failed(epilogue))
    return failure();
  if (elements.zeros)
    zeros = ", " + defineZeros(text, product);
  if (splits > 1) {
    int partial = builder.addTemporary(blocks * (splits * tiles.m * tiles.n), sum);
    parts = llvm::formatv("{0}, tcc::gemm::Parts<{1}>{{{2}, {3}}", zeros.empty() ? ", tcc::gemm::NoZeros()" : "",
                          sumType(builder), text.buffer(partial), text.counters(blocks))
                .str();
  }
  int64_t shared = tiles.sharedBytes(elements);
  body += "  using Tiles = tcc::gemm::" + tiles.text() + ";\n";
  body += "  static_assert(Tiles::kThreads == " + std::to_string(tiles.threads()) +
          " && tcc::gemm::Layout<Tiles, A, B, " + sumType(builder) + ">::kBytes == " + std::to_string(shared) +
          ", \"as launched\");\n";
  body += "  tcc::gemm::multiply<Tiles, " + sumType(builder) + ", " + (rowsFastest ? "true" : "false") + ">(" + *a +
          ", " + *b + ", extents, " + *epilogue + zeros + parts + ");\n";
  text.launch(name, tiles.threads(), blocks * splits, shared, body, choice.beside);
  builder.code.choices.push_back(describe(choice) +
                                 (isCall(product.library) ? ", or " + std::string(libraryTitle(product.library)) : ""));
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
