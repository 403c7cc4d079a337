#include "compiler/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "runtime/dispatch.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// Complex numbers as pairs.
double Element(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kC64) return tensor.data_as<float>()[i];
  if (tensor.dtype() == DType::kC128) return tensor.data_as<double>()[i];
  return LoadDouble(tensor.data(), tensor.dtype(), i);
}

}  // namespace

double RoundingOf(Precision precision) {
  if (precision == Precision::kBF16) return 1e-1;
  if (precision == Precision::kF16 || precision == Precision::kTF32) return 2e-2;  // as many bits of mantissa
  return 0;
}

absl::StatusOr<double> RelativeError(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims() || actual.dtype() == DType::kString) {
    const absl::Status status = CompareTensors(actual, expected, Tolerance());
    if (!status.ok()) return status;
    return 0;
  }
  TCC_ASSIGN_OR_RETURN(const Tensor a, actual.Contiguous());
  TCC_ASSIGN_OR_RETURN(const Tensor b, expected.Contiguous());
  double worst = 0, scale = 0;
  const int64_t count = a.num_elements() * (IsComplex(a.dtype()) ? 2 : 1);
  for (int64_t i = 0; i < count; ++i) {
    const double got = Element(a, i), want = Element(b, i);
    if (got == want || (std::isnan(got) && std::isnan(want))) continue;
    const double error = std::abs(got - want);
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double want = std::abs(Element(b, i));
    if (std::isfinite(want)) scale = std::max(scale, want);
  }
  return worst == 0 ? 0 : scale == 0 ? worst : worst / scale;
}

absl::Status CompareTensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims()) {
    return absl::DataLossError(
        absl::StrCat("is ", actual.type().ToString(), ", expected ", expected.type().ToString()));
  }
  TCC_ASSIGN_OR_RETURN(const Tensor a, actual.Contiguous());
  TCC_ASSIGN_OR_RETURN(const Tensor b, expected.Contiguous());
  if (a.dtype() == DType::kString) {
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      const std::string &got = a.data_as<std::string>()[i], &want = b.data_as<std::string>()[i];
      if (got != want)
        return absl::DataLossError(absl::StrCat("element ", i, " is '", got, "', expected '", want, "'"));
    }
    return absl::OkStatus();
  }
  if (IsInteger(a.dtype())) {
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      const int64_t got = LoadInt(a.data(), a.dtype(), i), want = LoadInt(b.data(), b.dtype(), i);
      const double bound = tolerance.atol + tolerance.rtol * std::abs(static_cast<double>(want));
      if (got != want && !(std::abs(static_cast<double>(got) - static_cast<double>(want)) <= bound)) {
        return absl::DataLossError(absl::StrCat("element ", i, " is ", got, ", expected ", want));
      }
    }
    return absl::OkStatus();
  }
  // Two results that differ by rounding are one unit in the last place apart: up to 2^-10 of the value in float16, 2^-7
  // in bfloat16. Two units, as ONNX's expected values were rounded after each operation of a decomposition, and ours
  // were not.
  double rtol = tolerance.rtol;
  if (a.dtype() == DType::kF16) rtol = std::max(rtol, 2.0 / 1024);
  if (a.dtype() == DType::kBF16) rtol = std::max(rtol, 2.0 / 128);
  const bool complex = IsComplex(a.dtype());
  const int64_t count = a.num_elements() * (complex ? 2 : 1);
  // What cancels leaves an error of the size of its terms, not of the result: where 0 is exact, a result may be some
  // 1e-7 of the output's magnitude. (Expected values are like that too: ONNX's inverse DFT has 1.9e-7 for an exact 0.)
  double magnitude = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(Element(b, i))) magnitude = std::max(magnitude, std::abs(Element(b, i)));
  }
  const double atol = std::max(tolerance.atol, tolerance.scaled_atol * magnitude);
  int64_t wrong = 0, worst = -1;
  double worst_error = -1;
  for (int64_t i = 0; i < count; ++i) {
    const double got = Element(a, i), want = Element(b, i);
    if (got == want || (std::isnan(got) && std::isnan(want))) continue;
    const double error = std::abs(got - want);
    if (error <= atol + rtol * std::abs(want)) continue;
    ++wrong;
    const double rank = std::isnan(error) ? INFINITY : error;
    if (rank > worst_error) {
      worst_error = rank;
      worst = i;
    }
  }
  if (wrong == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(wrong, " of ", count, " elements of ", actual.type().ToString(),
                                          " differ; the worst, element ", worst, ", is ", Element(a, worst),
                                          ", expected ", Element(b, worst)));
}

}  // namespace tcc
