//===- Schedule.cpp -------------------------------------------------------===//
#include "codegen/cuda/gemm/Schedule.h"

#include "codegen/cuda/gemm/NarrowIntegers.h"
#include "codegen/cuda/gemm/SearchSpace.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {

static bool supportedElement(Type element) { return isa<Float32Type, Float64Type, Float16Type, BFloat16Type>(element); }

static bool supported(const gemm::TemplateKernel &kernel, const CudaDescription &device) {
  // The product's operands are of one type; prologue and epilogue may have others.
  Type first = kernel.operands[0].element;
  unsigned products = isa<ir::AttentionOp>(kernel.op) ? 3 : 2;
  bool integers = first.isInteger(32) && products == 2;
  for (unsigned i = 0; i < products; ++i) {
    const gemm::Operand &operand = kernel.operands[i];
    if ((!integers && !supportedElement(operand.element)) || operand.element != first)
      return false;
    // What is computed of integers before they are multiplied is what tensor cores take.
    if (integers && !operand.offset && !narrowOf(operand))
      return false;
  }
  if (kernel.resultElement() != first)
    return false;
  auto known = [](Type type) {
    Type element = cast<RankedTensorType>(type).getElementType();
    return supportedElement(element) ||
           (isa<IntegerType>(element) && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, element.getIntOrFloatBitWidth()));
  };
  if (!llvm::all_of(kernel.kernel->getResultTypes(), known) ||
      !llvm::all_of(kernel.kernel.getBody().getArgumentTypes(), known))
    return false;
  if (isa<ir::ConvOp, ir::ConvTransposeOp>(kernel.op))
    return canScheduleConv(kernel);
  if (isa<ir::AttentionOp>(kernel.op))
    return canScheduleAttention(kernel, device);
  return true;
}

bool canSchedule(ir::KernelOp kernel, const CudaDescription &device) {
  auto found = gemm::TemplateKernel::analyze(kernel);
  return found && supported(*found, device);
}

FailureOr<KernelCode> schedule(ir::KernelOp kernel, ConstantInputs constants, CudaBackend &backend,
                               ScheduleOptions options) {
  auto found = gemm::TemplateKernel::analyze(kernel);
  if (!found || !supported(*found, backend.device()))
    return kernel.emitError("no CUDA schedule for this kernel: its template op, or an op fused with it, is of a form "
                            "that the templates do not know");
  KernelBuilder builder(*found, constants, backend);
  if (isa<ir::MatmulOp>(found->op))
    return scheduleMatmul(builder, options);
  if (isa<ir::AttentionOp>(found->op))
    return scheduleAttention(builder);
  return scheduleConv(builder, options);
}

CudaTemplate templateSchedule(ScheduleOptions options) {
  return {{"template", canSchedule,
           [options](ir::KernelOp kernel, ConstantInputs constants, CudaBackend &backend) {
             return schedule(kernel, constants, backend, options);
           }},
          [options](ir::KernelOp kernel, const CudaDescription &device, ArrayRef<int64_t> symbols) {
            return templateSpace(kernel, device, symbols, options);
          }};
}

} // namespace tcc::codegen::cuda
