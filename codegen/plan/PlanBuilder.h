//===- PlanBuilder.h - the state of one buildPlan ----------------*- C++ -*-===//
#pragma once

#include "codegen/Target.h"
#include "codegen/plan/Constants.h"
#include "codegen/plan/Plan.h"
#include "codegen/plan/Registers.h"

namespace tcc::codegen {

class PlanBuilder {
public:
  PlanBuilder(mlir::func::FuncOp function, Target *target, const PlanOptions &options);
  mlir::FailureOr<PlanResult> build();

private:
  using Instructions = std::vector<Instruction>;

  /// Where the elements of a value are: strides in elements; unknown for what a library kernel or the caller made.
  struct Layout {
    bool known = false;
    bool rowMajor = false;
    ir::Exprs strides = {};
    /// Of a view that is not row-major: the row-major value it looks into, and from which element on. A view of it is
    /// expressed as a view of that value, because the runtime copies a source that is not contiguous.
    ValueId base = kNoValue;
    mlir::AffineExpr offset = {};
  };

  // Values.
  ValueId makeValue();
  ValueId define(mlir::Value value, Layout layout);
  mlir::FailureOr<ValueId> use(mlir::Value value);
  mlir::FailureOr<ValueId> addConstant(const tcc::Tensor &tensor);
  mlir::FailureOr<Operand> emit(mlir::AffineExpr expr, mlir::Operation *op, Instructions &out);
  mlir::LogicalResult emitDims(mlir::Type type, mlir::Operation *op, std::vector<Operand> &dims, Instructions &out);
  void bindSymbols(mlir::Type type, ValueId value, Instructions &out);
  void bindResults(mlir::Operation *op, Instructions &out);
  static Layout rowMajorLayout(mlir::Type type);

  // Ops (PlanOps.cpp, PlanControl.cpp, PlanKernel.cpp).
  mlir::LogicalResult buildBlock(mlir::Block &block, Instructions &out);
  mlir::LogicalResult buildOp(mlir::Operation *op, Instructions &out);
  /// Makes the op a view of its operand if that is possible.
  mlir::FailureOr<bool> tryView(mlir::Operation *op, Instructions &out);
  /// The same for a reshape to extents that are data, of targets with memory of their own (PlanShapes.cpp).
  mlir::FailureOr<bool> tryDynamicReshape(mlir::Operation *op, Instructions &out);
  mlir::LogicalResult emitView(mlir::Operation *op, ValueId source, const ir::Exprs &strides, mlir::AffineExpr offset,
                               Instructions &out);
  mlir::LogicalResult buildLibrary(mlir::Operation *op, Instructions &out);
  mlir::LogicalResult buildExtents(ir::ExtentsOp op, Instructions &out);
  mlir::LogicalResult buildKernel(ir::KernelOp op, Instructions &out);
  /// An op without a form as loops for which the target has code.
  mlir::LogicalResult buildLibraryKernel(mlir::Operation *op, Instructions &out);
  mlir::LogicalResult buildCode(mlir::Operation *op, const KernelCode &code, const std::string &name,
                                Instructions &out);
  /// Emits KernelCode::findLaunches and binds the symbols of results; returns the temporary of the extents.
  mlir::FailureOr<ValueId> findExtents(mlir::Operation *op, const KernelCode &code, const std::string &name,
                                       llvm::ArrayRef<ValueId> inputs, std::vector<LaunchRecord> &records,
                                       Instructions &out);
  /// `buffers`: results, then temporaries.
  mlir::LogicalResult viewFound(mlir::Operation *op, const KernelCode &code, llvm::ArrayRef<ValueId> buffers,
                                Instructions &out);
  /// What launches on the host and on a device have in common.
  struct LaunchOperands {
    int32_t function = 0;
    std::vector<ValueId> buffers;
    std::vector<Operand> scalars;
  };
  mlir::FailureOr<LaunchOperands> emitLaunch(mlir::Operation *op, const LaunchSpec &spec,
                                             llvm::ArrayRef<ValueId> buffers, Instructions &out);
  mlir::FailureOr<plan::DeviceLaunch> emitDeviceLaunch(mlir::Operation *op, const DeviceLaunch &spec,
                                                       LaunchOperands operands, Instructions &out);
  mlir::LogicalResult buildIf(ir::IfOp op, Instructions &out);
  mlir::LogicalResult buildLoop(ir::LoopOp op, Instructions &out);
  mlir::LogicalResult buildReturn(mlir::func::ReturnOp op, Instructions &out);
  void move(ValueId to, ValueId from, Instructions &out);
  /// Whether the value's memory is that of an input, a constant, or another value that it must not be an output with.
  bool sharesForeignMemory(ValueId value) const;
  void record(mlir::Operation *op, std::string name, std::string schedule, int launches);

  mlir::func::FuncOp function;
  mlir::MLIRContext *context;
  Target *target;
  const PlanOptions &options;
  PlanResult result;
  Registers registers;
  ConstantPool pool;
  std::vector<ValueId> constantValues;
  llvm::DenseMap<mlir::Value, ValueId> values;
  llvm::DenseMap<ValueId, Layout> layouts;
  std::vector<InPlaceCandidate> inPlace;
  llvm::StringMap<int32_t> functions;
  std::vector<char> foreign; ///< by ValueId: an input or a constant
};

/// The name a person knows an op by: the node's name from its location, else its mnemonic.
std::string describeOp(mlir::Operation *op);

} // namespace tcc::codegen
