//===- Compare.cpp - element by element -----------------------------------===//
#include "frontend/onnx/import/tool/Compare.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/reference/reference.h"

namespace tcc::onnx {

static absl::StatusOr<Tensor> asDouble(const Tensor &x) {
  const reference::Kernel cast = reference::Find("cast");
  Attributes attributes{{"saturate", int64_t{1}}};
  TensorType type{DType::kF64, x.dims()};
  absl::StatusOr<std::vector<Tensor>> result = cast({{&x, 1}, attributes, {&type, 1}});
  if (!result.ok())
    return result.status();
  return (*result)[0].Contiguous();
}

std::string difference(const Tensor &have, const Tensor &want, double rtol, double atol) {
  if (have.dtype() != want.dtype() || have.dims() != want.dims())
    return absl::StrCat("is ", have.type().ToString(), ", expected ", want.type().ToString());
  if (have.dtype() == DType::kString) {
    for (int64_t i = 0; i < have.num_elements(); ++i)
      if (have.data_as<std::string>()[i] != want.data_as<std::string>()[i])
        return absl::StrCat("element ", i, " is '", have.data_as<std::string>()[i], "', expected '",
                            want.data_as<std::string>()[i], "'");
    return "";
  }
  if (!IsFloat(have.dtype())) {
    absl::StatusOr<Tensor> a = have.Contiguous(), b = want.Contiguous();
    if (!a.ok() || !b.ok())
      return "cannot be read";
    return std::memcmp(a->data(), b->data(), a->bytes()) == 0
               ? ""
               : absl::StrCat("is ", DebugString(*a), ", expected ", DebugString(*b));
  }
  absl::StatusOr<Tensor> a = asDouble(have), b = asDouble(want);
  if (!a.ok() || !b.ok())
    return std::string(a.ok() ? b.status().message() : a.status().message());
  double worst = 0;
  int64_t at = -1;
  for (int64_t i = 0; i < a->num_elements(); ++i) {
    double x = a->data_as<double>()[i], y = b->data_as<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double error = std::abs(x - y), allowed = std::abs(y) * rtol + atol;
    if (!(error <= allowed) && (at < 0 || error > worst)) {
      worst = error;
      at = i;
    }
  }
  if (at < 0)
    return "";
  return absl::StrCat("element ", at, " is ", a->data_as<double>()[at], ", expected ", b->data_as<double>()[at]);
}

} // namespace tcc::onnx
