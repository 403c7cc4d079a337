// One compilation for all batch sizes: the first extent of every input is marked dynamic, with a range.
// usage: dynamic_shapes MODEL.onnx     (inputs of float32 whose first extent is the batch)
#include <tcc/tcc.h>

#include <algorithm>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: dynamic_shapes MODEL.onnx\n";
    return 2;
  }
  const absl::StatusOr<tcc::Model> file = tcc::Load(argv[1]);
  const absl::StatusOr<tcc::Callable> plain = tcc::Compile(file);
  if (!plain.ok()) {
    std::cerr << plain.status().message() << "\n";
    return 2;
  }
  tcc::Options options;
  for (const tcc::TensorInfo& input : plain->inputs()) {
    tcc::DynamicSpec spec;
    spec.input = input.name;
    spec.dims.resize(input.type.dims.size());  // nothing said: static first, a symbol when it changes
    spec.dims[0].kind = tcc::DimSpec::Kind::kDynamic;
    spec.dims[0].name = "batch";  // extents of one name are equal
    spec.dims[0].min = 1;
    spec.dims[0].max = 64;
    options.dynamic.push_back(spec);
  }
  const absl::StatusOr<tcc::Callable> model = tcc::Compile(file, options);
  if (!model.ok()) {
    std::cerr << model.status().message() << "\n";
    return 2;
  }
  for (const int64_t batch : {1, 7, 64}) {
    std::vector<tcc::Tensor> inputs;
    for (const tcc::TensorInfo& input : model->inputs()) {
      tcc::Dims dims = input.type.dims;
      dims[0] = batch;
      for (int64_t& dim : dims) dim = dim < 0 ? 3 : dim;
      absl::StatusOr<tcc::Tensor> tensor = tcc::Tensor::Allocate(tcc::DType::kF32, dims);
      if (!tensor.ok()) return 1;
      std::fill_n(tensor->data_as<float>(), tensor->num_elements(), static_cast<float>(batch));
      inputs.push_back(*std::move(tensor));
    }
    const absl::StatusOr<std::vector<tcc::Tensor>> outputs = (*model)(inputs);
    if (!outputs.ok()) {
      std::cerr << outputs.status().message() << "\n";
      return 1;
    }
    std::cout << "batch " << batch << ": " << outputs->front().type().ToString() << "\n";
  }
  const tcc::Explanation explanation = model->Explain();
  std::cout << explanation.graphs.size() << " compilation\n";
  return explanation.graphs.size() == 1 ? 0 : 1;
}
