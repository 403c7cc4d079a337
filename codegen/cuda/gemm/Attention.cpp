//===- Attention.cpp - schedule of kernels around tcc.attention ------------===//
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <variant>

#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/cuda/gemm/SearchSpace.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

// Parameters of tcc::attention::SimtEngine or MmaEngine.
struct Engine {
  bool mma = false;
  int warps = 4, keys = 64, depth = 0, width = 0, rows = 4; ///< rows of a thread (simt)
  int usedDepth = 0, usedWidth = 0;
  int64_t elementBytes = 4;

  int queries() const { return warps * (mma ? 16 : 4 * rows); }
  int threads() const { return 32 * warps; }
  // Of a thread, about: scores, results, fragments and addresses.
  int registers() const {
    constexpr int kOther = 72, kMost = 255;
    int perRow = mma ? keys / 4 + (usedWidth + 15) / 16 * 4 : keys / 8 + width / 8;
    int numbers =
        mma ? 2 * perRow + std::min(16, (usedDepth + 15) / 16 * 4)
            : (rows * perRow + (rows + 8) * static_cast<int>(16 / elementBytes)) * static_cast<int>(elementBytes / 4);
    return std::min(kMost, numbers + kOther);
  }
  int64_t sharedBytes() const {
    int64_t tiles =
        int64_t(queries()) * depth + int64_t(keys) * (depth + width) + (mma ? 0 : int64_t(queries()) * keys);
    int64_t pitch = std::min(width, 64) + 8, slices = int64_t(queries()) * pitch * (mma ? 4 : elementBytes);
    return std::max(tiles * elementBytes, slices);
  }
  std::string text(StringRef element) const {
    std::string list;
    for (int value : {warps, keys, depth, width})
      list += ", " + std::to_string(value);
    list += mma ? llvm::formatv(", {0}, {1}", usedDepth, usedWidth).str() : ", " + std::to_string(rows);
    return (mma ? "MmaEngine<" : "SimtEngine<") + element.str() + list + ">";
  }
};

// Parameters of tcc::attention::attend_rows, for heads that are wider than tiles in registers.
struct RowEngine {
  int64_t depth = 0, width = 0, sumBytes = 4;
  static constexpr int64_t kWidest = 8192;

  int threads() const { return std::max(depth, width) > 1024 ? 512 : 256; }
  int64_t sharedBytes() const { return (depth + 32 + 1) * sumBytes; } ///< as tcc::attention::RowLayout has it
};

// An engine that fits the device; nothing for heads that are too wide.
std::optional<Engine> chooseEngine(int64_t depth, int64_t width, std::optional<int64_t> queries, int64_t elementBytes,
                                   const CudaDescription &device) {
  int64_t wide = std::max(depth, width);
  if (wide < 1 || wide > (elementBytes == 8 ? 128 : 256))
    return std::nullopt;
  Engine engine;
  engine.mma = elementBytes == 2;
  engine.elementBytes = elementBytes;
  engine.usedDepth = depth;
  engine.usedWidth = width;
  // Columns of a thread are whole chunks of shared memory.
  int64_t least = elementBytes == 2 ? 16 : 32;
  engine.depth = std::max<int64_t>(least, llvm::PowerOf2Ceil(depth));
  engine.width = std::max<int64_t>(least, llvm::PowerOf2Ceil(width));
  // Registers hold scores and results of a thread's rows.
  if (engine.mma)
    engine.keys = wide > 128 ? 16 : 64;
  else if (elementBytes == 4) {
    engine.keys = wide > 128 ? 16 : wide > 64 ? 32 : 64;
    engine.rows = wide > 128 ? 2 : 4;
  } else {
    engine.keys = wide > 64 ? 16 : 32;
    engine.rows = 2;
  }
  int64_t each = engine.queries() / engine.warps;
  while (engine.warps > 1 && queries && *queries <= each * engine.warps / 2)
    engine.warps /= 2;
  while (engine.warps > 1 && engine.sharedBytes() > device.sharedPerBlockOptIn)
    engine.warps /= 2;
  if (engine.sharedBytes() > device.sharedPerBlockOptIn)
    return std::nullopt;
  return engine;
}

