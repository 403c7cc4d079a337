//===- Template.cpp -------------------------------------------------------===//
#include "codegen/schedule/template/Template.h"

#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::gemm {
namespace {

bool isTemplate(Operation &op) { return isa<ir::MatmulOp, ir::ConvOp, ir::ConvTransposeOp, ir::AttentionOp>(op); }

Exprs identity(unsigned rank, MLIRContext *context) {
  Exprs dims;
  for (unsigned i = 0; i < rank; ++i)
    dims.push_back(getAffineDimExpr(i, context));
  return dims;
}

// A loop nest that does nothing but read one element elsewhere: that load.
ir::LoadOp plainRead(ir::LoopsOp loops, unsigned result) {
  if (loops.getNumReductions() != 0)
    return {};
  Block &body = *loops.getBody().begin();
  auto load = body.getTerminator()->getOperand(result).getDefiningOp<ir::LoadOp>();
  if (!load || load.getMask())
    return {};
  return llvm::all_of(load.getIndices(),
                      [&](Value index) {
                        auto argument = dyn_cast<BlockArgument>(index);
                        return argument && argument.getOwner() == &body;
                      })
             ? load
             : ir::LoadOp();
}

// The load's index in terms of the loops' dims.
Exprs composeIndex(ir::LoadOp load, ArrayRef<AffineExpr> coordinate) {
  SmallVector<AffineExpr> dims;
  for (Value index : load.getIndices())
    dims.push_back(coordinate[cast<BlockArgument>(index).getArgNumber()]);
  Exprs exprs;
  for (AffineExpr result : load.getMap().getResults())
    exprs.push_back(simplify(substitute(result, dims)));
  return exprs;
}

Operand describe(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  MLIRContext *context = type.getContext();
  Operand operand{tensor, type.getElementType(), ir::getExtents(type), AffineExpr(), -1};
  Exprs coordinate = identity(type.getRank(), context);
  Value at = tensor;
  while (auto loops = at.getDefiningOp<ir::LoopsOp>()) {
    ir::LoadOp load = plainRead(loops, cast<OpResult>(at).getResultNumber());
    if (!load)
      return operand;
    coordinate = composeIndex(load, coordinate);
    at = load.getTensor();
  }
  if (auto argument = dyn_cast<BlockArgument>(at)) {
    operand.argument = argument.getArgNumber();
    operand.offset = rowMajorOffset(coordinate, ir::getExtents(at.getType()), context);
  }
  return operand;
}

// Every op of the body is known, and its loads read kernel arguments, the template's result or loops of the same kind.
bool evaluable(Value tensor, Value templateResult) {
  if (isa<BlockArgument>(tensor) || tensor == templateResult)
    return true;
  auto loops = tensor.getDefiningOp<ir::LoopsOp>();
  if (!loops || !canEmitBody(loops))
    return false;
  for (auto load : loops.getBody().getOps<ir::LoadOp>())
    if (!evaluable(load.getTensor(), templateResult))
      return false;
  return true;
}

// The maps from the loops' nest to the template's result along every chain of loads.
bool collectMaps(ir::LoopsOp loops, ArrayRef<AffineExpr> coordinate, Value templateResult, SmallVector<Exprs> &maps) {
  for (auto load : loops.getBody().getOps<ir::LoadOp>()) {
    Value tensor = load.getTensor();
    auto producer = tensor.getDefiningOp<ir::LoopsOp>();
    if (tensor != templateResult && !producer)
      continue;
    bool direct = llvm::all_of(load.getIndices(), [&](Value index) {
      auto argument = dyn_cast<BlockArgument>(index);
      return argument && argument.getOwner() == &*loops.getBody().begin();
    });
    if (tensor == templateResult) {
      if (!direct || load.getMask())
        return false;
      maps.push_back(composeIndex(load, coordinate));
      continue;
    }
    // A producer that does not lead to the template may be read anywhere.
    SmallVector<Exprs> inner;
    Exprs dims = identity(producer.getExtents().getExprs().size(), loops.getContext());
    if (!collectMaps(producer, dims, templateResult, inner))
      return false;
    if (inner.empty())
      continue;
    if (!direct || load.getMask() || !collectMaps(producer, composeIndex(load, coordinate), templateResult, maps))
      return false;
  }
  return true;
}

} // namespace

Type accumulationType(Type element) {
  if (isa<FloatType>(element))
    return element.getIntOrFloatBitWidth() < 32 ? Type(Float32Type::get(element.getContext())) : element;
  return IntegerType::get(element.getContext(), std::max(32u, element.getIntOrFloatBitWidth()));
}

int TemplateKernel::numInputs() const { return kernel.getBody().getNumArguments(); }
Type TemplateKernel::resultElement() const { return cast<RankedTensorType>(result().getType()).getElementType(); }
unsigned TemplateKernel::numSymbols() const { return ir::getSymbols(kernel).size(); }

