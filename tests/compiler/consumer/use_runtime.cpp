// usage: use_runtime PACKAGE
#include <tcc/runtime.h>

#include <cstdio>

int main(int, char** argv) {
  absl::StatusOr<tcc::LoadedPackage> package = tcc::LoadPackage(argv[1]);
  if (!package.ok()) {
    std::fprintf(stderr, "%s\n", std::string(package.status().message()).c_str());
    return 1;
  }
  const tcc::TensorInfo& x = package->inputs()[0];
  if (package->inputs().size() != 1 || x.name != "x" || x.type.ToString() != "f32[4]" || x.optional) return 1;
  if (package->outputs().size() != 1 || package->outputs()[0].type != x.type) return 1;
  float data[4] = {1, 2, 3, 4};
  absl::StatusOr<std::vector<tcc::Tensor>> out = (*package)({tcc::Tensor::Wrap(data, tcc::DType::kF32, {4})});
  return out.ok() && out->front().data_as<float>()[3] == 8 ? 0 : 1;
}