using AnyEngine = std::variant<Engine, RowEngine>;

std::optional<AnyEngine> engineOf(const gemm::TemplateKernel &kernel, const CudaDescription &device) {
  const Exprs &q = kernel.operands[0].extents, &k = kernel.operands[1].extents, &v = kernel.operands[2].extents;
  auto heads = ir::getConstant(q[1]), keyHeads = ir::getConstant(k[1]), depth = ir::getConstant(q[3]),
       width = ir::getConstant(v[3]);
  if (!heads || !keyHeads || !depth || !width || *keyHeads == 0 || *heads % *keyHeads != 0)
    return std::nullopt;
  int64_t bytes = kernel.operands[0].element.getIntOrFloatBitWidth() / 8;
  if (std::optional<Engine> engine = chooseEngine(*depth, *width, ir::getConstant(q[2]), bytes, device))
    return *engine;
  RowEngine rows{*depth, *width, std::max<int64_t>(bytes, 4)};
  if (*depth < 1 || *width < 1 || std::max(*depth, *width) > RowEngine::kWidest ||
      rows.sharedBytes() > device.sharedPerBlockOptIn)
    return std::nullopt;
  return rows;
}

bool fits(const Engine &engine, const CudaDescription &device) {
  return engine.threads() <= 1024 && engine.sharedBytes() <= device.sharedPerBlockOptIn &&
         int64_t{engine.registers()} * engine.threads() <= device.registersPerMultiprocessor &&
         engine.registers() < 255;
}

int besideOf(const Engine &engine, const CudaDescription &device) {
  return blocksBeside(device, engine.threads(), engine.registers(), engine.sharedBytes());
}

std::string describe(const Engine &engine, const CudaDescription &device) {
  return llvm::formatv("{0} queries by {1} keys, {2} threads, {3} blocks a multiprocessor", engine.queries(),
                       engine.keys, engine.threads(), besideOf(engine, device))
      .str();
}

// As measured, where that fits; see attentionSpace().
Engine measuredEngine(const gemm::TemplateKernel &kernel, const CudaDescription &device, Engine engine) {
  std::vector<int64_t> choice = getChoice(kernel.kernel, ChoiceKind::Attention, 2);
  if (choice.empty() || !llvm::is_contained(kAttentionWarps, choice[0]) ||
      !llvm::is_contained(kAttentionKeys, choice[1]))
    return engine;
  Engine measured = engine;
  measured.warps = static_cast<int>(choice[0]);
  measured.keys = static_cast<int>(choice[1]);
  return fits(measured, device) ? measured : engine;
}

// The functor that is added to scores; its expression in the entry point.
FailureOr<std::string> defineMask(KernelText &text, Type sum, int64_t heads) {
  const gemm::TemplateKernel &kernel = text.builder.kernel;
  MLIRContext *context = text.builder.context;
  if (kernel.operands.size() < 4)
    return std::string("tcc::attention::NoMask{}");
  const gemm::Operand &mask = kernel.operands[3];
  AffineExpr d0 = getAffineDimExpr(0, context);
  Exprs dims{d0.floorDiv(heads), d0 % heads, getAffineDimExpr(1, context), getAffineDimExpr(2, context)}, at;
  unsigned rank = mask.extents.size();
  for (unsigned i = 0; i < rank; ++i)
    at.push_back(ir::getConstant(mask.extents[i]) == 1 ? getAffineConstantExpr(0, context) : dims[4 - rank + i]);
  FailureOr<std::string> made = text.functor(
      "Mask_value", {"g", "query", "key"}, {}, sum,
      [&](gemm::Emit &e, const gemm::Frame &frame, ValueRange arguments) -> Value {
        gemm::Point point;
        point.dims.assign(arguments.begin(), arguments.end());
        point.symbols = frame.symbols;
        Value value = kernel.evaluate(e, frame, std::move(point), mask.tensor, at);
        if (!mask.element.isInteger(1))
          return e.convert(value, sum);
        auto number = [&](double x) {
          return e.b.create<arith::ConstantOp>(e.loc, e.b.getFloatAttr(sum, x)).getResult();
        };
        return e.b.create<arith::SelectOp>(e.loc, value, number(0), number(-std::numeric_limits<double>::infinity()));
      });
  if (failed(made))
    return failure();
  text.define("struct Mask {\n  static constexpr bool kPresent = true;\n  Mask_value compute;\n\n  TCC_DEVICE " +
              cppType(sum) +
              " operator()(Index g, Index query, Index key) const { return compute(g, query, key); }\n};\n\n");
  return "Mask{" + *made + "}";
}

