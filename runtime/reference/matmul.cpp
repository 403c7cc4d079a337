#include "runtime/reference/gemm.h"

namespace tcc::reference {

Results Matmul(const Call& call) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  const int rank = a.rank();
  if (rank < 2 || b.rank() != rank) {
    return Invalid("operands must have one rank of 2 or more, got ", DimsText(a.dims()), " and ", DimsText(b.dims()));
  }
  TCC_RETURN_IF_ERROR(CheckDType(b, a.dtype(), "the second operand"));
  const Extents batch = Extents(a.dims()).first(rank - 2);
  if (batch != Extents(b.dims()).first(rank - 2) || a.dim(rank - 1) != b.dim(rank - 2)) {
    return Invalid("extents ", DimsText(a.dims()), " and ", DimsText(b.dims()), " do not multiply");
  }
  Dims dims = a.dims();
  dims[rank - 1] = b.dim(rank - 1);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(a.dtype(), dims));
  if (y.num_elements() == 0) return One(std::move(y));
  TCC_RETURN_IF_ERROR(Dispatch(Numbers() + Complexes(), a.dtype(), [&]<typename T>() -> absl::Status {
    const auto matrix = [&](const Tensor& t, const Counter& at) {
      return t.View(Extents(t.dims()).subspan(rank - 2), Extents(t.strides()).subspan(rank - 2),
                    at.Offset(Extents(t.strides()).first(rank - 2)));
    };
    for (Counter at(batch); at.more(); at.Next()) GemmTensors<T>(matrix(a, at), matrix(b, at), matrix(y, at));
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

}  // namespace tcc::reference
