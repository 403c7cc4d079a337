// usage: make_model FILE [OPEN]    writes y = x + x: of four floats, or of OPEN axes without a fixed extent
#include <cstdlib>
#include <fstream>
#include <vector>

#include "tests/onnx_program/models.h"

int main(int argc, char** argv) {
  const std::vector<int64_t> dims =
      argc > 2 ? std::vector<int64_t>(static_cast<size_t>(std::atoi(argv[2])), -1) : std::vector<int64_t>{4};
  onnx::ModelProto model = tcc::onnx::testing::Model();
  tcc::onnx::testing::AddValue(model.mutable_graph()->add_input(), "x", dims);
  tcc::onnx::testing::AddNode(*model.mutable_graph(), "Add", {"x", "x"}, {"y"});
  tcc::onnx::testing::AddValue(model.mutable_graph()->add_output(), "y", dims);
  std::ofstream file(argv[1], std::ios::binary);
  return model.SerializeToOstream(&file) ? 0 : 1;
}
