// ONNX's own checker runs on the models of the zoo and objects where it should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/onnx/program/Check.h"
#include "frontend/onnx/program/Program.h"
#include "tests/onnx_program/models.h"
#include "tests/runtime/temp_folder.h"

namespace tcc::onnx {
namespace {

using ::testing::HasSubstr;

LoadOptions Checked() {
  LoadOptions options;
  options.check = checkModel;
  return options;
}

TEST(Checker, AcceptsTheZoo) {
  for (const auto& entry : std::filesystem::directory_iterator(TCC_ZOO)) {
    if (entry.path().extension() != ".onnx") continue;
    auto program = Program::load(entry.path(), Checked());
    EXPECT_TRUE(program.ok()) << program.status();
  }
}

TEST(Checker, ObjectsToAnUnknownAttribute) {
  ::onnx::ModelProto model = testing::ReluModel();
  auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("slope");
  attribute->set_type(::onnx::AttributeProto::FLOAT);
  attribute->set_f(1);
  auto program = Program::parse(model.SerializeAsString(), "", Checked());
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("does not pass the ONNX checker"));
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("slope"));
}

TEST(Checker, AcceptsInputsAndOutputsWithoutAShape) {
  ::onnx::ModelProto model = testing::ReluModel();
  for (auto* values : {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()}) {
    values->Mutable(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  auto program = Program::parse(model.SerializeAsString(), "", Checked());
  ASSERT_TRUE(program.ok()) << program.status();
  // Not of rank 0.
  EXPECT_FALSE((*program)->inputs()[0].hasShape);
  EXPECT_FALSE((*program)->outputs()[0].hasShape);
}

TEST(Checker, PutsExternalDataBack) {
  TempFolder folder;
  ::onnx::ModelProto model = testing::ReluModel();
  auto& tensor = testing::AddInitializer(*model.mutable_graph(), "w", {0, 0});
  tensor.clear_float_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  WriteFile(folder / "w.bin", "12345678");
  WriteFile(folder / "m.onnx", model.SerializeAsString());
  auto program = Program::load(folder / "m.onnx", Checked());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ((*program)->tensor((*program)->graph().initializer(0))->num_elements(), 2);
}

}  // namespace
}  // namespace tcc::onnx
