//===- TopK.cpp - sorting on the device, and top-k ------------------------===//
//
// A block sorts a chunk of a line; runs are merged in pairs, pass by pass, each a launch (of no blocks where lines are
// that short); the first k positions are looked up.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/library/LibraryKernel.h"
#include "ir/OpAttributes.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

using Buffer = LibraryKernel::Buffer;
using Scalar = LibraryKernel::Scalar;

constexpr int kMergeThreads = 128, kMergeItems = 4;
/// Longer lines have no room on any device.
constexpr int64_t kMostLength = int64_t(1) << 38;

int64_t keyBytes(Type element) { return element.getIntOrFloatBitWidth() == 64 ? 8 : 4; }
std::string keyText(Type element) { return keyBytes(element) == 8 ? "unsigned long long" : "unsigned"; }

std::string sizes(const SortPlan &plan) { return std::to_string(plan.threads) + ", " + std::to_string(plan.items); }

} // namespace

SortPlan planSort(int64_t most, int64_t keyBytes) {
  // Threads and items of chunks that fit the line; the largest keep static shared memory below 20 KiB.
  static constexpr std::pair<int, int> kChunks[] = {{32, 2}, {64, 4}, {128, 8}, {256, 8}};
  SortPlan plan;
  for (auto [threads, items] : kChunks) {
    if (threads * items * (keyBytes + 2) > (20 << 10) && plan.threads > 0)
      break;
    plan.threads = threads;
    plan.items = items;
    if (plan.chunk() >= most)
      break;
  }
  most = std::min(most, kMostLength);
  for (int64_t width = plan.chunk(); width < most; width *= 2)
    ++plan.passes;
  plan.wide = most > INT32_MAX;
  return plan;
}

SortBuffers emitSort(LibraryKernel &kernel, const SortPlan &plan, const SortSource &source, const Axis &axis) {
  SortBuffers sorted;
  AffineExpr items = ir::simplifyExtent(axis.lines * axis.length);
  int64_t keyBytes = source.key == "unsigned" ? 4 : 8;
  for (int i : {0, 1}) {
    // Without merging there is but one pair.
    bool isThere = i == 0 || plan.passes > 0;
    sorted.keys[i] = isThere ? kernel.temporary(items, source.key, keyBytes) : sorted.keys[0];
    sorted.positions[i] = isThere ? kernel.temporary(items, plan.position(), plan.wide ? 8 : 4) : sorted.positions[0];
  }
  SmallVector<Buffer> buffers(source.buffers);
  buffers.push_back({sorted.keys[0], "keys", true});
  buffers.push_back({sorted.positions[0], "positions", true});
  SmallVector<Scalar> scalars(source.scalars);
  AffineExpr chunks = axis.length.ceilDiv(plan.chunk());
  scalars.push_back({"chunks", chunks});
  kernel.launch(source.name + "_sort", source.header, plan.threads, axis.lines * chunks, buffers, scalars,
                "  tcc::sort_chunk<" + source.key + ", " + sizes(plan) + ">(" + source.maker +
                    ", length, chunks, tcc::Sorted<" + source.key + ", " + plan.position() +
                    ">{keys, positions, length});\n");
  int64_t width = plan.chunk(), tile = std::min<int64_t>(width, kMergeThreads * kMergeItems);
  int threads = static_cast<int>(tile) / kMergeItems;
  for (int pass = 0; pass < plan.passes; ++pass, width *= 2) {
    int from = pass % 2, to = 1 - from;
    // None where lines are no longer than the runs, else enough of them.
    AffineExpr tiles = ir::getConstant(axis.length)
                           ? axis.length.ceilDiv(tile)
                           : (axis.length + (width - 1)).floorDiv(2 * width) * (3 * width / tile);
    buffers.assign(source.buffers);
    buffers.append({{sorted.keys[from], "from_keys"},
                    {sorted.positions[from], "from_positions"},
                    {sorted.keys[to], "to_keys", true},
                    {sorted.positions[to], "to_positions", true}});
    scalars.assign(source.scalars);
    scalars.push_back({"tiles", tiles});
    scalars.push_back({"width", kernel.constant(width)});
    std::string types = source.key + ", " + plan.position(),
                constTypes = "const " + source.key + ", const " + plan.position();
    kernel.launch(source.name + "_merge", source.header, threads, axis.lines * tiles, buffers, scalars,
                  "  tcc::merge_runs<" + source.key + ", " + std::to_string(threads) + ", " +
                      std::to_string(kMergeItems) + ", " + plan.position() + ">(tcc::Sorted<" + constTypes +
                      ">{from_keys, from_positions, length}, tcc::Sorted<" + types +
                      ">{to_keys, to_positions, length}, tiles, width, " + source.keep + ");\n");
  }
  return sorted;
}

