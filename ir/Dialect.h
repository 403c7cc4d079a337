//===- Dialect.h - the tcc dialect ------------------------------*- C++ -*-===//
//
// The dialect's types, attributes and ops; see the Ops*.td files for what each op means.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/Dialect.h.inc"
#include "ir/Enums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/Types.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attributes.h.inc"

namespace tcc::ir {

/// Types and extent lists of an op: dynamic types carry #tcc.extents, symbols are among those of the function.
mlir::LogicalResult verifyKnownExtents(mlir::Operation *op);

template <typename ConcreteOp> class KnownExtents : public mlir::OpTrait::TraitBase<ConcreteOp, KnownExtents> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyKnownExtents(op); }
};

/// Folds with the reference kernels: ir/Folding.cpp.
mlir::LogicalResult foldWithReference(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                                      llvm::SmallVectorImpl<mlir::OpFoldResult> &results);

/// The trait of pure ops whose constants fold, see foldWithReference.
template <typename ConcreteOp>
class ReferenceFoldable : public mlir::OpTrait::TraitBase<ConcreteOp, ReferenceFoldable> {
public:
  static mlir::LogicalResult foldTrait(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                                       llvm::SmallVectorImpl<mlir::OpFoldResult> &results) {
    return foldWithReference(op, operands, results);
  }
};

// Parents of the terminator, across families.
class IfOp;
class LoopOp;
class KernelOp;
class LoopsOp;

} // namespace tcc::ir

#define GET_OP_CLASSES
#include "ir/OpsPointwise.h.inc"
#define GET_OP_CLASSES
#include "ir/OpsShape.h.inc"
#define GET_OP_CLASSES
#include "ir/OpsReduce.h.inc"
#define GET_OP_CLASSES
#include "ir/OpsNN.h.inc"
#define GET_OP_CLASSES
#include "ir/OpsControl.h.inc"
#define GET_OP_CLASSES
#include "ir/OpsKernel.h.inc"
