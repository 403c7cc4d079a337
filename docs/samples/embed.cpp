// The smallest program that embeds tcc: runs a model on ones.
// usage: embed MODEL.onnx
#include <tcc/tcc.h>

#include <algorithm>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: embed MODEL.onnx\n";
    return 2;
  }
  // Reads the model's interface; nothing is compiled yet.
  absl::StatusOr<tcc::Callable> model = tcc::Compile(tcc::Load(argv[1]));
  if (!model.ok()) {
    std::cerr << model.status().message() << "\n";
    return 2;
  }
  std::vector<tcc::Tensor> inputs;
  for (const tcc::TensorInfo& input : model->inputs()) {
    tcc::Dims dims = input.type.dims;
    for (int64_t& dim : dims) dim = dim < 0 ? 3 : dim;  // an extent that the model leaves open
    absl::StatusOr<tcc::Tensor> tensor = tcc::Tensor::Allocate(input.type.dtype, dims);
    if (!tensor.ok() || input.type.dtype != tcc::DType::kF32) {
      std::cerr << "input " << input.name << " is not of float32\n";
      return 2;
    }
    std::fill_n(tensor->data_as<float>(), tensor->num_elements(), 1.0f);
    inputs.push_back(*std::move(tensor));
  }
  // The first call compiles, or finds the model in the cache. Any number of threads may call at once.
  absl::StatusOr<std::vector<tcc::Tensor>> outputs = (*model)(inputs);
  if (!outputs.ok()) {
    std::cerr << outputs.status().message() << "\n";
    return 1;
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    std::cout << model->output_names()[i] << ": " << (*outputs)[i].type().ToString() << "\n";
  }
  for (const tcc::GraphInfo& graph : model->Explain().graphs) {
    std::cout << graph.kernels.size() << " kernels, " << (graph.cache_hit ? "from the cache\n" : "compiled now\n");
  }
}
