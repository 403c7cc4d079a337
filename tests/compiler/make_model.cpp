// usage: make_model FILE    writes a model for install_test.sh: y = x + x, four floats
#include <fstream>

#include "tests/onnx_program/models.h"

int main(int, char** argv) {
  onnx::ModelProto model = tcc::onnx::testing::Model();
  tcc::onnx::testing::AddInput(*model.mutable_graph(), "x", {4});
  tcc::onnx::testing::AddNode(*model.mutable_graph(), "Add", {"x", "x"}, {"y"});
  tcc::onnx::testing::AddOutput(*model.mutable_graph(), "y", {4});
  std::ofstream file(argv[1], std::ios::binary);
  return model.SerializeToOstream(&file) ? 0 : 1;
}
