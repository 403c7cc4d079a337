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

def FuseSiblingsPass : Pass<"tcc-fuse-siblings", "::mlir::func::FuncOp"> {
  let summary = "Merges kernels that read the same tensor and do not need each other, so that it is read once";
  let description = [{
    `relu(x)` and `sigmoid(x)`, or the mean and the maximum of x, become one kernel with two results. Its loops are those that both have:
    over equal extents, with equal maps of what they share, neither masked nor gathering, and with one dimension along which everything is
    vectorised. What is shared is large, and a good part of what the two move. The kernel stands where all that it reads is there and
    nothing has read its results yet; if its results then live longer, only for a few ops. Loops side by side within one kernel, which
    tcc-fuse-kernels leaves behind, are merged in the same way.

    It runs after tcc-fuse-kernels: a merged kernel has several readers, and would not go into its consumers any more.
  }];
  let options = [
    Option<"maxInputs", "max-inputs", "unsigned", "24", "most inputs of a merged kernel">,
    Option<"maxOps", "max-ops", "unsigned", "400", "most scalar ops of a merged kernel">,
    Option<"leastBytes", "least-bytes", "uint64_t", "32768",
           "what both read is known to be less than this: they stay apart, as it is still in the nearest cache for the second">
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
