#pragma once

#include <random>

#include "runtime/tensor.h"

namespace tcc {

// Float32 in [-1, 1).
inline Tensor RandomTensor(const Dims& dims, unsigned seed) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, dims);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data_as<float>()[i] = distribution(generator);
  return tensor;
}

}  // namespace tcc
