#include "codegen/cpu/gemm/Schedule.h"
namespace tcc::codegen::gemm {
bool canScheduleConv(const TemplateKernel &) { return false; }
mlir::FailureOr<KernelCode> scheduleConv(KernelBuilder &) { return mlir::failure(); }
} // namespace tcc::codegen::gemm
