// Runs a package with the runtime alone: no compiler, no LLVM, no ONNX.
// usage: run_package MODEL.tcc N     on N floats: 0, 1, 2, ...
#include <tcc/runtime.h>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: run_package MODEL.tcc N\n";
    return 2;
  }
  // A package is executable code: load only those you trust.
  const absl::StatusOr<tcc::LoadedPackage> model = tcc::LoadPackage(argv[1]);
  if (!model.ok()) {
    std::cerr << model.status().message() << "\n";
    return 2;
  }
  std::vector<float> values(static_cast<size_t>(std::atoi(argv[2])));
  std::iota(values.begin(), values.end(), 0.0f);
  const int64_t dims[] = {static_cast<int64_t>(values.size())};
  // The memory stays the caller's.
  const absl::StatusOr<std::vector<tcc::Tensor>> outputs =
      (*model)({tcc::Tensor::Wrap(values.data(), tcc::DType::kF32, dims)});
  if (!outputs.ok()) {
    std::cerr << outputs.status().message() << "\n";
    return 1;
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    std::cout << model->output_names()[i] << ": " << tcc::DebugString((*outputs)[i]) << "\n";
  }
}
