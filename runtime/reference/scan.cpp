#include "runtime/reference/scan.h"

#include "runtime/reference/lines.h"

namespace tcc::reference {
namespace {

template <typename T, typename A, typename F>
void ScanLines(const Tensor& x, const Tensor& y, int axis, bool exclusive, bool reverse, A identity, F combine) {
  const int64_t n = x.dim(axis);
  ForEachLine(x.dims(), axis, x.strides(), y.strides(), [&](int64_t from, int64_t to) {
    int64_t dx = x.strides()[axis], dy = y.strides()[axis];
    const T* xs = x.data_as<T>() + from;
    T* ys = y.data_as<T>() + to;
    if (reverse && n > 0) {
      xs += (n - 1) * dx;
      ys += (n - 1) * dy;
      dx = -dx;
      dy = -dy;
    }
    A value = identity;
    for (int64_t i = 0; i < n; ++i) {
      const A next = combine(value, static_cast<A>(xs[i * dx]));
      ys[i * dy] = static_cast<T>(exclusive ? value : next);
      value = next;
    }
  });
}

}  // namespace

Results ScanTensor(const Tensor& x, const std::string& kind, int axis, bool exclusive, bool reverse) {
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), x.dims()));
  TCC_RETURN_IF_ERROR(Dispatch(Numbers(), x.dtype(), [&]<typename T>() -> absl::Status {
    using A = std::conditional_t<std::is_same_v<T, float>, double, T>;
    const auto run = [&]<typename W>(W identity, auto combine) {
      ScanLines<T>(x, y, axis, exclusive, reverse, identity, combine);
      return absl::OkStatus();
    };
    if (kind == "sum") return run(A(0), [](A a, A b) { return WrapAdd(a, b); });
    if (kind == "prod") return run(A(1), [](A a, A b) { return WrapMul(a, b); });
    if (kind == "max") return run(LowestValue<T>(), [](T a, T b) { return MaxOf(a, b); });
    if (kind == "min") return run(HighestValue<T>(), [](T a, T b) { return MinOf(a, b); });
    return Invalid("kind '", kind, "' is none of sum, prod, max, min");
  }));
  return One(std::move(y));
}

Results Scan(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const std::string kind, call.attributes.String("kind"));
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", call.inputs[0].rank()));
  TCC_ASSIGN_OR_RETURN(const bool exclusive, Flag(call, "exclusive"));
  TCC_ASSIGN_OR_RETURN(const bool reverse, Flag(call, "reverse"));
  return ScanTensor(call.inputs[0], kind, axis, exclusive, reverse);
}

}  // namespace tcc::reference
