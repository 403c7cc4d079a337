//===- LoopFunction.h - the kernel(s) of one group of loops -------*- C++ -*-===//
//
// A thread works on `width` elements side by side (a vector in memory, 16 bytes at most), and where they are combined
// a group of threads, lanes of a warp or a whole block, shares a row. All grids run along x.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaBackend.h"
#include "codegen/cuda/loops/SearchSpace.h"
#include "codegen/schedule/BodyEmitter.h"
#include "codegen/schedule/LoopKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tcc::codegen::cuda {

class LibraryKernel;

class LoopFunction : private GroupNests {
public:
  LoopFunction(const GroupNests &nests, ir::KernelOp kernel, CudaBackend &backend, bool strict);

  /// Appends the launches, and temporaries if it needs any.
  mlir::LogicalResult emit(KernelCode &code);

private:
  //===- Building blocks (LoopFunction.cpp) --------------------------------===//
  /// `numCounters`: as DeviceLaunch has them.
  void begin(llvm::StringRef kind, int threads, llvm::ArrayRef<int32_t> extraBuffers = {},
             llvm::ArrayRef<mlir::Type> extraElements = {}, mlir::AffineExpr numCounters = {});
  /// Queues the function and appends its launch.
  mlir::LogicalResult finish(KernelCode &code, mlir::AffineExpr blocks, llvm::StringRef choice);
  /// Whether the block is the last of `blocks` to get here with this counter; to be reached by all threads.
  mlir::Value isLastOf(mlir::Value counter, int64_t blocks);
  mlir::Value memrefOf(mlir::Value tensor);
  mlir::Value constant(int64_t value);
  mlir::Value extent(mlir::AffineExpr expr);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value named(mlir::Value value, llvm::StringRef name);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  using LoopBody = llvm::function_ref<Values(mlir::Value, mlir::ValueRange)>;
  Values loop(mlir::Value low, mlir::Value high, mlir::Value step, mlir::ValueRange init, LoopBody body,
              bool unroll = false);
  /// Runs the body where the condition holds; what it is given otherwise.
  Values guarded(mlir::Value condition, mlir::ValueRange init, llvm::function_ref<Values(mlir::ValueRange)> body);
  Values delinearize(mlir::Value flat, llvm::ArrayRef<mlir::AffineExpr> extents);
  mlir::Value shared(mlir::Type element, llvm::ArrayRef<int64_t> extents);
  mlir::Value local(mlir::Type element, int64_t count);
  void barrier();
  int32_t addTemporary(KernelCode &code, mlir::AffineExpr elements, mlir::Type element);
  /// An estimate of a product of extents.
  static int64_t estimate(llvm::ArrayRef<mlir::AffineExpr> extents);
  mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> extents);
  /// 32 where no index overflows it.
  int indexBits(mlir::AffineExpr blocks);

  //===- Elements of a thread (Elements.cpp) -------------------------------===//
  /// A thread's elements of a nest: `width` of them along `lane`, from the point `dims` on.
  struct Chunk {
    Values dims;
    int lane = -1;
    int64_t width = 1;
    mlir::Value slot = {}; ///< where in local arrays the first one is
  };
  using ElementBody = llvm::function_ref<Values(mlir::Value e, const Point &, mlir::ValueRange, mlir::ValueRange)>;
  /// Evaluates the body at each element, in order. `use` gets its number, the point, what the body yields and the
  /// carried values, and gives those back.
  Values forElements(const LoopNest &nest, BodyEmitter &body, const Chunk &chunk, mlir::ValueRange init,
                     ElementBody use);
  /// The same for a nest without reductions, and writes the results.
  void writeElements(const LoopNest &nest, BodyEmitter &body, const Chunk &chunk);
  void storeResult(BodyEmitter &body, const LoopNest &nest, unsigned result, mlir::Value value, const Point &point);
  bool isVectorLoad(const LoopNest &nest, ir::LoadOp load, unsigned lane, int64_t width);
  /// The most elements along a dimension that make vectors of at most 16 bytes; 1 where nothing is contiguous.
  int64_t vectorWidth(const LoopNest &nest, unsigned lane);
  mlir::Value loadVector(mlir::Value memref, mlir::Value offset, int64_t width);
  void storeVector(mlir::Value vector, mlir::Value memref, mlir::Value offset);

  //===- One nest ----------------------------------------------------------===//
  mlir::LogicalResult emitPointwise(KernelCode &code);
  mlir::LogicalResult emitTransposed(KernelCode &code, unsigned lane, unsigned tile);
  std::optional<unsigned> findTile(const LoopNest &nest, unsigned lane);

  //===- Updates of a scatter (Scatter.cpp) --------------------------------===//
  mlir::LogicalResult emitScatter(KernelCode &code);
  mlir::LogicalResult emitScatterInOrder(KernelCode &code);
  mlir::LogicalResult emitScatterLast(KernelCode &code);
  mlir::LogicalResult emitScatterSorted(KernelCode &code);
  /// Begins a function with a thread for each point; `use` gets its number, the point and what the body yields there.
  void forEachUpdate(llvm::StringRef name, llvm::ArrayRef<int32_t> extra, llvm::ArrayRef<mlir::Type> elements,
                     llvm::function_ref<void(mlir::Value, const Point &, mlir::ValueRange)> use);
  mlir::AffineExpr updateBlocks();
  void appendLaunches(KernelCode &code, LibraryKernel &made, llvm::StringRef choice);

  //===- Reductions (Reduction.cpp, GroupReduce.cpp) -----------------------===//
  struct ReducePlan {
    bool inner = true;                    ///< neighbouring threads along reduced elements, else along results
    int64_t group = 32;                   ///< threads that share a result
    int64_t block = 256;                  ///< threads of a block
    int64_t width = 1;                    ///< elements side by side
    int sequence = -1;                    ///< reduced dimension that threads and chunks divide; -1: all, as one
    int64_t chunks = 1;                   ///< blocks that share a result
    llvm::SmallVector<unsigned> parallel; ///< dimensions, those of neighbouring results last
  };
  ReducePlan planReduce(const LoopNest &nest);
  mlir::LogicalResult emitReduce(KernelCode &code);
  /// Partial results of a thread: number `thread` of `group`, over positions [low, high) of the sequence.
  Values reduceShare(const LoopNest &nest, BodyEmitter &body, Values dims, const ReducePlan &plan, mlir::Value thread,
                     mlir::Value low, mlir::Value high);
  Values identities(const LoopNest &nest);
  /// Combines the values of `group` threads, neighbours by number (`inner`) or `block / group` apart; all of them get
  /// the result. To be reached by all threads of the block for more than a warp, else of the warp.
  Values groupReduce(const LoopNest &nest, mlir::ValueRange values, int64_t group, int64_t block, bool inner);
  /// The same of values that are combined together.
  using Combine = llvm::function_ref<Values(mlir::ValueRange, mlir::ValueRange)>;
  Values groupReduce(mlir::ValueRange values, int64_t group, int64_t block, bool inner, Combine combine);

  //===- Several nests over the same rows (Rows.cpp) -----------------------===//
  struct RowPlan;
  RowPlan planRows();
  void planKept(RowPlan &plan, int64_t length);
  mlir::LogicalResult emitRows(KernelCode &code);
  /// `sum`: a nest that is done in the same pass (isOnlineSoftmax).
  void emitRowNest(const LoopNest &nest, const RowPlan &plan, mlir::ValueRange row, const LoopNest *sum = nullptr);
  /// Maximum and sum of exponentials, of one more element and of two parts, and the sum in the end (OnlineSoftmax.cpp).
  Values addOnline(const LoopNest &most, mlir::Value x, mlir::ValueRange before);
  Values mergeOnline(const LoopNest &most, mlir::ValueRange x, mlir::ValueRange y);
  mlir::Value finishOnline(mlir::ValueRange both);

  ir::KernelOp kernel;
  CudaBackend &backend;
  LoopChoice tuned; ///< measured, else the default
  mlir::MLIRContext *mlir;

  // Of the function being built.
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::func::FuncOp function;
  int threads = 256;
  llvm::DenseMap<int32_t, mlir::Value> arguments; ///< buffer position -> memref
  llvm::SmallVector<int32_t> launchBuffers;
  mlir::AffineExpr counterCount; ///< null: the launch has no counters
  mlir::Value counters;
  mlir::Value thread, block; ///< numbers in the block and in the grid
  llvm::DenseMap<mlir::Value, mlir::Value> registerValues;
  llvm::DenseMap<mlir::Value, mlir::Value> memory; ///< tensors in shared memory, or parts of temporaries
  llvm::DenseMap<mlir::Value, mlir::Value> locals; ///< tensors of which each thread keeps its own elements
  /// Loads of what several nests of a row read: the first one keeps it in a local array, the others find it there.
  struct Kept {
    mlir::Value array;
    bool isFirst;
  };
  llvm::DenseMap<mlir::Operation *, Kept> kept;
  BodyContext context;
};

/// Whether `sum` adds up exp(x - the maximum) of the elements that `most` is the maximum of.
bool isOnlineSoftmax(const LoopNest &most, const LoopNest &sum);

/// Whether offset(lane = 0) is a multiple of `width` at all points.
bool isAligned(mlir::AffineExpr offset, unsigned lane, int64_t width);

} // namespace tcc::codegen::cuda