std::optional<TemplateKernel> TemplateKernel::analyze(ir::KernelOp kernel) {
  TemplateKernel found;
  found.kernel = kernel;
  Block &body = *kernel.getBody().begin();
  for (Operation &op : body.without_terminator()) {
    if (isTemplate(op)) {
      if (found.op)
        return std::nullopt;
      found.op = &op;
    } else if (!isa<ir::LoopsOp>(op)) {
      return std::nullopt;
    }
  }
  if (!found.op)
    return std::nullopt;
  Value result = found.result();
  for (Value operand : found.op->getOperands()) {
    if (!evaluable(operand, Value()))
      return std::nullopt;
    found.operands.push_back(describe(operand));
  }
  found.resultExtents = ir::getExtents(result.getType());
  MLIRContext *context = kernel.getContext();
  for (Value yielded : body.getTerminator()->getOperands()) {
    if (yielded == result) {
      found.outputs.push_back({yielded, identity(found.resultExtents.size(), context)});
      continue;
    }
    auto loops = yielded.getDefiningOp<ir::LoopsOp>();
    if (!loops || !evaluable(yielded, result))
      return std::nullopt;
    auto extents = loops.getExtents().getExprs();
    SmallVector<Exprs> maps;
    if (!collectMaps(loops, identity(extents.size(), context), result, maps) || maps.empty() || !llvm::all_equal(maps))
      return std::nullopt;
    auto map = AffineMap::get(extents.size(), 64, maps.front(), context);
    auto coordinate = invert(map, extents, found.resultExtents);
    if (!coordinate)
      return std::nullopt;
    found.outputs.push_back({yielded, *coordinate});
    found.epilogueCost += bodyCost(loops);
  }
  if (found.outputs.empty())
    return std::nullopt;
  return found;
}

Value TemplateKernel::evaluate(Emit &e, const Frame &frame, Point point, Value tensor,
                               ArrayRef<AffineExpr> coordinate) const {
  bool vector = point.laneDim >= 0;
  auto buffers = [&](Value argument) { return frame.buffers[cast<BlockArgument>(argument).getArgNumber()]; };
  BodyEmitter body(e, std::move(point), buffers);
  return vector ? body.vectorElement(tensor, coordinate) : body.element(tensor, coordinate);
}

void TemplateKernel::finish(Emit &e, const Frame &frame, Point point, Value value,
                            ArrayRef<AffineExpr> coordinate) const {
  finishAll(e, frame, point, value, coordinate);
}

void TemplateKernel::finishAll(Emit &e, const Frame &frame, ArrayRef<Point> points, ArrayRef<Value> values,
                               ArrayRef<AffineExpr> coordinate) const {
  auto buffers = [&](Value argument) { return frame.buffers[cast<BlockArgument>(argument).getArgNumber()]; };
  // All values before any store: a result may lie over an input of the epilogue.
  std::vector<BodyEmitter> bodies;
  llvm::SmallVector<std::pair<Value, Exprs>> stores;
  bodies.reserve(points.size());
  for (auto [point, value] : llvm::zip_equal(points, values)) {
    BodyEmitter &body = bodies.emplace_back(e, point, buffers);
    body.bind(result(), value);
    llvm::DenseMap<Operation *, Values> evaluated;
    for (const Output &output : outputs) {
      Exprs at;
      for (AffineExpr expr : output.coordinate)
        at.push_back(simplify(substitute(expr, coordinate)));
      if (output.tensor == result()) {
        stores.push_back({body.element(output.tensor, at), at});
        continue;
      }
      auto loops = output.tensor.getDefiningOp<ir::LoopsOp>();
      auto [entry, fresh] = evaluated.try_emplace(loops);
      if (fresh)
        entry->second = body.evaluate(loops, at);
      stores.push_back({entry->second[cast<OpResult>(output.tensor).getResultNumber()], at});
    }
  }
  for (auto [i, store] : llvm::enumerate(stores)) {
    size_t output = i % outputs.size();
    bodies[i / outputs.size()].store(store.first, frame.buffers[numInputs() + output],
                                     cast<RankedTensorType>(outputs[output].tensor.getType()), store.second);
  }
}

bool TemplateKernel::cheapEpilogue(ArrayRef<AffineExpr> coordinate, unsigned laneDim, int64_t lanes) const {
  return epilogueCost <= 8 && llvm::all_of(outputs, [&](const Output &output) {
           Exprs at;
           for (AffineExpr expr : output.coordinate)
             at.push_back(simplify(substitute(expr, coordinate)));
           AffineExpr offset = rowMajorOffset(at, ir::getExtents(output.tensor.getType()), op->getContext());
           return laneStride(offset, laneDim, lanes) == 1;
         });
}

SmallVector<std::pair<int32_t, int32_t>> TemplateKernel::inPlace() const {
  SmallVector<std::pair<int32_t, int32_t>> pairs;
  for (auto [r, output] : llvm::enumerate(outputs)) {
    auto loops = output.tensor.getDefiningOp<ir::LoopsOp>();
    if (!loops)
      continue;
    for (BlockArgument argument : kernel.getBody().getArguments()) {
      auto type = cast<RankedTensorType>(argument.getType());
      if (type != output.tensor.getType() || !argument.hasOneUse())
        continue;
      auto load = dyn_cast<ir::LoadOp>(*argument.user_begin());
      if (!load || load->getParentOp() != loops.getOperation() || load.getMask() || !load.getMap().isIdentity())
        continue;
      bool same = llvm::all_of(llvm::enumerate(load.getIndices()), [&](auto index) {
        auto position = dyn_cast<BlockArgument>(index.value());
        return position && position.getOwner() == &*loops.getBody().begin() && position.getArgNumber() == index.index();
      });
      if (same && llvm::none_of(pairs, [&](auto pair) { return pair.second == int32_t(argument.getArgNumber()); })) {
        pairs.push_back({int32_t(r), int32_t(argument.getArgNumber())});
        break;
      }
    }
  }
  return pairs;
}

} // namespace tcc::codegen::gemm
