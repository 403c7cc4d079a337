//===- Lowering.cpp - scheduled functions to the LLVM dialect -------------===//
#include "codegen/cpu/Lowering.h"

#include "codegen/cpu/VectorMath.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "runtime/kernel_abi.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

// Rewrites vector ops that have no LLVM counterpart of their own into ones that have.
LogicalResult lowerVectorOps(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  auto transpose =
      vector::VectorTransformsOptions().setVectorTransposeLowering(vector::VectorTransposeLowering::Shuffle16x16);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorTransposeLoweringPatterns(patterns, transpose);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/true);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorInterleaveToShufflePatterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  return applyPatternsAndFoldGreedily(module, std::move(patterns));
}

LogicalResult lowerControlFlow(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

// The conversions leave pairs of casts there and back.
void removeCasts(ModuleOp module) {
  llvm::SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  for (UnrealizedConversionCastOp cast : casts) {
    auto source = cast;
    while (source && source.getInputs().getTypes() != cast.getResultTypes())
      source =
          source.getNumOperands() == 1 ? source.getInputs()[0].getDefiningOp<UnrealizedConversionCastOp>() : nullptr;
    if (source)
      cast.replaceAllUsesWith(source.getInputs());
  }
  for (UnrealizedConversionCastOp cast : llvm::reverse(casts))
    if (cast.use_empty())
      cast.erase();
}

LogicalResult lowerRest(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  populateVectorToLLVMConversionPatterns(converter, patterns, /*reassociateFPReductions=*/true,
                                         /*force32BitVectorIndices=*/true);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  if (failed(applyFullConversion(module, target, std::move(patterns))))
    return failure();
  removeCasts(module);
  return success();
}

// The shape of a scheduled function, read off its arguments.
struct Form {
  unsigned buffers = 0, scalars = 0;
  bool errorWord = false;
  bool mayAlias = false;
};

FailureOr<Form> formOf(func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  llvm::ArrayRef<Type> inputs = type.getInputs();
  Form form;
  form.mayAlias = function->hasAttr("tcc.may_alias");
  auto isFlat = [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    return memref && memref.getRank() == 1 && memref.isDynamicDim(0) && memref.getLayout().isIdentity();
  };
  if (!inputs.empty() && isFlat(inputs.back())) {
    form.errorWord = true;
    inputs = inputs.drop_back();
  }
  while (form.buffers < inputs.size() && isFlat(inputs[form.buffers]))
    ++form.buffers;
  inputs = inputs.drop_front(form.buffers);
  while (form.scalars < inputs.size() && inputs[form.scalars].isIndex())
    ++form.scalars;
  inputs = inputs.drop_front(form.scalars);
  // What is left is the scratch memory and the range. Without scalars the buffers have swallowed the scratch memory.
  if (form.scalars == 0 && inputs.empty())
    return function.emitError("lacks the scratch, begin and end arguments of a scheduled function");
  if (inputs.size() == 3 && isFlat(inputs[0]) && inputs[1].isIndex() && inputs[2].isIndex() &&
      type.getNumResults() == 0)
    return form;
  // memref..., memref<?xi8>, index, index: the two last scalars are the range.
  if (inputs.empty() && form.scalars == 2 && form.buffers >= 1 && type.getNumResults() == 0) {
    --form.buffers;
    form.scalars = 0;
    return form;
  }
  return function.emitError("is not of the form of a scheduled function: ") << type;
}

// Calls the body with what the context holds.
void makeWrapper(LLVM::LLVMFuncOp body, const Form &form) {
  MLIRContext *context = body.getContext();
  Location loc = body.getLoc();
  OpBuilder b(body);
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i64 = b.getI64Type(), i8 = b.getI8Type();
  std::string name = body.getName().str();
  body.setName(name + ".body");
  auto wrapper = b.create<LLVM::LLVMFuncOp>(
      loc, name, LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {ptr, i64, i64}));
  Block *entry = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  auto field = [&](Value base, int64_t offset, Type type) -> Value {
    Value address =
        b.create<LLVM::GEPOp>(loc, ptr, i8, base, llvm::ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    return b.create<LLVM::LoadOp>(loc, type, address);
  };
  Value kernel = entry->getArgument(0);
  Value zero = b.create<LLVM::ConstantOp>(loc, i64, b.getI64IntegerAttr(0));
  Value one = b.create<LLVM::ConstantOp>(loc, i64, b.getI64IntegerAttr(1));
  Value size = b.create<LLVM::ConstantOp>(loc, i64, b.getI64IntegerAttr(INT64_MAX));
  llvm::SmallVector<Value> arguments;
  auto addMemref = [&](Value pointer) {
    if (!form.mayAlias)
      body.setArgAttr(arguments.size() + 1, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    arguments.append({pointer, pointer, zero, size, one});
  };
  if (form.buffers) {
    Value buffers = field(kernel, offsetof(TccKernelContext, buffers), ptr);
    for (unsigned i = 0; i < form.buffers; ++i)
      addMemref(field(buffers, 8 * i, ptr));
  }
  if (form.scalars) {
    Value scalars = field(kernel, offsetof(TccKernelContext, scalars), ptr);
    for (unsigned i = 0; i < form.scalars; ++i)
      arguments.push_back(field(scalars, 8 * i, i64));
  }
  addMemref(field(kernel, offsetof(TccKernelContext, scratch), ptr));
  arguments.append({entry->getArgument(1), entry->getArgument(2)});
  if (form.errorWord)
    addMemref(field(kernel, offsetof(TccKernelContext, error), ptr));
  b.create<LLVM::CallOp>(loc, body, arguments);
  b.create<LLVM::ReturnOp>(loc, ValueRange());
  body.setLinkage(LLVM::Linkage::Internal);
  body.setPassthroughAttr(b.getStrArrayAttr({"alwaysinline"}));
}

} // namespace

LogicalResult lowerToLlvmDialect(ModuleOp module) {
  llvm::StringMap<Form> forms;
  for (auto function : module.getOps<func::FuncOp>()) {
    FailureOr<Form> form = formOf(function);
    if (failed(form))
      return failure();
    forms[function.getName()] = *form;
  }
  expandMath(module);
  if (failed(lowerVectorOps(module)) || failed(lowerControlFlow(module)) || failed(lowerRest(module)))
    return module.emitError("scheduled code could not be lowered to LLVM");
  for (auto function : llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>()))
    if (auto form = forms.find(function.getName()); form != forms.end())
      makeWrapper(function, form->second);
  return success();
}

} // namespace tcc::codegen
