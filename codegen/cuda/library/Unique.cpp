//===- Unique.cpp - distinct elements or slices, on the device ------------===//
//
// Elements are sorted by merging; slices of more than one element by counting, for each, those in front of it. Places
// that differ from the one in front are the kinds; how many goes to the host.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/library/ShapeText.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

using Buffer = LibraryKernel::Buffer;

constexpr int kThreads = 256, kItems = 4;
constexpr StringLiteral kHeader = "unique.cuh";

struct Unique {
  LibraryKernel &kernel;
  Value x = kernel.op->getOperand(0);
  std::string type = elementText(elementTypeOf(x));
  tcc::Attributes attributes = attributesOf(kernel.op);
  bool byAxis = attributes.Has("axis");
  ir::Exprs extents = ir::getExtents(x.getType());
  Axis axis = byAxis ? axisOf(kernel, x, attributes.IntOr("axis", 0))
                     : Axis{kernel.product(extents), kernel.constant(1), kernel.constant(1)};
  /// Elements of a slice in front of the axis, and all of them.
  AffineExpr outer = byAxis ? kernel.product(ArrayRef(extents).take_front(axisNumber())) : kernel.constant(1);
  AffineExpr chunks = axis.length.ceilDiv(kThreads * kItems);
  std::string block = std::to_string(kThreads) + ", " + std::to_string(kItems);
  SmallVector<LibraryKernel::Scalar> scalars = {{"length", axis.length}, {"inner", axis.inner}, {"outer", outer}};
  std::string slices = "tcc::Slice<" + type + ">{x, length, inner, outer}";

  int64_t axisNumber() const {
    int64_t number = attributes.IntOr("axis", 0);
    return number < 0 ? number + static_cast<int64_t>(extents.size()) : number;
  }

  int sortElements() {
    SortSource source;
    Type element = elementTypeOf(x);
    int64_t bytes = element.getIntOrFloatBitWidth() == 64 ? 8 : 4;
    source.name = "unique";
    source.header = kHeader.str();
    source.key = bytes == 8 ? "unsigned long long" : "unsigned";
    source.maker = "tcc::ElementKeys<" + type + ">{x}";
    source.keep = "length";
    source.buffers.push_back({kernel.input(0), "x"});
    source.scalars.push_back({"length", axis.length});
    SortPlan plan = planSort(kernel.most(axis.length), bytes);
    SortBuffers sorted = emitSort(kernel, plan, source, {axis.length, kernel.constant(1), kernel.constant(1)});
    int order = kernel.temporary(axis.length, "long long", 8);
    kernel.launch("unique_order", kHeader, kThreads, axis.length.ceilDiv(kThreads),
                  {{sorted.positions[0], "even"}, {sorted.positions[1], "odd"}, {order, "order", true}}, source.scalars,
                  std::string("  tcc::copy_order(even, ") + (plan.passes > 0 ? "odd" : "even") + ", length, " +
                      std::to_string(plan.chunk()) + "ll, order);\n");
    return order;
  }
  int sortSlices() {
    int order = kernel.temporary(axis.length, "long long", 8);
    kernel.launch("unique_order", kHeader, kThreads, axis.length, {{kernel.input(0), "x"}, {order, "order", true}},
                  scalars, "  tcc::order_slices<" + std::to_string(kThreads) + ">(" + slices + ", order);\n");
    return order;
  }
  /// Numbers the places where `condition` holds; `use`: statements over n and i.
  void select(StringRef name, const std::string &condition, ArrayRef<Buffer> read, int total, ArrayRef<Buffer> written,
              const std::string &use) {
    int offsets = kernel.temporary(chunks, "long long", 8);
    SmallVector<Buffer> buffers(read);
    buffers.push_back({offsets, "offsets", true});
    kernel.launch((name + "_count").str(), kHeader, kThreads, chunks, buffers, scalars,
                  "  tcc::count_selected<" + block + ">(" + condition + ", length, offsets);\n");
    kernel.launch((name + "_offsets").str(), kHeader, kThreads, kernel.constant(1),
                  {{offsets, "offsets", true}, {total, "found", true}}, {{"chunks", chunks}},
                  "  tcc::offsets_of<" + std::to_string(kThreads) + ">(offsets, chunks, found);\n");
    buffers.back() = {offsets, "offsets"};
    buffers.append(written.begin(), written.end());
    kernel.launch((name + "_places").str(), kHeader, kThreads, chunks, buffers, scalars,
                  "  tcc::for_selected<" + block + ">(" + condition +
                      ", length, offsets, [&](long long n, long long i) {\n" + use + "  });\n");
  }

  void emit() {
    bool single = ir::getConstant(ir::simplifyExtent(axis.inner * outer)) == 1;
    int order = single ? sortElements() : sortSlices();
    int found = kernel.found(), starts = kernel.temporary(axis.length, "long long", 8), places = -1, first = -1;
    bool sorted = attributes.IntOr("sorted", 1) != 0;
    SmallVector<Buffer> marks = {{starts, "starts", true}};
    std::string use = "    starts[n] = i;\n";
    if (!sorted) {
      first = kernel.temporary(axis.length, "unsigned char", 1);
      places = kernel.temporary(axis.length, "long long", 8);
      kernel.launch("unique_clear", kHeader, kThreads, axis.length.ceilDiv(kThreads), {{first, "first", true}}, scalars,
                    "  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
                    "  if (i < length) first[i] = 0;\n");
      marks.push_back({first, "first", true});
      use += "    first[order[i]] = 1;\n";
    }
    select("unique_kinds", "tcc::IsHead<" + type + ">{" + slices + ", order}",
           {{kernel.input(0), "x"}, {order, "order"}}, found, marks, use);
    if (!sorted)
      select("unique_firsts", "tcc::IsFirst{first}", {{first, "first"}},
             kernel.temporary(kernel.constant(1), "long long", 8), {{places, "places", true}}, "    places[i] = n;\n");
    AffineExpr all = kernel.product(extents);
    kernel.setCapacity(0, all);
    kernel.setCapacity(1, axis.length);
    kernel.setCapacity(3, axis.length);
    SmallVector<Buffer> buffers = {{kernel.input(0), "x"},
                                   {order, "order"},
                                   {starts, "starts"},
                                   {found, "found"},
                                   {kernel.result(0), "y", true},
                                   {kernel.result(1), "indices", true},
                                   {kernel.result(2), "inverse", true},
                                   {kernel.result(3), "counts", true}};
    if (!sorted)
      buffers.push_back({places, "places"});
    kernel.launch("unique", kHeader, kThreads, axis.length.ceilDiv(kThreads), buffers, scalars,
                  "  tcc::write_unique<" + type + ">(" + slices + ", order, starts, " +
                      (sorted ? "nullptr" : "places") + ", *found, y, indices, inverse, counts);\n");
  }
};

void applyUnique(LibraryKernel &kernel) { Unique{kernel}.emit(); }

bool isUnique(Operation *op) {
  if (!isa<ir::LibraryOp>(op) || op->getNumOperands() != 1 || op->getNumResults() != 4)
    return false;
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  tcc::Attributes attributes = attributesOf(op);
  int64_t axis = attributes.IntOr("axis", 0);
  // The number of kinds is bound by this op.
  auto kinds = ir::getExtents(op->getResult(1).getType());
  return (!attributes.Has("axis") || (axis >= -rank && axis < rank)) && kinds.size() == 1 &&
         isa<AffineSymbolExpr>(kinds[0]);
}

} // namespace

const LibrarySchedule uniqueSchedule = {"unique", isUnique, applyUnique};

} // namespace tcc::codegen::cuda
