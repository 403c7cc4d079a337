// usage: use_compiler MODEL    runs a model with one float input of four elements and prints its package
#include <tcc/tcc.h>

#include <cstdio>

int main(int, char** argv) {
  absl::StatusOr<tcc::Callable> model = tcc::Compile(tcc::Load(argv[1]), {.mode = tcc::Mode::kDefault});
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", std::string(model.status().message()).c_str());
    return 1;
  }
  float data[4] = {1, 2, 3, 4};
  absl::StatusOr<std::vector<tcc::Tensor>> out = (*model)({tcc::Tensor::Wrap(data, tcc::DType::kF32, {4})});
  if (!out.ok()) {
    std::fprintf(stderr, "%s\n", std::string(out.status().message()).c_str());
    return 1;
  }
  if (out->front().data_as<float>()[3] != 8) return 1;
  std::printf("%s\n", model->Explain().graphs[0].package.c_str());
}
