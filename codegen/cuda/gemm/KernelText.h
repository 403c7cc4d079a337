//===- KernelText.h - texts of kernels around a device template ---*- C++ -*-===//
//
// A kernel of a matmul, conv or attention is a few structs (operands, epilogue) and an entry point that hands them to a
// template of the device library. KernelBuilder numbers the buffers of one tcc.kernel and collects its launches;
// KernelText writes the text of one launch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>

#include "codegen/cuda/CudaBackend.h"
#include "codegen/cuda/extern/Library.h"
#include "codegen/cuda/gemm/CppExpr.h"
#include "codegen/cuda/gemm/Tiles.h"
#include "codegen/schedule/template/Template.h"

namespace tcc::codegen::cuda {

using Exprs = llvm::SmallVector<mlir::AffineExpr>;

/// "float", "__half", "int", ...: how an element type is written where it lies in memory, without a sign of its own.
std::string cppType(mlir::Type element);

/// Whether aligned groups of `count` along a dimension lie next to each other, and start at multiples of `count`.
bool isVector(mlir::AffineExpr offset, unsigned dim, int count, mlir::ArrayAttr symbols);

class KernelBuilder {
public:
  KernelBuilder(const gemm::TemplateKernel &kernel, ConstantInputs constants, CudaBackend &backend);

  const gemm::TemplateKernel &kernel;
  ConstantInputs constants;
  CudaBackend &backend;
  mlir::MLIRContext *context;
  mlir::ArrayAttr symbols;
  /// Of every index and offset: 32 where no tensor can have 2^31 elements.
  unsigned indexBits = 64;

  /// Buffers have numbers: inputs and results their positions in the kernel's argument list, temporaries and constants
  /// those from here on.
  static constexpr int kFirstTemporary = 10000, kFirstConstant = 20000;
  int addTemporary(mlir::AffineExpr elements, mlir::Type element);
  int addConstant(tcc::Tensor tensor, mlir::Type element);
  void dropInput(int input);
  bool dropped(int input) const { return llvm::is_contained(code.unusedInputs, input); }
  mlir::Type element(int buffer) const; ///< as it is in memory
  std::string name(int buffer) const;   ///< in texts
  bool isWritten(int buffer) const { return buffer >= numInputs() && buffer < kFirstConstant; }
  int numInputs() const { return kernel.numInputs(); }
  int numResults() const { return kernel.outputs.size(); }

  /// The code, with positions in place of numbers.
  KernelCode take(llvm::StringRef schedule);

  KernelCode code;
  /// The products that have tiles, in order: for the search space.
  struct TiledProduct {
    GemmShape shape;
    std::array<mlir::AffineExpr, 4> extents; ///< of batch, m, n, k
    GemmElements elements;
  };
  llvm::SmallVector<TiledProduct> products;
  LibraryCall possibleCall; ///< what a library could do in place of the kernel
  bool hasCall = false;     ///< it stands beside the kernel
  bool keepsInputs = false; ///< no result may take the place of an input

private:
  llvm::SmallVector<mlir::Type> elements; ///< of inputs and results
  llvm::SmallVector<mlir::Type> temporaries, constantElements;
};

/// The text of one launch. Errors are diagnostics at the template op.
class KernelText {
public:
  KernelText(KernelBuilder &builder, llvm::StringRef header);

  /// The name, in the entry point, of a buffer or of a symbol's value; it becomes a parameter.
  std::string buffer(int number);
  std::string symbol(unsigned position);
  /// The same for every symbol of an expression; its value in the entry point.
  std::string value(mlir::AffineExpr expr);
  /// The name of the launch's counters (Target.h), of which there are so many.
  std::string counters(mlir::AffineExpr count);

  /// Appends text before the entry point.
  void define(llvm::StringRef text) { definitions += text; }
  /// A functor: `body` gets the values of its parameters (index values of these names, then
  /// values of `extra` types) and gives what it returns,
  /// or null. Returns the expression that makes it in the entry point.
  mlir::FailureOr<std::string>
  functor(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> indices, llvm::ArrayRef<mlir::Type> extra,
          mlir::Type result, llvm::function_ref<mlir::Value(gemm::Emit &, const gemm::Frame &, mlir::ValueRange)> body);
  /// The functor of the epilogue, `Epilogue`: takes an element of the template's result, which is at `coordinate` over
  /// its indices d0, d1, d2.
  mlir::FailureOr<std::string> epilogue(llvm::ArrayRef<mlir::AffineExpr> coordinate);
  /// The same with a second form, for several elements at once (tcc/gemm.cuh): vectors of up to `widest` elements along
  /// `fastest` (1 or 2) where the outputs have them, else `batch` elements.
  mlir::FailureOr<std::string> tileEpilogue(llvm::ArrayRef<mlir::AffineExpr> coordinate, unsigned fastest,
                                            unsigned widest, unsigned batch);

  /// A parameter of this name: how TMA loads tiles of a buffer (TensorMap::buffer: its number).
  void tensorMap(llvm::StringRef name, TensorMap map);

  /// Queues the text and appends the launch. `body`: the statements of the entry point. `beside`: blocks that are to be
  /// on one multiprocessor at a time; 0: as may be.
  void launch(llvm::StringRef name, int threads, mlir::AffineExpr blocks, int64_t sharedBytes, llvm::StringRef body,
              int beside = 0);

  /// A call that does the same as the kernel; its parameters are numbers of buffers.
  LibraryCall library;

  KernelBuilder &builder;
  std::string indexType;

private:
  void addCall(KernelSource &source);
  unsigned vectorWidth(llvm::ArrayRef<mlir::AffineExpr> coordinate, unsigned fastest, unsigned widest) const;

  std::string header, definitions;
  llvm::SmallVector<int> buffers;
  llvm::SmallVector<std::pair<std::string, TensorMap>, 2> tensorMaps;
  std::map<unsigned, int> scalars; ///< symbol -> position among the scalars
  mlir::AffineExpr numCounters;    ///< null: none
};

} // namespace tcc::codegen::cuda
