//===- NonMaxSuppression.cpp - of boxes, on the device --------------------===//
//
// Scores of a class are sorted; a block keeps the best box and drops what overlaps it, again and again; counts become
// offsets, and the rows of what is kept find their places.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/library/LibraryKernel.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 256;

struct Suppression {
  LibraryKernel &kernel;
  AffineExpr lines, length, classes;
  std::string form, all; ///< template arguments
  SmallVector<LibraryKernel::Buffer> inputs;
  std::string scoreThreshold = "nullptr", limit = "0", threshold = "0.0f"; ///< expressions

  /// Buffers of what is kept and how many of each line.
  std::pair<int, int> emit() {
    SortPlan plan = planSort(kernel.most(length), 4);
    SortSource source;
    source.name = "nms";
    source.header = "nms.cuh";
    source.key = "unsigned";
    source.maker = "tcc::ScoreKeys<" + all + ">{scores, length, " + scoreThreshold + "}";
    source.keep = "length";
    source.buffers = inputs;
    source.scalars = {{"length", length}};
    SortBuffers sorted = emitSort(kernel, plan, source, {length, kernel.constant(1), lines});
    AffineExpr items = lines * length;
    int gone = kernel.temporary(items, "unsigned char", 1),
        kept = kernel.temporary(items, plan.position(), plan.wide ? 8 : 4);
    int counts = kernel.temporary(lines, "long long", 8);
    SmallVector<LibraryKernel::Buffer> buffers(inputs);
    buffers.append({{sorted.keys[0], "keys0"},
                    {sorted.keys[1], "keys1"},
                    {sorted.positions[0], "positions0"},
                    {sorted.positions[1], "positions1"},
                    {gone, "gone", true},
                    {kept, "kept", true},
                    {counts, "counts", true}});
    bool isOne = plan.passes == 0;
    std::string body;
    if (!isOne)
      body = "  const bool even = tcc::merge_passes(length, " + std::to_string(plan.chunk()) + "ll) % 2 == 0;\n";
    body += "  const tcc::Candidates<" + form + ", " + plan.position() + "> candidates = {boxes, length, classes, " +
            (isOne ? "keys0, positions0" : "even ? keys0 : keys1, even ? positions0 : positions1") + "};\n";
    body += "  tcc::suppress<" + all + ", " + std::to_string(kThreads) + ">(candidates, " + limit + ", " + threshold +
            ", gone, kept, counts);\n";
    kernel.launch("nms_suppress", "nms.cuh", kThreads, lines, buffers, {{"length", length}, {"classes", classes}},
                  body);
    return {kept, counts};
  }

  int emitOffsets(int counts) {
    int found = kernel.found();
    kernel.launch("nms_offsets", "nms.cuh", kThreads, kernel.constant(1),
                  {{counts, "counts", true}, {found, "found", true}}, {{"lines", lines}},
                  "  tcc::offsets_of<" + std::to_string(kThreads) + ">(counts, lines, found);\n");
    return found;
  }
};

/// The operand of an optional input of the kernel, or -1.
int operandOf(ir::LibraryOp op, int64_t input) {
  int64_t before = 0;
  for (int64_t absent : op.getAbsent()) {
    if (absent == input)
      return -1;
    before += absent < input;
  }
  int64_t operand = input - before;
  return operand < static_cast<int64_t>(op.getInputs().size()) ? static_cast<int>(operand) : -1;
}

