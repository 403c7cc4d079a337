//===- LibraryKernel.cpp --------------------------------------------------===//
#include "codegen/cuda/library/LibraryKernel.h"

#include "ir/ElementTypes.h"
#include "ir/OpAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tcc::codegen::cuda {

std::string storageText(Type element) {
  std::string text = elementText(element);
  int bits = DTypeBits(ir::getDType(element));
  if (!text.empty() || bits == 0)
    return text;
  return bits <= 8 ? "unsigned char" : bits == 64 ? "unsigned long long" : "";
}

Type elementTypeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

LibraryKernel::LibraryKernel(Operation *op, CudaBackend &backend)
    : op(op), context(op->getContext()), symbols(ir::getSymbols(op)), backend(backend) {
  for (Value operand : op->getOperands())
    types.push_back(storageText(elementTypeOf(operand)));
  for (Value result : op->getResults())
    types.push_back(storageText(elementTypeOf(result)));
}

LibraryKernel::LibraryKernel(Operation *op, CudaBackend &backend, int firstTemporary)
    : op(op), context(op->getContext()), symbols(ir::getSymbols(op)), backend(backend), types(firstTemporary) {}

int LibraryKernel::temporary(AffineExpr elements, StringRef type, int64_t bytes) {
  assert(code.constants.empty() && "constants are numbered behind temporaries");
  code.temporaryBytes.push_back(ir::simplifyExtent(elements * bytes));
  types.push_back(type.str());
  return static_cast<int>(types.size()) - 1;
}

int LibraryKernel::constantBuffer(tcc::Tensor tensor, StringRef type) {
  code.constants.push_back({std::move(tensor)});
  types.push_back(type.str());
  return static_cast<int>(types.size()) - 1;
}

void LibraryKernel::setCapacity(unsigned result, AffineExpr elements) {
  code.capacities.resize(op->getNumResults());
  code.capacities[result] = ir::simplifyExtent(elements);
}

int LibraryKernel::found() {
  code.found = static_cast<int32_t>(code.temporaryBytes.size());
  return temporary(constant(1), "long long", 8);
}

int LibraryKernel::foundExtents() {
  int64_t axes = 0;
  for (Value result : op->getResults())
    axes += cast<RankedTensorType>(result.getType()).getRank();
  code.found = static_cast<int32_t>(code.temporaryBytes.size());
  return temporary(constant(std::max<int64_t>(axes, 1)), "long long", 8);
}

AffineExpr LibraryKernel::product(ArrayRef<AffineExpr> extents) const {
  return ir::simplifyExtent(ir::product(context, extents));
}

/// Whether a text has the name as a word.
static bool names(StringRef text, StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !isPart(text[at - 1])) && (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}

void LibraryKernel::launch(StringRef name, StringRef header, int threads, AffineExpr blocks, ArrayRef<Buffer> buffers,
                           ArrayRef<Scalar> scalars, StringRef body) {
  LaunchSpec spec;
  DeviceLaunch device;
  device.grid[0] = ir::simplifyExtent(blocks);
  device.block = {threads, 1, 1};
  device.reportsErrors = names(body, "error");
  std::string parameters, values;
  auto add = [&](const std::string &parameter) { parameters += (parameters.empty() ? "" : ", ") + parameter; };
  for (const Buffer &buffer : buffers) {
    if (!names(body, buffer.name))
      continue;
    spec.buffers.push_back(buffer.position);
    add((buffer.written ? "" : "const ") + types[buffer.position] + "* " + (buffer.written ? "" : "__restrict__ ") +
        buffer.name);
  }
  SmallVector<AffineExpr> exprs;
  for (const Scalar &scalar : scalars)
    if (names(body, scalar.name))
      exprs.push_back(scalar.value);
  for (unsigned symbol : symbolsIn(exprs)) {
    spec.symbols.push_back(symbol);
    add("long long s" + std::to_string(symbol));
  }
  if (device.reportsErrors)
    add("long long* error");
  IndexSimplifier ranges(context, {}, symbols);
  for (const Scalar &scalar : scalars)
    if (names(body, scalar.name))
      values +=
          "  const long long " + scalar.name + " = " + cppExpr(ir::simplifyExtent(scalar.value), {}, ranges) + ";\n";
  KernelSource source;
  source.symbol = name.str();
  source.sources.push_back(ir::getKernelName(op).str());
  source.text = "// library: " + name.str() + "\n#include \"tcc/" + header.str() +
                "\"\n\nextern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ")\n" +
                kKernelNamePlaceholder.str() + "(" + parameters + ") {\n" + values + body.str() + "}\n";
  spec.function = backend.addText(std::move(source));
  spec.device = device;
  code.launches.push_back(std::move(spec));
}

KernelCode LibraryKernel::take() {
  code.schedule = "device library";
  return std::move(code);
}

Axis axisOf(const LibraryKernel &kernel, Value tensor, int64_t axis) {
  ir::Exprs extents = ir::getExtents(tensor.getType());
  if (axis < 0)
    axis += static_cast<int64_t>(extents.size());
  ArrayRef<AffineExpr> all = extents;
  AffineExpr inner = kernel.product(all.drop_front(axis + 1));
  return {all[axis], inner, ir::simplifyExtent(kernel.product(all.take_front(axis)) * inner)};
}

static const LibrarySchedule *find(Operation *op) {
  static const LibrarySchedule *const all[] = {
      &topKSchedule,          &dynamicTopKSchedule, &scanSchedule,
      &nonzeroSchedule,       &compressSchedule,    &nonMaxSuppressionSchedule,
      &plainNmsSchedule,      &roiAlignSchedule,    &castSchedule,
      &dynamicSliceSchedule,  &dynamicPadSchedule,  &dynamicExpandSchedule,
      &dynamicTileSchedule,   &rangeSchedule,       &oneHotSchedule,
      &dynamicResizeSchedule, &uniqueSchedule,      &maxPoolIndicesSchedule,
      &dftSchedule,           &stftSchedule,        &deformConvSchedule,
      &detSchedule,           &integerPowSchedule,  &tfidfSchedule,
      &maxPoolSchedule,       &resizeSchedule,
  };
  if (!isa_and_nonnull<ir::TCCDialect>(op->getDialect()))
    return nullptr;
  StringRef name = ir::getKernelName(op);
  for (const LibrarySchedule *schedule : all)
    if (schedule->op == name)
      return schedule;
  return nullptr;
}

bool hasLibraryKernel(Operation *op) {
  const LibrarySchedule *schedule = find(op);
  if (!schedule)
    return false;
  auto known = [&](Value value) {
    if (!isa<RankedTensorType>(value.getType()))
      return false;
    Type element = elementTypeOf(value);
    return !(schedule->narrow ? storageText(element) : elementText(element)).empty();
  };
  return llvm::all_of(op->getOperands(), known) && llvm::all_of(op->getResults(), known) && schedule->accepts(op);
}

FailureOr<KernelCode> scheduleLibrary(Operation *op, CudaBackend &backend) {
  if (!hasLibraryKernel(op))
    return op->emitError("has no kernel in the device library");
  LibraryKernel kernel(op, backend);
  find(op)->apply(kernel);
  return kernel.take();
}

} // namespace tcc::codegen::cuda
