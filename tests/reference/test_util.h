// Small tensors in, small lists out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/dispatch.h"
#include "runtime/float_types.h"
#include "runtime/reference/reference.h"

namespace tcc::reference {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline const float kNan = std::numeric_limits<float>::quiet_NaN();

// A tensor of C++ type T; bool takes 0 and 1.
template <typename T>
Tensor Make(std::vector<int64_t> dims, std::vector<T> values) {
  Tensor t = *Tensor::Allocate(kDTypeOf<T>, dims);
  EXPECT_EQ(t.num_elements(), static_cast<int64_t>(values.size()));
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data_as<T>()[i] = values[i];
  return t;
}
inline Tensor Floats(std::vector<int64_t> dims, std::vector<float> values) { return Make<float>(dims, values); }
inline Tensor Longs(std::vector<int64_t> dims, std::vector<int64_t> values) { return Make<int64_t>(dims, values); }
// Numbers in any dtype but strings and complex.
inline Tensor Typed(DType dtype, std::vector<int64_t> dims, std::vector<double> values) {
  Tensor t = *Tensor::Allocate(dtype, dims);
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsFloat(dtype)) {
      StoreDouble(t.data(), dtype, i, values[i]);
    } else {
      StoreInt(t.data(), dtype, i, static_cast<int64_t>(values[i]));
    }
  }
  return t;
}
// 0, 1, 2, ... as float32.
inline Tensor Ramp(std::vector<int64_t> dims) {
  Tensor t = *Tensor::Allocate(DType::kF32, dims);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data_as<float>()[i] = static_cast<float>(i);
  return t;
}

// The same elements under other strides: transposed storage, or every second element of a larger buffer, reversed.
inline Tensor Reordered(const Tensor& x) {
  Dims dims(x.dims().rbegin(), x.dims().rend());
  Tensor storage = *Tensor::Allocate(x.dtype(), dims);
  Dims strides = storage.strides();
  std::reverse(strides.begin(), strides.end());
  Tensor view = storage.View(x.dims(), strides, 0);
  const size_t width = DTypeBytes(x.dtype(), 1);
  int64_t flat = 0;
  std::vector<int64_t> index(x.rank(), 0);
  for (int64_t n = 0; n < x.num_elements(); ++n, ++flat) {
    int64_t at = 0;
    for (int a = 0; a < x.rank(); ++a) at += index[a] * strides[a];
    std::memcpy(static_cast<char*>(view.data()) + at * width, static_cast<char*>(x.data()) + flat * width, width);
    for (int a = x.rank() - 1; a >= 0 && ++index[a] == x.dim(a); --a) index[a] = 0;
  }
  return view;
}

// All elements, row-major, of any numeric dtype.
inline std::vector<double> Values(const Tensor& x) {
  Tensor packed = *x.Contiguous();
  std::vector<double> values;
  for (int64_t i = 0; i < packed.num_elements(); ++i) {
    values.push_back(IsFloat(x.dtype()) ? LoadDouble(packed.data(), x.dtype(), i)
                                        : static_cast<double>(LoadInt(packed.data(), x.dtype(), i)));
  }
  return values;
}
template <typename T>
std::vector<T> List(const Tensor& x) {
  Tensor packed = *x.Contiguous();
  EXPECT_EQ(x.dtype(), kDTypeOf<T>);
  return std::vector<T>(packed.data_as<T>(), packed.data_as<T>() + packed.num_elements());
}
inline std::vector<int64_t> DimsOf(const Tensor& x) { return {x.dims().begin(), x.dims().end()}; }

inline absl::StatusOr<std::vector<Tensor>> Try(std::string_view op, std::vector<Tensor> inputs,
                                               const Attributes& attributes = {},
                                               std::vector<TensorType> results = {}) {
  const Kernel kernel = Find(op);
  if (kernel == nullptr) return absl::NotFoundError("no such kernel");
  return kernel(Call{inputs, attributes, results});
}
inline std::vector<Tensor> EvalAll(std::string_view op, std::vector<Tensor> inputs, const Attributes& attributes = {},
                                   std::vector<TensorType> results = {}) {
  auto outputs = Try(op, std::move(inputs), attributes, std::move(results));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {Tensor::Scalar(0.f), Tensor::Scalar(0.f), Tensor::Scalar(0.f), Tensor::Scalar(0.f)};
  return *outputs;
}
inline Tensor Eval(std::string_view op, std::vector<Tensor> inputs, const Attributes& attributes = {},
                   std::vector<TensorType> results = {}) {
  return EvalAll(op, std::move(inputs), attributes, std::move(results))[0];
}
inline std::string ErrorOf(std::string_view op, std::vector<Tensor> inputs, const Attributes& attributes = {},
                           std::vector<TensorType> results = {}) {
  auto outputs = Try(op, std::move(inputs), attributes, std::move(results));
  return outputs.ok() ? "" : std::string(outputs.status().message());
}

using Numbers = std::vector<double>;
using Strings = std::vector<std::string>;
using Ints = std::vector<int64_t>;

inline void ExpectNear(const Tensor& x, const std::vector<double>& want, double tolerance = 1e-6) {
  const std::vector<double> have = Values(x);
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(have[i])) << "element " << i << " is " << have[i];
    } else if (std::isinf(want[i])) {
      EXPECT_EQ(have[i], want[i]) << "element " << i;
    } else {
      EXPECT_NEAR(have[i], want[i], tolerance) << "element " << i;
    }
  }
}

}  // namespace tcc::reference
