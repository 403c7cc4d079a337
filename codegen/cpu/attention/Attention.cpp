#include "codegen/cpu/gemm/Schedule.h"
namespace tcc::codegen::gemm {
bool canScheduleAttention(const TemplateKernel &) { return false; }
mlir::FailureOr<KernelCode> scheduleAttention(KernelBuilder &) { return mlir::failure(); }
} // namespace tcc::codegen::gemm
