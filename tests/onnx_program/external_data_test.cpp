// Which files a model may reach, and what it may claim about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/onnx/program/Program.h"
#include "tests/onnx_program/models.h"
#include "tests/runtime/temp_folder.h"

namespace tcc::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Claim {
  std::string location = "w.bin";
  std::string offset = "4";
  std::string length = "8";
};

::onnx::ModelProto ExternalModel(const Claim& claim) {
  ::onnx::ModelProto model = testing::ReluModel();
  auto& tensor = testing::AddInitializer(*model.mutable_graph(), "w", {0, 0});
  tensor.clear_float_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto entry = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    auto* e = tensor.add_external_data();
    e->set_key(key);
    e->set_value(value);
  };
  entry("location", claim.location);
  entry("offset", claim.offset);
  entry("length", claim.length);
  return model;
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteFile(root / "secret.bin", Weights());
    WriteFile(root / "model/w.bin", Weights());
    WriteFile(root / "model/sub/w.bin", Weights());
  }
  static std::string Weights() {
    const float values[] = {0, 1.5f, -2.5f};
    return {reinterpret_cast<const char*>(values), sizeof(values)};
  }
  absl::StatusOr<std::shared_ptr<const Program>> Load(const Claim& claim, const LoadOptions& options = {}) {
    WriteFile(root / "model/model.onnx", ExternalModel(claim).SerializeAsString());
    return Program::load(root / "model/model.onnx", options);
  }
  std::string ErrorOf(const Claim& claim) { return std::string(Load(claim).status().message()); }

  TempFolder root;
};

TEST_F(ExternalData, IsMapped) {
  auto program = Load({});
  ASSERT_TRUE(program.ok()) << program.status();
  Tensor first = *(*program)->tensor((*program)->graph().initializer(0));
  Tensor second = *(*program)->tensor((*program)->graph().initializer(0));
  EXPECT_EQ(first.data(), second.data());
  const float* values = first.data_as<float>();
  program->reset();  // the tensors keep it
  EXPECT_EQ(values[0], 1.5f);
  EXPECT_EQ(values[1], -2.5f);
}

TEST_F(ExternalData, LengthMayBeLeftOut) {
  EXPECT_TRUE(Load({"w.bin", "4", ""}).ok());
  EXPECT_THAT(ErrorOf({"w.bin", "", ""}), HasSubstr("f32[2] needs 8 bytes, but its external data has 12"));
}

TEST_F(ExternalData, SubfoldersAndDotsThatStayInside) {
  EXPECT_TRUE(Load({"sub/w.bin"}).ok());
  EXPECT_TRUE(Load({"./sub/../w.bin"}).ok());
}

TEST_F(ExternalData, OutsideIsRefused) {
  ASSERT_EQ(symlink("../secret.bin", (root / "model/link.bin").c_str()), 0);
  ASSERT_EQ(symlink("..", (root / "model/up").c_str()), 0);
  for (const std::string& location : {std::string("../secret.bin"), root / "secret.bin", std::string("link.bin"),
                                      std::string("up/secret.bin"), std::string("sub/../../secret.bin")}) {
    EXPECT_EQ(Load({location}).status().code(), absl::StatusCode::kPermissionDenied) << location;
    EXPECT_THAT(ErrorOf({location}), HasSubstr("lies outside the model's folder")) << location;
    EXPECT_THAT(ErrorOf({location}), HasSubstr("initializer 'w'")) << location;
    LoadOptions widened;
    widened.externalDataRoots = {root.path()};
    EXPECT_TRUE(Load({location}, widened).ok()) << location;
  }
}

TEST_F(ExternalData, AFolderWhoseNameOnlyStartsAlikeIsOutside) {
  WriteFile(root / "model2/w.bin", Weights());
  EXPECT_THAT(ErrorOf({"../model2/w.bin"}), HasSubstr("lies outside"));
}

TEST_F(ExternalData, HardLinksAreRefused) {
  ASSERT_EQ(link((root / "secret.bin").c_str(), (root / "model/hard.bin").c_str()), 0);
  EXPECT_THAT(ErrorOf({"hard.bin"}), HasSubstr("hard links"));
  LoadOptions widened;
  widened.externalDataRoots = {root / "model"};
  EXPECT_TRUE(Load({"hard.bin"}, widened).ok());
}

TEST_F(ExternalData, ModelCachesThatLinkIntoAFolderOfBlobs) {
  // snapshots/rev/{model.onnx,w.bin} -> blobs/*
  WriteFile(root / "blobs/aaa", ExternalModel({}).SerializeAsString());
  WriteFile(root / "blobs/bbb", Weights());
  WriteFile(root / "snapshots/rev/.keep", "");
  ASSERT_EQ(symlink("../../blobs/aaa", (root / "snapshots/rev/model.onnx").c_str()), 0);
  ASSERT_EQ(symlink("../../blobs/bbb", (root / "snapshots/rev/w.bin").c_str()), 0);
  auto program = Program::load(root / "snapshots/rev/model.onnx");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT((*program)->externalFiles(), ElementsAre(::testing::EndsWith("blobs/bbb")));
}

TEST_F(ExternalData, RangesThatDoNotFit) {
  EXPECT_THAT(ErrorOf({"w.bin", "8", "8"}), HasSubstr("has only 12 bytes"));
  EXPECT_THAT(ErrorOf({"w.bin", "18446744073709551608", "8"}), HasSubstr("has only 12 bytes"));
  EXPECT_THAT(ErrorOf({"w.bin", "4", "18446744073709551612"}), HasSubstr("has only 12 bytes"));
  EXPECT_THAT(ErrorOf({"w.bin", "20", ""}), HasSubstr("has only 12 bytes"));
  EXPECT_THAT(ErrorOf({"w.bin", "-4", "8"}), HasSubstr("no number of bytes"));
  EXPECT_THAT(ErrorOf({"w.bin", "99999999999999999999999", "8"}), HasSubstr("no number of bytes"));
  EXPECT_THAT(ErrorOf({"w.bin", "4", "4"}), HasSubstr("needs 8 bytes, but its external data has 4"));
}

TEST_F(ExternalData, OddFiles) {
  EXPECT_THAT(ErrorOf({"missing.bin"}), HasSubstr("no such file"));
  EXPECT_THAT(ErrorOf({"sub"}), HasSubstr("is a folder"));
  ASSERT_EQ(mkfifo((root / "model/pipe").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf({"pipe"}), HasSubstr("not a regular file"));
  EXPECT_THAT(ErrorOf({""}), HasSubstr("no location"));
}

TEST_F(ExternalData, ModelsInMemoryHaveNone) {
  auto program = Program::parse(ExternalModel({}).SerializeAsString());
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("not loaded from a file"));
}

TEST_F(ExternalData, CountsForTheHash) {
  const std::string before = *(*Load({}))->contentHash();
  WriteFile(root / "model/w.bin", std::string(12, '\1'));
  EXPECT_NE(before, *(*Load({}))->contentHash());
}

}  // namespace
}  // namespace tcc::onnx
