// Runs a package with the runtime alone: no compiler, no LLVM, no ONNX.
// usage: run_package MODEL.tcc [N | NAME=N]...
//
// Each input is made as the package describes it: 0, 1, 2, ... for f32, zeros for others. An extent that may vary is
// the smallest that the package takes, or N: for all of them, or for those called NAME.
#include <tcc/runtime.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

absl::StatusOr<tcc::Tensor> MakeInput(const tcc::TensorInfo& info, const std::map<std::string, int64_t>& extents) {
  if (info.optional) return tcc::Tensor();  // left out
  if (!info.has_rank) return absl::InvalidArgumentError("input '" + info.name + "' may have different ranks");
  tcc::Dims dims = info.type.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0) continue;
    auto extent = extents.find(info.dim_names[i]);
    if (extent == extents.end()) extent = extents.find("");
    dims[i] = extent != extents.end() ? extent->second : info.ranges[i].min;
  }
  absl::StatusOr<tcc::Tensor> tensor = tcc::Tensor::Allocate(info.type.dtype, dims);
  if (!tensor.ok() || tensor->bytes() == 0) return tensor;
  if (tensor->dtype() == tcc::DType::kF32) {
    auto* values = tensor->data_as<float>();
    std::iota(values, values + tensor->num_elements(), 0.0f);
  } else {
    std::memset(tensor->data(), 0, tensor->bytes());
  }
  return tensor;
}

int Fail(const absl::Status& status) {
  std::cerr << "run_package: " << status.message() << "\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: run_package MODEL.tcc [N | NAME=N]...\n";
    return 2;
  }
  std::map<std::string, int64_t> extents;  // "": of those not named
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
    if (number.empty() || number.size() > 18 || number.find_first_not_of("0123456789") != std::string::npos) {
      std::cerr << "run_package: '" << text << "' is not an extent: N or NAME=N\n";
      return 2;
    }
    extents[name] = std::atoll(number.c_str());
  }
  // A package is executable code: load only those you trust.
  const absl::StatusOr<tcc::LoadedPackage> model = tcc::LoadPackage(argv[1]);
  if (!model.ok()) return Fail(model.status());
  std::vector<tcc::Tensor> inputs;
  for (const tcc::TensorInfo& info : model->inputs()) {
    absl::StatusOr<tcc::Tensor> input = MakeInput(info, extents);
    if (!input.ok()) return Fail(input.status());
    inputs.push_back(*std::move(input));
  }
  // (Memory of your own becomes an input, uncopied, with Tensor::Wrap.)
  const absl::StatusOr<std::vector<tcc::Tensor>> outputs = (*model)(inputs);
  if (!outputs.ok()) return Fail(outputs.status());
  for (size_t i = 0; i < outputs->size(); ++i) {
    std::cout << model->output_names()[i] << ": " << tcc::DebugString((*outputs)[i]) << "\n";
  }
}
