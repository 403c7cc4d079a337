//===- Passes.td - passes from level 1 to kernels --------------------------===//
#ifndef TCC_CODEGEN_FUSION_PASSES
#define TCC_CODEGEN_FUSION_PASSES

include "mlir/Pass/PassBase.td"

//===- Kernels -------------------------------------------------------------===//

def LowerToKernelsPass : Pass<"tcc-lower-to-kernels", "::mlir::func::FuncOp"> {
  let summary = "Turns every level-1 op that has a form as loops into a tcc.kernel of its own";
  let description = [{
    `%y = tcc.exp %x` becomes a tcc.kernel with one tcc.loops whose body loads an element, and yields math.exp of it. Contractions
    stay template ops inside their kernel. Ops without a form as loops, and kernels that the target cannot compile, stay level-1 ops:
    they run as library kernels. tcc.reshape stays too: between kernels it is a view, and fusion looks through it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FuseKernelsPass : Pass<"tcc-fuse-kernels", "::mlir::func::FuncOp"> {
  let summary = "Merges kernels with their producers where that saves memory traffic";
  let description = [{
    A producer's loops are inlined into the loads that read them: affine maps compose, masks conjoin. Elementwise and view kernels
    fuse into everything, contractions and normalisations take what follows them elementwise as their epilogue. A value that several
    kernels read is computed again only where that is cheap; otherwise the merged kernel yields it as well.
  }];
  let options = [
    Option<"maxInputs", "max-inputs", "unsigned", "24", "most inputs of a fused kernel">,
    Option<"maxOps", "max-ops", "unsigned", "400", "most scalar ops of a fused kernel">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def VerifyKernelsPass : Pass<"tcc-verify-kernels", "::mlir::func::FuncOp"> {
  let summary = "Checks what schedules rely on: the border between fusion and scheduling";
  let description = [{
    Loads stay inside their tensors wherever extents are known; tensors inside kernels have signless element types; a kernel holds at
    most one template op; loops read only arguments of their kernel and results of what comes before; no loops are dead.
  }];
}

#endif