void applyNonMaxSuppression(LibraryKernel &kernel) {
  auto op = cast<ir::LibraryOp>(kernel.op);
  ir::Exprs scores = ir::getExtents(op.getInputs()[1].getType());
  auto center = op.getConfig().getAs<IntegerAttr>("center_point_box");
  AffineExpr lines = ir::simplifyExtent(scores[0] * scores[1]);
  Suppression nms{kernel,
                  lines,
                  scores[2],
                  scores[1],
                  center && !center.getValue().isZero() ? "tcc::BoxForm::kCenter" : "tcc::BoxForm::kCorners",
                  "false",
                  {}};
  nms.inputs = {{kernel.input(0), "boxes"}, {kernel.input(1), "scores"}};
  auto optional = [&](int64_t input, const char *name, const char *otherwise, bool pointer) -> std::string {
    int operand = operandOf(op, input);
    if (operand < 0)
      return otherwise;
    nms.inputs.push_back({kernel.input(operand), name});
    return pointer ? name : "*" + std::string(name);
  };
  nms.limit = optional(2, "limit", "0", false);
  nms.threshold = optional(3, "iou_threshold", "0.0f", false);
  nms.scoreThreshold = optional(4, "score_threshold", "nullptr", true);
  auto [kept, counts] = nms.emit();
  int found = nms.emitOffsets(counts);
  kernel.setCapacity(0, lines * scores[2] * 3);
  kernel.launch("nms_rows", "nms.cuh", kThreads, lines,
                {{kept, "kept"}, {counts, "offsets"}, {found, "total"}, {kernel.result(0), "y", true}},
                {{"lines", lines}, {"length", scores[2]}, {"classes", scores[1]}},
                "  tcc::write_kept(kept, offsets, total, lines, length, classes, y);\n");
}

bool isFloat(Value value) { return elementTypeOf(value).isF32(); }
bool isOne(Value value) {
  return ir::getConstant(ir::product(value.getContext(), ir::getExtents(value.getType()))) == 1;
}

bool isNonMaxSuppression(Operation *op) {
  auto library = dyn_cast<ir::LibraryOp>(op);
  if (!library || library.getInputs().size() < 2 || !isFloat(library.getInputs()[0]) ||
      !isFloat(library.getInputs()[1]))
    return false;
  ir::Exprs boxes = ir::getExtents(library.getInputs()[0].getType()),
            scores = ir::getExtents(library.getInputs()[1].getType());
  // The reference says what is wrong with others.
  if (boxes.size() != 3 || scores.size() != 3 || boxes[0] != scores[0] || boxes[1] != scores[2] ||
      ir::getConstant(boxes[2]) != 4)
    return false;
  for (int64_t input : {2, 3, 4}) {
    int operand = operandOf(library, input);
    if (operand < 0)
      continue;
    Value value = library.getInputs()[operand];
    if (!isOne(value) || (input == 2 ? !elementTypeOf(value).isSignlessInteger(64) : !isFloat(value)))
      return false;
  }
  return true;
}

void applyPlainNms(LibraryKernel &kernel) {
  auto op = cast<ir::LibraryOp>(kernel.op);
  AffineExpr length = ir::getExtent(op.getInputs()[0].getType(), 0), one = kernel.constant(1);
  Suppression nms{kernel, one, length, one, "tcc::BoxForm::kSorted", "true", {}};
  nms.inputs = {{kernel.input(0), "boxes"}, {kernel.input(1), "scores"}};
  float threshold = static_cast<float>(op.getConfig().getAs<FloatAttr>("iou_threshold").getValueAsDouble());
  nms.limit = "length";
  nms.threshold = "tcc::bit_cast<float>(" + std::to_string(llvm::bit_cast<uint32_t>(threshold)) + "u)";
  auto [kept, counts] = nms.emit();
  int found = nms.emitOffsets(counts);
  kernel.setCapacity(0, length);
  kernel.launch("nms_boxes", "nms.cuh", kThreads, length.floorDiv(kThreads) + 1,
                {{kept, "kept"}, {found, "total"}, {kernel.result(0), "y", true}}, {},
                "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n  if (i < *total) y[i] = kept[i];\n");
}

bool isPlainNms(Operation *op) {
  auto library = dyn_cast<ir::LibraryOp>(op);
  if (!library || library.getInputs().size() != 2 || !isFloat(library.getInputs()[0]) ||
      !isFloat(library.getInputs()[1]) || !library.getConfig().getAs<FloatAttr>("iou_threshold"))
    return false;
  ir::Exprs boxes = ir::getExtents(library.getInputs()[0].getType()),
            scores = ir::getExtents(library.getInputs()[1].getType());
  return boxes.size() == 2 && scores.size() == 1 && boxes[0] == scores[0] && ir::getConstant(boxes[1]) == 4;
}

} // namespace

const LibrarySchedule nonMaxSuppressionSchedule = {"non_max_suppression", isNonMaxSuppression, applyNonMaxSuppression};
const LibrarySchedule plainNmsSchedule = {"nms", isPlainNms, applyPlainNms};

} // namespace tcc::codegen::cuda
