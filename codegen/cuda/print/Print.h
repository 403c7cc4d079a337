//===- Print.h - scheduled functions to CUDA C++ text -------------*- C++ -*-===//
//
// The text is meant to be read: values are named by their role, single-use pure expressions are inlined, nothing is
// evaluated in another order or precision than the function says. It is deterministic, includes "tcc/device.cuh" and
// nothing else, and is the same for NVRTC and for the simulated device.
//
// What is printed
//  - `func.func` over memref<?xT>, then index scalars (parameters `long long`), then optionally memref<?xi64> for the
//    error word, and memref<?xi32> for counters. Attributes of a kernel: tcc.block = [x, y, z] (array<i64>),
//    tcc.min_blocks (integer), tcc.index_bits (32 or 64, default 64), tcc.sources (array of strings) and tcc.schedule,
//    tcc.grid (strings) for the header comment, tcc.may_alias (unit: no __restrict__), tcc.strict (unit: no contraction
//    to fused multiply-add; products are printed as __fmul_rn/__dmul_rn, which CUDA never contracts; otherwise
//    contraction is left to the compiler). Argument attributes: tcc.name (string), a name for people, sanitised;
//    tcc.other_threads (unit), of a buffer in which threads read what others write: no __restrict__.
//  - types: i1 (bool; `unsigned char` holding 0 or 1 in memory), i8 (`signed char`), i16, i32, i64, index (`int` or
//    `long long`), f32, f64; f16 and bf16 are only moved and converted (extf, truncf, bitcast, select): computing in
//    them is refused. vector<NxT> of these (tcc::Vec<T, N> of 1,
//    2, 4, 8 or 16 bytes, other sizes tcc::Lanes<T, N>: in registers only).
//  - gpu: thread_id, block_id, block_dim, grid_dim, global_id, lane_id, barrier, shuffle (its value, not its validity).
//  - scf: for (iter_args; index, i32, i64; unit or integer attribute tcc.unroll), if (results), while.
//  - arith: all but the extended multiplications and additions. math: absf absi acos acosh asin asinh atan atan2
//    atanh cbrt ceil copysign cos cosh erf exp exp2 expm1 floor fma log log10 log1p log2 powf round roundeven rsqrt
//    sin sinh sqrt tan tanh trunc (CUDA's accurate functions), ctlz, cttz, ctpop.
//  - memref: load, store, alloca of static shape (#gpu.address_space<workgroup>: __shared__, otherwise local; any
//    rank), cast, view, subview and reinterpret_cast of rank 1 and stride 1, dim of static extents, atomic_rmw.
//  - vector: load, store (aligned to the vector: the schedule promises it), broadcast, splat, extract, insert,
//    extractelement, insertelement, from_elements, shuffle, reduction, fma; element-wise arith and math.
//  - func.call: a device-library function, whose C++ name is the callee's attribute tcc.device_name (template arguments
//    included; several results come from a struct, in order of its members), or a tcc.device_function of the module,
//    which is printed before the kernel. Calls are statements in the order of the function, never moved or made
//    conditional, so collective ones are safe. A pointer parameter that the callee only reads has the argument
//    attribute tcc.readonly.
//  - a discardable attribute tcc.name on an op names its result.
// Anything else is an error at the op.
//
// What the function promises: no index that is computed from ids of threads and blocks, loop counters, constants and
// index arguments alone overflows the width of tcc.index_bits, in threads that do nothing with it included: such
// arithmetic is printed as plain signed arithmetic. All other integer arithmetic wraps, and is printed as unsigned
// where C++ does not say so of signed. Shifts mask variable amounts. Division has MLIR's conditions.
//
// Strict or not, the text is to be compiled without --use_fast_math (options of CUDA compilers by default: IEEE
// division and square roots, denormals kept), by clang with -ffp-contract=off or on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tcc::codegen {

/// The whole text of a kernel: header comment, include, device functions it calls, `extern "C" __global__` function.
/// Errors are diagnostics at the op that cannot be printed. Not modified: the function. Thread safe for functions of
/// different modules.
mlir::FailureOr<std::string> printCudaKernel(mlir::func::FuncOp kernel);

/// A device function by itself: `static __device__ __forceinline__ T NAME(...)`, with no include. Several results are
/// returned as a struct NAME_results with members r0, r1, .... The text does not hold functions it calls.
mlir::FailureOr<std::string> printCudaFunction(mlir::func::FuncOp function);

/// The same as a functor, for the prologue or epilogue of a template: `struct NAME { T a; ... __device__
/// __forceinline__ R operator()(U b, ...) const {...} };` The first `members` arguments are members (what does not
/// change from call to call: buffers, scalars), the others parameters.
mlir::FailureOr<std::string> printCudaFunctor(mlir::func::FuncOp function, unsigned members);

/// Only the statements of a function, for a caller that prints what is around them.
struct CudaBody {
  std::string statements;           ///< whole lines, indented
  std::vector<std::string> results; ///< expressions of what the function returns, valid after the statements
};
/// `arguments` are the C++ expressions of the arguments: names, of the printed type of each (index: `int` or `long
/// long` by tcc.index_bits), that are not assigned in between. Names that the body defines end in `suffix`, to be
/// distinct from those around.
mlir::FailureOr<CudaBody> printCudaBody(mlir::func::FuncOp function, llvm::ArrayRef<std::string> arguments,
                                        unsigned indent, llvm::StringRef suffix);

} // namespace tcc::codegen
