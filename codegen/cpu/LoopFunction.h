//===- LoopFunction.h - the function(s) of one group of loops -----*- C++ -*-===//
#pragma once

#include "codegen/cpu/Backend.h"
#include "codegen/cpu/NestEmitter.h"
#include "codegen/schedule/LoopKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tcc::codegen {

class LoopFunction : private GroupNests {
public:
  LoopFunction(const GroupNests &nests, Backend &backend, bool strict);

  /// Appends the launches, and temporaries if it needs any.
  mlir::LogicalResult emit(llvm::StringRef name, KernelCode &code);

private:
  /// How the work items of a single loop are cut.
  struct Items {
    llvm::SmallVector<unsigned> outer; ///< dimensions, one index of each in an item
    int64_t laneBlock = 0;             ///< indices of the lane dimension in an item; 0: all
    int64_t tileBlock = 0;             ///< likewise of the tile dimension
    int splitDim = -1;                 ///< reduced dimension that several items share
    int64_t chunks = 1;
  };

  // Building blocks of functions.
  void begin(llvm::StringRef name, llvm::ArrayRef<int32_t> extraBuffers, llvm::ArrayRef<mlir::Type> extraElements);
  std::string finish();
  mlir::Value memrefOf(mlir::Value tensor);
  mlir::Value constant(int64_t value);
  mlir::Value extent(mlir::AffineExpr expr);
  void forItems(llvm::function_ref<void(mlir::Value)> body);
  Values delinearize(mlir::Value item, llvm::ArrayRef<mlir::AffineExpr> extents);
  LaunchSpec launch(mlir::AffineExpr items, int64_t elementsPerItem);
  void storeResult(BodyEmitter &body, const LoopNest &nest, unsigned result, mlir::Value value, const Point &point);

  Items cutItems(const LoopNest &nest, const NestPlan &plan);
  void emitSingle(llvm::StringRef name, KernelCode &code);
  void emitSplit(llvm::StringRef name, KernelCode &code, const NestPlan &plan, const Items &items);
  void emitRows(llvm::StringRef name, KernelCode &code);
  // Scatters (ScatterFunction.cpp).
  struct ScatterItems {
    NestPlan plan;
    llvm::SmallVector<unsigned> outer; ///< dimensions, one index of each in an item
    int blockDim = -1;                 ///< dimension of which an item has `block` indices
    int64_t block = 0;
  };
  ScatterItems cutScatter(const LoopNest &nest);
  void emitScatter(llvm::StringRef name, KernelCode &code);

  Backend &backend;
  mlir::MLIRContext *mlir;

  // Of the function being built.
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::func::FuncOp function;
  llvm::DenseMap<int32_t, mlir::Value> arguments; ///< buffer position -> memref
  llvm::SmallVector<int32_t> launchBuffers;
  mlir::Value scratchMemory, beginItem, endItem;
  llvm::DenseMap<mlir::Value, mlir::Value> scratchViews;
  llvm::DenseMap<mlir::Value, mlir::Value> registerValues;
  BodyContext context;
};

} // namespace tcc::codegen
