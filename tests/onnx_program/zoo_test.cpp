// The models of the zoo load, with what is known of them.
#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/onnx/program/Interface.h"
#include "frontend/onnx/program/Program.h"
#include "onnx/onnx-ml.pb.h"

namespace tcc::onnx {
namespace {

TEST(Zoo, Loads) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TCC_ZOO)) {
    if (entry.path().extension() != ".onnx") continue;
    ++count;
    auto program = Program::load(entry.path());
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_FALSE((*program)->inputs().empty());
    EXPECT_GE((*program)->opsetVersion(""), 17);
    // The quick way sees the same.
    auto interface = readInterface(entry.path());
    ASSERT_TRUE(interface.ok()) << interface.status();
    auto texts = [](const std::vector<ValueInfo>& values) {
      std::vector<std::string> result;
      for (const ValueInfo& value : values) result.push_back(value.toString());
      return result;
    };
    EXPECT_EQ(texts(interface->inputs), texts((*program)->inputs()));
    EXPECT_EQ(texts(interface->outputs), texts((*program)->outputs()));
    for (const auto& initializer : (*program)->graph().initializer()) {
      auto tensor = (*program)->tensor(initializer);
      ASSERT_TRUE(tensor.ok()) << tensor.status();
    }
  }
  EXPECT_EQ(count, 14);
}

}  // namespace
}  // namespace tcc::onnx
