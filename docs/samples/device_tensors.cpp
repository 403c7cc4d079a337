// Tensors that stay on the device: outputs that a call leaves there, inputs that are there already, memory of the
// caller for outputs. usage: device_tensors MODEL.onnx [TARGET]     (inputs of float32; "cuda", or "cuda-sim")
#include <tcc/tcc.h>

#include <algorithm>
#include <iostream>
#include <vector>

namespace {

int Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: device_tensors MODEL.onnx [TARGET]\n";
    return 2;
  }
  tcc::Options options;
  options.target = argc > 2 ? argv[2] : "cuda";
  const absl::StatusOr<tcc::Callable> model = tcc::Compile(tcc::Load(argv[1]), options);
  if (!model.ok()) return Fail(model.status());
  std::vector<tcc::Tensor> inputs;
  for (const tcc::TensorInfo& input : model->inputs()) {
    absl::StatusOr<tcc::Tensor> tensor = tcc::Tensor::Allocate(tcc::DType::kF32, input.type.dims);
    if (!tensor.ok()) return Fail(tensor.status());
    std::fill_n(tensor->data_as<float>(), tensor->num_elements(), 1.0f);
    inputs.push_back(*std::move(tensor));
  }

  // What the device computes stays there, until the last copy of the tensor goes. tcc::ToDLPack hands it to PyTorch or
  // CuPy without a copy, and tcc::FromDLPack takes theirs as inputs; `stream` would be theirs, too.
  tcc::RunOptions stays;
  stays.outputs_on_device = true;
  const absl::StatusOr<std::vector<tcc::Tensor>> first = (*model)(inputs, stays);
  if (!first.ok()) return Fail(first.status());
  const bool on_device = first->front().device().type != tcc::DeviceType::kCpu;
  std::cout << "outputs " << (on_device ? "on the device" : "on the host") << "\n";

  // The next call writes into the same memory. (A KV cache is updated so.)
  tcc::RunOptions same;
  same.outputs = *first;
  const absl::StatusOr<std::vector<tcc::Tensor>> second = (*model)(inputs, same);
  if (!second.ok()) return Fail(second.status());
  std::cout << "in place: " << (second->front().data() == first->front().data() ? "yes" : "no") << "\n";

  // Without either, outputs are host tensors that can be read when the call returns.
  const absl::StatusOr<std::vector<tcc::Tensor>> third = (*model)(inputs);
  if (!third.ok()) return Fail(third.status());
  std::cout << "first element " << third->front().data_as<float>()[0] << "\n";
  return 0;
}
