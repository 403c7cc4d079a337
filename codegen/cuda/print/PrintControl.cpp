//===- PrintControl.cpp - loops and branches --------------------------------===//
#include "codegen/cuda/print/Printer.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {

// A variable for each value that is carried from iteration to iteration.
llvm::SmallVector<std::string> Printer::declareCarried(ValueRange inits, ValueRange variables, llvm::StringRef base) {
  llvm::SmallVector<std::string> result;
  for (auto [init, variable] : llvm::zip(inits, variables)) {
    std::string name = names.role(base);
    Type type = variable.getType();
    if (isa<VectorType>(type)) {
      line(typeOf(type) + " " + name + ";");
      assign(name, init);
    } else {
      line(typeOf(type) + " " + name + " = " + get(init).text + ";");
    }
    result.push_back(name);
  }
  for (auto [name, variable] : llvm::zip(result, variables))
    defineName(variable, name);
  return result;
}

LogicalResult Printer::printFor(scf::ForOp op) {
  Type type = op.getInductionVar().getType();
  Expr low = getSigned(op.getLowerBound()), high = getSigned(op.getUpperBound()), step = getSigned(op.getStep());
  std::string hint;
  if (auto name = op->getAttrOfType<StringAttr>("tcc.name"))
    hint = identifier(name.getValue());
  llvm::SmallVector<std::string> carried = declareCarried(op.getInitArgs(), op.getRegionIterArgs(), "acc");
  if (Attribute unroll = op->getAttr("tcc.unroll")) {
    auto count = dyn_cast<IntegerAttr>(unroll);
    if (count && !count.getValue().isStrictlyPositive())
      return unknown(*op, "tcc.unroll is not positive");
    line(count ? "#pragma unroll " + std::to_string(count.getInt()) : "#pragma unroll");
  }
  names.openScope();
  std::string index = hint.empty() ? names.loopIndex() : names.role(hint);
  defineName(op.getInductionVar(), index);
  std::string advance = step.literal && step.literal->isOne() ? "++" + index : index + " += " + step.text;
  open("for (" + typeOf(type) + " " + index + " = " + low.text + "; " + index + " < " +
       atLeast(high, Precedence::Shift) + "; " + advance + ") {");
  if (failed(printBlock(*op.getBody())))
    return failure();
  assignAll(carried, op.getBody()->getTerminator()->getOperands());
  close();
  names.closeScope();
  for (auto [result, name] : llvm::zip(op.getResults(), carried))
    defineName(result, name);
  return success();
}

LogicalResult Printer::printIf(scf::IfOp op) {
  std::string condition = get(op.getCondition()).text;
  llvm::SmallVector<std::string> results;
  llvm::SmallVector<Value> used, thenValues, elseValues;
  for (Value result : op.getResults()) {
    if (inlining.uses(result) == 0)
      continue;
    used.push_back(result);
    thenValues.push_back(op.thenYield().getOperand(cast<OpResult>(result).getResultNumber()));
    elseValues.push_back(op.elseYield().getOperand(cast<OpResult>(result).getResultNumber()));
    std::string name = op.getNumResults() == 1 ? nameFor(*op) : names.number("y");
    line(typeOf(result.getType()) + " " + name + ";");
    results.push_back(name);
  }
  bool hasElse = !op.getElseRegion().empty() &&
                 (!used.empty() || llvm::any_of(op.elseBlock()->without_terminator(),
                                                [&](Operation &inner) { return !inlining.isDead(&inner); }));
  open("if (" + condition + ") {");
  if (failed(printBlock(*op.thenBlock())))
    return failure();
  assignAll(results, thenValues);
  if (hasElse) {
    reopen("} else {");
    if (failed(printBlock(*op.elseBlock())))
      return failure();
    assignAll(results, elseValues);
  }
  close();
  for (auto [result, name] : llvm::zip(used, results))
    defineName(result, name);
  return success();
}

// The first region decides, and passes values to the second and to the outside.
LogicalResult Printer::printWhile(scf::WhileOp op) {
  Block *before = op.getBeforeBody(), *after = op.getAfterBody();
  llvm::SmallVector<std::string> carried = declareCarried(op.getInits(), before->getArguments(), "state");
  auto condition = op.getConditionOp();
  bool isPlain =
      condition.getArgs() == ValueRange(before->getArguments()) &&
      llvm::all_of(before->without_terminator(), [&](Operation &inner) {
        return inlining.isDead(&inner) || isAlias(&inner) || (inlining.isInlined(&inner) && inner.getNumRegions() == 0);
      });
  llvm::SmallVector<std::string> passed;
  std::string header = "while (true) {";
  if (isPlain) {
    llvm::SaveAndRestore<bool> guard(onlyExpressions, true);
    if (failed(inlineBlock(*before)))
      return failure();
    header = "while (" + get(condition.getCondition()).text + ") {";
    isPlain = !tooLong;
    tooLong = false;
    passed = carried;
  }
  if (!isPlain) {
    header = "while (true) {";
    passed.clear();
    for (Value result : op.getResults()) {
      passed.push_back(names.number("y"));
      line(typeOf(result.getType()) + " " + passed.back() + ";");
    }
  }
  open(header);
  if (!isPlain) {
    if (failed(printBlock(*before)))
      return failure();
    // The condition reads what is carried, not what is passed on.
    assignAll(passed, condition.getArgs());
    line("if (!" + atLeast(get(condition.getCondition()), Precedence::Unary) + ") break;");
  }
  for (auto [argument, name] : llvm::zip(after->getArguments(), passed))
    defineName(argument, name);
  if (failed(printBlock(*after)))
    return failure();
  assignAll(carried, after->getTerminator()->getOperands());
  close();
  for (auto [result, name] : llvm::zip(op.getResults(), passed))
    defineName(result, name);
  return success();
}

} // namespace tcc::codegen::cuda_print
