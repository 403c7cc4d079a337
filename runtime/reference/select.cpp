#include "runtime/reference/support.h"

namespace tcc::reference {

Results Select(const Call& call) {
  const Tensor& condition = call.inputs[0];
  const Tensor& a = call.inputs[1];
  const Tensor& b = call.inputs[2];
  TCC_RETURN_IF_ERROR(CheckDType(condition, DType::kBool, "the condition"));
  TCC_RETURN_IF_ERROR(CheckSameDims(condition, a));
  TCC_RETURN_IF_ERROR(CheckSameDims(a, b));
  TCC_RETURN_IF_ERROR(CheckDType(b, a.dtype(), "the second value"));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(a.dtype(), a.dims()));
  TCC_RETURN_IF_ERROR(DispatchWidth(a.dtype(), [&]<typename T>() -> absl::Status {
    for (Runs runs(a.dims(), {condition.strides(), a.strides(), b.strides(), y.strides()}); runs.more(); runs.Next()) {
      const Bool* cs = condition.data_as<Bool>() + runs.offset(0);
      const T* as = a.data_as<T>() + runs.offset(1);
      const T* bs = b.data_as<T>() + runs.offset(2);
      T* ys = y.data_as<T>() + runs.offset(3);
      const int64_t n = runs.length(), dc = runs.step(0), da = runs.step(1), db = runs.step(2), dy = runs.step(3);
      for (int64_t i = 0; i < n; ++i) ys[i * dy] = cs[i * dc] ? as[i * da] : bs[i * db];
    }
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

}  // namespace tcc::reference