std::string literal(double value) {
  if (std::isnan(value))
    return "tcc::nan<double>()";
  if (std::isinf(value))
    return value < 0 ? "-tcc::inf<double>()" : "tcc::inf<double>()";
  char text[64];
  std::snprintf(text, sizeof(text), "%a", value);
  return text;
}

} // namespace

bool canScheduleAttention(const gemm::TemplateKernel &kernel, const CudaDescription &device) {
  if (kernel.operands.size() > 3) {
    Type element = kernel.operands[3].element;
    if (!element.isInteger(1) && !isa<FloatType>(element))
      return false;
  }
  return kernel.operands[0].extents.size() == 4 && engineOf(kernel, device);
}

ScheduleSpace attentionSpace(const gemm::TemplateKernel &kernel, const CudaDescription &device) {
  ScheduleSpace space;
  std::optional<AnyEngine> any = engineOf(kernel, device);
  const auto *best = any ? std::get_if<Engine>(&*any) : nullptr;
  if (!best)
    return space;
  space.candidates.push_back({{}, "default"});
  for (int64_t warps : kAttentionWarps)
    for (int64_t keys : kAttentionKeys) {
      Engine engine = *best;
      engine.warps = static_cast<int>(warps);
      engine.keys = static_cast<int>(keys);
      if (engine.warps == best->warps && engine.keys == best->keys)
        continue;
      if (fits(engine, device))
        space.candidates.push_back(
            {{static_cast<int64_t>(ChoiceKind::Attention), warps, keys}, describe(engine, device)});
      else
        space.pruned.push_back(describe(engine, device) + ": too many registers, or too much shared memory");
    }
  return space;
}

