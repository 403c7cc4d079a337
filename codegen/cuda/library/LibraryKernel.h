//===- LibraryKernel.h - texts of kernels of the device library ---*- C++ -*-===//
//
// Ops that have no form as loops (sorting, scans, suppression, selection) are launches of templates of the device
// library (codegen/cuda/device/tcc). A launch's text is an entry point that names the template, with the values of
// extents.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaBackend.h"
#include "codegen/cuda/gemm/CppExpr.h"
#include "ir/Dialect.h"
#include "ir/Extents.h"

namespace tcc::codegen::cuda {

/// Collects the launches of one op. Buffers are its operands, its results, then temporaries.
class LibraryKernel {
public:
  LibraryKernel(mlir::Operation *op, CudaBackend &backend);
  /// The same for launches among others of a tcc.kernel, whose buffers below `firstTemporary` are somebody else's;
  /// adopt() names those of them from there on that launches take.
  LibraryKernel(mlir::Operation *op, CudaBackend &backend, int firstTemporary);
  void adopt(llvm::StringRef type) { types.push_back(type.str()); }

  /// Position of a buffer among those of the code.
  int input(unsigned i) const { return static_cast<int>(i); }
  int result(unsigned i) const { return static_cast<int>(op->getNumOperands() + i); }
  /// A result whose extents the code finds out: as many elements as there may be.
  void setCapacity(unsigned result, mlir::AffineExpr elements);
  /// `type`: its elements in C++, of `bytes` each.
  int temporary(mlir::AffineExpr elements, llvm::StringRef type, int64_t bytes);
  /// A constant of the code. There are no more temporaries after one.
  int constantBuffer(tcc::Tensor tensor, llvm::StringRef type);
  /// The temporary in which the code leaves the numbers that it finds out (KernelCode::found).
  int found();
  /// The same for launches that find out the extents of results before there are any (KernelCode::findLaunches): one
  /// number for each axis of each result. Those launches come first; endFinding() is after them.
  int foundExtents();
  void endFinding() { code.findLaunches = static_cast<int32_t>(code.launches.size()); }

  mlir::AffineExpr constant(int64_t value) const { return mlir::getAffineConstantExpr(value, context); }
  mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> extents) const;
  /// The most that an extent can be.
  int64_t most(mlir::AffineExpr extent) const { return ir::getRange(extent, symbols).second; }

  /// A buffer of a launch, and its name in the text. Not `written`: it is only read.
  struct Buffer {
    int position;
    std::string name;
    bool written = false;
  };
  /// A value of a launch, and its name in the text.
  struct Scalar {
    std::string name;
    mlir::AffineExpr value;
  };
  /// Appends a launch: `body` is what the entry point does, over those of the buffers and scalars (long long) that it
  /// names. Where it names `error`, it has the error word.
  void launch(llvm::StringRef name, llvm::StringRef header, int threads, mlir::AffineExpr blocks,
              llvm::ArrayRef<Buffer> buffers, llvm::ArrayRef<Scalar> scalars, llvm::StringRef body);

  KernelCode take();

  mlir::Operation *op;
  mlir::MLIRContext *context;
  mlir::ArrayAttr symbols;
  KernelCode code;

private:
  CudaBackend &backend;
  llvm::SmallVector<std::string> types; ///< of all buffers
};

/// What an element that is only moved is stored as: as elementText(), and an unsigned integer of its width for others.
/// "unsigned char" for packed types, several elements of which are in a byte. Empty for strings.
std::string storageText(mlir::Type element);
mlir::Type elementTypeOf(mlir::Value tensor);

/// Whether there is a device kernel for an op that has no form as loops.
bool hasLibraryKernel(mlir::Operation *op);
/// Its launches. An error is emitted at the op.
mlir::FailureOr<KernelCode> scheduleLibrary(mlir::Operation *op, CudaBackend &backend);

/// A kind of op.
struct LibrarySchedule {
  llvm::StringLiteral op; ///< mnemonic, or the kernel of tcc.library
  bool (*accepts)(mlir::Operation *op);
  void (*apply)(LibraryKernel &kernel);
  bool narrow = false; ///< takes operands and results that have no elementText() as well
};
extern const LibrarySchedule castSchedule; // Cast.cpp
extern const LibrarySchedule dynamicSliceSchedule, dynamicPadSchedule, dynamicExpandSchedule, dynamicTileSchedule,
    rangeSchedule, oneHotSchedule;                                        // Shapes.cpp
extern const LibrarySchedule resizeSchedule, dynamicResizeSchedule;       // Resize.cpp
extern const LibrarySchedule uniqueSchedule;                              // Unique.cpp
extern const LibrarySchedule maxPoolIndicesSchedule, maxPoolSchedule;     // MaxPool.cpp
extern const LibrarySchedule dftSchedule, stftSchedule;                   // Fourier.cpp
extern const LibrarySchedule deformConvSchedule, detSchedule;             // DeformConv.cpp
extern const LibrarySchedule integerPowSchedule, tfidfSchedule;           // IntegerOps.cpp
extern const LibrarySchedule topKSchedule, dynamicTopKSchedule;           // TopK.cpp
extern const LibrarySchedule scanSchedule;                                // Scan.cpp
extern const LibrarySchedule nonzeroSchedule, compressSchedule;           // Select.cpp
extern const LibrarySchedule nonMaxSuppressionSchedule, plainNmsSchedule; // NonMaxSuppression.cpp
extern const LibrarySchedule roiAlignSchedule;                            // RoiAlign.cpp

//===- What several kinds share --------------------------------------------===//

/// An axis of a tensor: lines = product(before) * inner of them.
struct Axis {
  mlir::AffineExpr length, inner, lines;
};
Axis axisOf(const LibraryKernel &kernel, mlir::Value tensor, int64_t axis);

/// Sorting in chunks (TopK.cpp). How lines of up to `most` elements are cut.
struct SortPlan {
  int threads = 0, items = 0;
  int passes = 0;    ///< of merging, at most; none: every line is one chunk
  bool wide = false; ///< positions take 64 bits
  int chunk() const { return threads * items; }
  std::string position() const { return wide ? "long long" : "int"; }
};
SortPlan planSort(int64_t most, int64_t keyBytes);
/// What is sorted: how keys are made in the text, over buffers and scalars of its own.
struct SortSource {
  std::string name;   ///< of the launches
  std::string header; ///< that has what is used here
  std::string key;    ///< type of keys
  std::string maker;  ///< an expression: (line, i) -> key
  std::string keep;   ///< how many of each line are needed, as an expression
  llvm::SmallVector<LibraryKernel::Buffer> buffers;
  llvm::SmallVector<LibraryKernel::Scalar> scalars;
};
/// Keys and positions in two pairs of buffers, between which passes of merging go to and fro: in the first one after an
/// even number of them (merge_passes() of the device library).
struct SortBuffers {
  int keys[2], positions[2];
};
/// Appends the launches that sort lines.
SortBuffers emitSort(LibraryKernel &kernel, const SortPlan &plan, const SortSource &source, const Axis &axis);

} // namespace tcc::codegen::cuda
