//===- LoopKernel.cpp - kernels made of loops -----------------------------===//
#include "codegen/schedule/LoopKernel.h"

#include "codegen/schedule/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

bool isSupported(Type element) {
  if (element.isF32() || element.isF64() || element.isF16() || element.isBF16() || element.isIndex())
    return true;
  auto integer = llvm::dyn_cast<IntegerType>(element);
  return integer && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
}

// Whether its operands are made by loops of their own: one nest makes what is scattered into, where the result will be,
// another the updates and their positions.
bool isScheduled(ir::ScatterOp scatter) {
  auto into = scatter.getInto().getDefiningOp<ir::LoopsOp>(),
       points = scatter.getUpdates().getDefiningOp<ir::LoopsOp>();
  return into && points && into != points && into.getNumResults() == 1 && into->hasOneUse() &&
         points.getNumReductions() == 0 &&
         llvm::all_of(points->getUsers(), [&](Operation *user) { return user == scatter; }) &&
         llvm::all_of(scatter.getPositions(), [&](Value position) { return position.getDefiningOp() == points; });
}

// The buffers of what is scattered into: the result's, which is a temporary where the kernel does not give it back.
void placeScatters(ir::KernelOp kernel, KernelTensors &tensors, KernelCode &code, int32_t &next) {
  for (auto scatter : kernel.getBody().front().getOps<ir::ScatterOp>()) {
    auto [place, isNew] = tensors.buffer.try_emplace(scatter.getY(), next);
    int32_t position = place->second;
    if (isNew) {
      ++next;
      auto type = llvm::cast<RankedTensorType>(scatter.getType());
      int64_t bytes = storageType(type.getElementType()).getIntOrFloatBitWidth() / 8;
      code.temporaryBytes.push_back(ir::simplifyExtent(ir::product(kernel.getContext(), ir::getExtents(type)) * bytes));
    }
    tensors.buffer[scatter.getInto()] = position;
  }
}

// Whether the nest's result takes over an input that nothing else in the kernel reads.
bool ownsInputs(ir::LoopsOp loops) {
  return llvm::all_of(loops.getBody().front().getOps<ir::LoadOp>(), [&](ir::LoadOp load) {
    return llvm::all_of(load.getTensor().getUsers(),
                        [&](Operation *user) { return user->getParentOp() == loops.getOperation(); });
  });
}

// Whether the nest yields one tensor as it is.
bool isCopy(ir::LoopsOp loops) {
  Block &body = loops.getBody().front();
  return loops.getNumResults() == 1 && llvm::hasNItems(body, 2) && llvm::isa<ir::LoadOp>(body.front());
}

} // namespace

bool isLoopKernel(ir::KernelOp kernel, std::string *why) {
  auto no = [&](const llvm::Twine &reason) {
    if (why)
      *why = reason.str();
    return false;
  };
  auto elementsOf = [](Type type) { return getElementTypeOrSelf(type); };
  for (Value argument : kernel.getBody().front().getArguments())
    if (!isSupported(elementsOf(argument.getType())))
      return no("no loops over this element type");
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto scatter = llvm::dyn_cast<ir::ScatterOp>(op)) {
      if (!isScheduled(scatter))
        return no("a scatter reads what other loops read too");
      continue;
    }
    auto loops = llvm::dyn_cast<ir::LoopsOp>(op);
    if (!loops)
      return no("holds " + op.getName().getStringRef() + ", for which there is no loop");
    for (Type type : loops.getResultTypes())
      if (!isSupported(elementsOf(type)))
        return no("no loops over this element type");
    for (Operation &inner : loops.getBody().front().without_terminator()) {
      llvm::StringRef dialect = inner.getName().getDialectNamespace();
      if (dialect != "arith" && dialect != "math" && dialect != "tcc")
        return no("a loop body holds " + inner.getName().getStringRef());
      if (inner.getNumResults() != 1 || inner.getNumRegions() != 0)
        return no("a loop body holds " + inner.getName().getStringRef());
      if (dialect == "tcc" && !llvm::isa<ir::LoadOp, ir::InSetOp, ir::ApplyOp, ir::BoundsCheckOp>(inner))
        return no("a loop body holds " + inner.getName().getStringRef());
      for (Type type : inner.getResultTypes())
        if (!isSupported(type))
          return no("a loop body computes an element type without loops");
    }
  }
  for (Value value : kernel.getBody().front().getTerminator()->getOperands())
    if (!llvm::isa_and_nonnull<ir::LoopsOp, ir::ScatterOp>(value.getDefiningOp()))
      return no("gives back an input as it is");
  return true;
}

FailureOr<KernelCode> scheduleGroups(ir::KernelOp kernel, llvm::ArrayRef<LoopGroup> groups, EmitGroup emit) {
  KernelCode code;
  KernelTensors tensors;
  Block &body = kernel.getBody().front();
  unsigned numInputs = kernel.getInputs().size();
  for (BlockArgument argument : body.getArguments())
    tensors.buffer[argument] = argument.getArgNumber();
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    if (tensors.buffer.try_emplace(value, numInputs + i).second)
      continue;
    tensors.copies[value].push_back(numInputs + i);
  }

  // What one function leaves for another and is no result goes through a temporary.
  int32_t next = numInputs + kernel.getNumResults();
  for (const LoopGroup &group : groups)
    for (ir::LoopsOp op : group.loops)
      for (Value result : op.getResults()) {
        bool crosses = llvm::any_of(result.getUsers(), [&](Operation *user) {
          auto consumer = user->getParentOfType<ir::LoopsOp>();
          return consumer && !llvm::is_contained(group.loops, consumer);
        });
        if (!crosses || tensors.buffer.count(result))
          continue;
        tensors.buffer[result] = next++;
        auto type = llvm::cast<RankedTensorType>(result.getType());
        int64_t bytes = storageType(type.getElementType()).getIntOrFloatBitWidth() / 8;
        code.temporaryBytes.push_back(
            ir::simplifyExtent(ir::product(kernel.getContext(), ir::getExtents(type)) * bytes));
      }
  placeScatters(kernel, tensors, code, next);
  tensors.nextTemporary = next;

  std::string name;
  for (Attribute source : kernel.getSources())
    name += (name.empty() ? "" : "_") + llvm::cast<StringAttr>(source).getValue().str();
  bool single = groups.size() == 1 && groups[0].loops.size() == 1;
  for (const LoopGroup &group : groups) {
    GroupNests nests(group, tensors);
    // A result may take the place of an input only where nothing else could still want it.
    bool isInto = group.loops.size() == 1 && !group.scatter && scatterOf(group.loops[0]);
    size_t before = code.inPlace.size();
    if (groups.size() == 1 || (isInto && ownsInputs(group.loops[0])))
      nests.findInPlace(numInputs, code.inPlace);
    if (isInto && isCopy(group.loops[0]) && code.inPlace.size() > before)
      code.copies.push_back({static_cast<int32_t>(code.launches.size()), code.inPlace.back().first});
    if (failed(emit(nests, name, code)))
      return failure();
  }
  if (!kernel.getBody().front().getOps<ir::ScatterOp>().empty())
    code.schedule = "scatter";
  else if (single)
    code.schedule = ir::LoopsOp(groups[0].loops[0]).getNumReductions() ? "reduction" : "pointwise";
  else
    code.schedule = groups.size() == 1 ? "rows" : "loops";
  return code;
}

} // namespace tcc::codegen