namespace {

struct TopK {
  LibraryKernel &kernel;
  Axis axis;
  bool largest;
  /// The extent of results, or null: in the second operand.
  AffineExpr k;

  void emit() {
    Value x = kernel.op->getOperand(0);
    Type element = elementTypeOf(x);
    std::string type = elementText(element);
    SortPlan plan = planSort(kernel.most(axis.length), keyBytes(element));
    SortSource source;
    source.name = "top_k";
    source.header = "top_k.cuh";
    source.key = keyText(element);
    source.maker = "tcc::TopKeys<" + type + ", " + (largest ? "true" : "false") + ">{x, {length, inner}}";
    source.buffers.push_back({kernel.input(0), "x"});
    source.scalars = {{"length", axis.length}, {"inner", axis.inner}};
    source.keep = "k";
    if (!k) {
      source.buffers.push_back({kernel.input(1), "k_input"});
      source.keep = "tcc::checked_k(*k_input, length, error)";
    } else {
      source.scalars.push_back({"k", k});
      if (ir::getValueRange(ir::simplifyExtent(axis.length - k), kernel.symbols).first < 0)
        source.keep = "tcc::checked_k(k, length, error)";
    }
    // (The layout of results is that of their type, also where there are not so many.)
    std::string results =
        "tcc::TopResults<" + type + ">{x, {length, inner}, values, indices, {" + (k ? "k" : "kept") + ", inner}}";
    SmallVector<Buffer> buffers(source.buffers);
    buffers.push_back({kernel.result(0), "values", true});
    buffers.push_back({kernel.result(1), "indices", true});
    SmallVector<Scalar> scalars(source.scalars);
    if (plan.passes == 0 && source.keep == "k") {
      kernel.launch("top_k", source.header, plan.threads, axis.lines, buffers, scalars,
                    "  tcc::sort_chunk<" + source.key + ", " + sizes(plan) + ">(" + source.maker + ", length, 1, " +
                        results + ");\n");
      return;
    }
    SortBuffers sorted = emitSort(kernel, plan, source, axis);
    buffers.push_back({sorted.positions[0], "even"});
    buffers.push_back({sorted.positions[1], "odd"});
    scalars.push_back({"lines", axis.lines});
    std::string body;
    // As many blocks as there are results; at least one, which says what k is.
    AffineExpr count = axis.lines * (k ? k : axis.length), blocks = count.floorDiv(256) + 1;
    if (!k) {
      int found = kernel.found();
      buffers.push_back({found, "found", true});
      for (unsigned i : {0, 1})
        kernel.setCapacity(i, axis.lines * axis.length);
      body =
          "  const long long kept = " + source.keep + ";\n  if (blockIdx.x == 0 && threadIdx.x == 0) *found = kept;\n";
    } else if (source.keep != "k") {
      body = "  " + source.keep + ";\n";
    }
    body += "  tcc::write_top(" + results + ", even, " + (plan.passes > 0 ? "odd" : "even") + ", " +
            std::to_string(plan.chunk()) + "ll, lines);\n";
    kernel.launch("top_k_results", source.header, 256, blocks, buffers, scalars, body);
  }
};

void applyTopK(LibraryKernel &kernel) {
  auto op = cast<ir::TopKOp>(kernel.op);
  int64_t axis = op.getAxis();
  TopK{kernel, axisOf(kernel, op.getX(), axis), op.getLargest(), ir::getExtents(op.getValues().getType())[axis]}.emit();
}

void applyDynamicTopK(LibraryKernel &kernel) {
  auto op = cast<ir::LibraryOp>(kernel.op);
  auto number = [&](StringRef name, int64_t otherwise) {
    auto attribute = op.getConfig().getAs<IntegerAttr>(name);
    return attribute ? attribute.getValue().getSExtValue() : otherwise;
  };
  auto flag = op.getConfig().getAs<BoolAttr>("largest");
  bool largest = flag ? flag.getValue() : number("largest", 1) != 0;
  TopK{kernel, axisOf(kernel, op.getInputs()[0], number("axis", -1)), largest, AffineExpr()}.emit();
}

bool isTopK(Operation *op) { return isa<ir::TopKOp>(op); }

// The symbol of k is bound by this op, and k is one number.
bool isDynamicTopK(Operation *op) {
  auto library = dyn_cast<ir::LibraryOp>(op);
  return library && library.getInputs().size() == 2 && library->getNumResults() == 2 && library.getAbsent().empty() &&
         elementTypeOf(library.getInputs()[1]).isSignlessInteger(64) &&
         ir::getConstant(ir::product(op->getContext(), ir::getExtents(library.getInputs()[1].getType()))) == 1;
}

} // namespace

const LibrarySchedule topKSchedule = {"top_k", isTopK, applyTopK};
const LibrarySchedule dynamicTopKSchedule = {"dynamic_top_k", isDynamicTopK, applyDynamicTopK};

} // namespace tcc::codegen::cuda
