//===- LoopFunction.h - the function(s) of one group of loops -----*- C++ -*-===//
#pragma once

#include "codegen/Target.h"
#include "codegen/cpu/Backend.h"
#include "codegen/cpu/LoopGroups.h"
#include "codegen/cpu/NestEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tcc::codegen {

/// Where the tensors of a kernel are, by position among its buffers (see KernelCode).
struct KernelTensors {
  llvm::DenseMap<mlir::Value, int32_t> buffer;
  /// Further results that are the same value.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int32_t>> copies;
  int32_t nextTemporary = 0;
};

class LoopFunction {
public:
  LoopFunction(const LoopGroup &group, KernelTensors &tensors, Backend &backend, bool strict);

  /// Results that may overwrite inputs.
  void findInPlace(unsigned numInputs, llvm::SmallVectorImpl<std::pair<int32_t, int32_t>> &pairs);
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
  void planScratch();
  // Scatters (ScatterFunction.cpp).
  void addTarget(LoopNest &nest);
  bool dependsOn(const LoopNest &nest, mlir::Value value, unsigned dim);
  bool dependsOn(const LoopNest &nest, mlir::AffineExpr expr, unsigned dim);
  struct ScatterItems {
    NestPlan plan;
    llvm::SmallVector<unsigned> outer; ///< dimensions, one index of each in an item
    int blockDim = -1;                 ///< dimension of which an item has `block` indices
    int64_t block = 0;
  };
  ScatterItems cutScatter(const LoopNest &nest);
  void emitScatter(llvm::StringRef name, KernelCode &code);
  void emitUpdate(const LoopNest &nest, const Point &point, mlir::ValueRange results);

  const LoopGroup &group;
  KernelTensors &tensors;
  Backend &backend;
  mlir::MLIRContext *mlir;
  bool mayAlias = false;
  bool mayFail = false;
  std::vector<LoopNest> nests;
  llvm::SmallVector<unsigned> symbols;                    ///< that the function takes, by position in tcc.symbols
  llvm::MapVector<mlir::Value, int32_t> used;             ///< tensors in memory -> buffer position
  llvm::MapVector<mlir::Value, mlir::AffineExpr> scratch; ///< tensors in scratch memory -> byte offset
  llvm::DenseSet<mlir::Value> registers;                  ///< tensors of one element in an item
  mlir::AffineExpr scratchBytes;

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
