#pragma once

#include "tests/onnx_program/models.h"
#include "tests/runtime/random_tensor.h"

namespace tcc::onnx::testing {

// A float initializer of random numbers.
inline void AddWeights(::onnx::GraphProto& graph, const std::string& name, const Dims& dims, unsigned seed) {
  const Tensor values = RandomTensor(dims, seed);
  ::onnx::TensorProto& tensor =
      AddInitializer(graph, name, {values.data_as<float>(), values.data_as<float>() + values.num_elements()});
  tensor.clear_dims();
  for (int64_t dim : dims) tensor.add_dims(dim);
}

}  // namespace tcc::onnx::testing
