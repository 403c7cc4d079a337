//===- tcc_opt.cpp - the MLIR pass driver of tcc ---------------------------===//
//
// Reads MLIR, runs the passes named on the command line, prints MLIR. Only what the compiler uses is registered: the
// header that registers all of MLIR costs a minute of compile time.
//
// Example: tcc-opt --tcc-simplify-shapes --canonicalize model.mlir
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/loops/Passes.h"
#include "codegen/cuda/print/Passes.h"
#include "codegen/fusion/Passes.h"
#include "ir/Dialect.h"
#include "ir/transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<tcc::ir::TCCDialect, mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  tcc::ir::registerPasses();
  tcc::codegen::registerTccFusionPasses();
  tcc::codegen::registerPrintCudaPass();
  tcc::codegen::registerScheduleCudaPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "The pass driver of tcc\n", registry));
}