FailureOr<KernelCode> scheduleAttention(KernelBuilder &builder) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  auto op = cast<ir::AttentionOp>(kernel.op);
  MLIRContext *context = builder.context;
  const CudaDescription &device = builder.backend.device();
  AnyEngine any = *engineOf(kernel, device);
  if (auto *usual = std::get_if<Engine>(&any))
    *usual = measuredEngine(kernel, device, *usual);
  const auto *tiles = std::get_if<Engine>(&any);
  const auto *wide = std::get_if<RowEngine>(&any);
  const gemm::Operand &q = kernel.operands[0], &k = kernel.operands[1], &v = kernel.operands[2];
  int64_t heads = *ir::getConstant(q.extents[1]), keyHeads = *ir::getConstant(k.extents[1]);
  AffineExpr allHeads = gemm::simplify(q.extents[0] * heads), allKeyHeads = gemm::simplify(q.extents[0] * keyHeads);
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context);
  Type sum = gemm::accumulationType(kernel.resultElement());

  OperandSpec queries = specOf(q, {d0.floorDiv(heads), d0 % heads, d1, d2}, {allHeads, q.extents[2], q.extents[3]});
  queries.forceAlongK = true;
  OperandSpec keys =
      specOf(k, {d0.floorDiv(keyHeads), d0 % keyHeads, d1, d2}, {allKeyHeads, k.extents[2], k.extents[3]});
  // Without tensor cores, keys of a thread have to be whole chunks to lie along the keys.
  keys.forceAlongK = tiles && !tiles->mma && tiles->keys / 8 % (16 / tiles->elementBytes) != 0;
  OperandSpec values =
      specOf(v, {d0.floorDiv(keyHeads), d0 % keyHeads, d2, d1}, {allKeyHeads, v.extents[3], v.extents[2]});
  values.preferRow = true;

  KernelText text(builder, tiles ? "attention.cuh" : "attention_rows.cuh");
  FailureOr<std::string> a = defineOperand(text, "Queries", queries), b = defineOperand(text, "Keys", keys),
                         c = defineOperand(text, "Values", values);
  FailureOr<std::string> mask = defineMask(text, sum, heads);
  Exprs coordinate{d0.floorDiv(heads), d0 % heads, d1, d2};
  constexpr unsigned kColumns = 2, kWidest = 8, kBatch = 4;
  FailureOr<std::string> epilogue =
      tiles ? text.tileEpilogue(coordinate, kColumns, kWidest, kBatch) : text.epilogue(coordinate);
  if (failed(a) || failed(b) || failed(c) || failed(mask) || failed(epilogue))
    return failure();
  const char *rows = op.getMaskedRows() == ir::MaskedRows::Nan    ? "kNan"
                     : op.getMaskedRows() == ir::MaskedRows::Zero ? "kZero"
                                                                  : "kGuarded";
  int64_t depth = tiles ? tiles->usedDepth : wide->depth, width = tiles ? tiles->usedWidth : wide->width;
  std::string body =
      llvm::formatv("  const tcc::attention::Extents<Index> extents{{{0}, {1}, {2}, {3}, {4}, {5}, {6}};\n",
                    text.value(allHeads), heads / keyHeads, text.value(q.extents[2]), text.value(k.extents[2]), depth,
                    width, literal(op.getScale().convertToDouble()))
          .str();
  std::string common = llvm::formatv("{0}, tcc::attention::MaskedRows::{1}", op.getCausal() ? "true" : "false", rows),
              arguments = llvm::formatv("({0}, {1}, {2}, extents, {3}, {4});\n", *a, *b, *c, *mask, *epilogue);
  if (wide) {
    body += llvm::formatv("  static_assert(tcc::attention::RowLayout<{0}, {1}>::kBytes == {2}, \"as launched\");\n",
                          cppType(sum), depth, wide->sharedBytes())
                .str();
    body += llvm::formatv("  tcc::attention::attend_rows<{0}, {1}, {2}, {3}, {4}>{5}", wide->threads(), depth, width,
                          common, cppType(sum), arguments)
                .str();
    text.launch("attention_rows", wide->threads(), allHeads * q.extents[2], wide->sharedBytes(), body);
    builder.code.choices.push_back(llvm::formatv("one query a block, {0} threads", wide->threads()).str());
    return builder.take("attention");
  }
  int64_t shared = tiles->sharedBytes();
  body += "  using Engine = tcc::attention::" + tiles->text(cppType(q.element)) + ";\n";
  body += llvm::formatv("  static_assert(Engine::kThreads == {0} && Engine::kTileQueries == {1} && "
                        "tcc::attention::Layout<Engine, Queries, Keys, Values>::kBytes == {2}, \"as launched\");\n",
                        tiles->threads(), tiles->queries(), shared)
              .str();
  body += llvm::formatv("  tcc::attention::attend<Engine, {0}>{1}", common, arguments).str();
  text.launch("attention", tiles->threads(), allHeads * q.extents[2].ceilDiv(tiles->queries()), shared, body,
              besideOf(*tiles, device));
  builder.code.choices.push_back(describe(*tiles, device));
  return builder.take("attention");
}

} // namespace tcc::codegen::cuda
