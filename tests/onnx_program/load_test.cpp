// What a file may get wrong, and what a loaded program promises.
#include "tests/onnx_program/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/onnx_program/models.h"

namespace tcc::onnx {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Load, InputsAndOutputs) {
  ::onnx::ModelProto model = ReluModel();
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  shape->add_dim();
  shape->add_dim()->set_dim_value(-1);
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ((*program)->inputs().size(), 1u);
  EXPECT_EQ((*program)->inputs()[0].toString(), "x: f32[batch,?,?]");
  EXPECT_EQ((*program)->outputs()[0].toString(), "y: f32[2]");
  EXPECT_EQ((*program)->opsetVersion("ai.onnx"), 20);
  EXPECT_EQ((*program)->opsetVersion("com.microsoft"), 0);
}

TEST(Load, InitializersThatAreInputs) {
  for (int64_t ir_version : {3, 4}) {
    ::onnx::ModelProto model = ReluModel();
    model.set_ir_version(ir_version);
    AddInput(*model.mutable_graph(), "w");
    AddInitializer(*model.mutable_graph(), "w", {1, 2});
    auto program = Load(model);
    ASSERT_TRUE(program.ok()) << program.status();
    if (ir_version == 3) {
      ASSERT_EQ((*program)->inputs().size(), 1u);
    } else {
      ASSERT_EQ((*program)->inputs().size(), 2u);
      EXPECT_TRUE((*program)->inputs()[1].hasDefault);
      EXPECT_FALSE((*program)->inputs()[0].hasDefault);
    }
  }
}

TEST(Load, NodesAreSortedByTheirData) {
  // As tools leave it that append the nodes they insert; also behind the back of a subgraph, and within one.
  ::onnx::ModelProto model = Model();
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  AddOutput(graph, "y");
  AddNode(graph, "Identity", {"x"}, {"first"}, "first");
  auto& branch = AddNode(graph, "If", {"condition"}, {"y"}, "choose");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branch.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::GRAPH);
    auto& inner = *attribute.mutable_g();
    inner.set_name(name);
    AddNode(inner, "Relu", {std::string(name) + "_b"}, {std::string(name) + "_y"}, std::string(name) + "_last");
    AddNode(inner, "Neg", {"late"}, {std::string(name) + "_b"});
    AddOutput(inner, std::string(name) + "_y");
  }
  AddNode(graph, "Abs", {"first"}, {"late"}, "late");
  auto& condition = AddNode(graph, "Constant", {}, {"condition"}, "condition");
  auto& value = *condition.add_attribute();
  value.set_name("value");
  value.set_type(::onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(::onnx::TensorProto::BOOL);
  value.mutable_t()->add_int32_data(1);

  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::string> names;
  for (const auto& node : (*program)->graph().node()) names.push_back(node.name());
  EXPECT_THAT(names, ElementsAre("first", "late", "condition", "choose"));
  EXPECT_EQ((*program)->graph().node(3).attribute(0).g().node(1).name(), "then_branch_last");
}

TEST(Load, CyclesAreNamed) {
  ::onnx::ModelProto model = Model();
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  AddOutput(graph, "c");
  AddNode(graph, "Add", {"x", "b"}, {"a"}, "first");
  AddNode(graph, "Relu", {"a"}, {"b"}, "second");
  AddNode(graph, "Relu", {"b"}, {"c"}, "after");
  const std::string error = ErrorOf(model);
  EXPECT_THAT(error, HasSubstr("cycle: node 'second' (Relu) -> node 'first' (Add) -> back to the first"));
  graph.mutable_node(1)->set_input(0, "b");
  EXPECT_THAT(ErrorOf(model), HasSubstr("cycle: node 'second' (Relu) -> back to the first"));
}

TEST(Load, EveryNodeGetsAUniqueName) {
  ::onnx::ModelProto model = ReluModel();
  auto& graph = *model.mutable_graph();
  AddNode(graph, "Abs", {"y"}, {"a"}, "relu");
  AddNode(graph, "Abs", {"a"}, {"b"});
  AddNode(graph, "Abs", {"b"}, {"c"}, "relu#1");
  AddNode(graph, "Abs", {"c"}, {"d"});
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::string> names;
  for (const auto& node : (*program)->graph().node()) names.push_back(node.name());
  EXPECT_THAT(names, ElementsAre("relu", "relu#2", "Abs_1", "relu#1", "Abs_2"));
}

TEST(Load, VersionsOutOfRange) {
  EXPECT_THAT(ErrorOf(Model(2)), HasSubstr("IR version 2"));
  EXPECT_THAT(ErrorOf(Model(99)), HasSubstr("newer than the newest supported"));
  EXPECT_THAT(ErrorOf(Model(10, 1000)), HasSubstr("op set 1000"));
  ::onnx::ModelProto model = ReluModel();
  model.clear_opset_import();
  EXPECT_THAT(ErrorOf(model), HasSubstr("imports no op set"));
}

TEST(Load, NamesMustBeDefinedOnceAndBeforeUse) {
  ::onnx::ModelProto model = ReluModel();
  AddNode(*model.mutable_graph(), "Abs", {"later"}, {"z"}, "early");
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'early' (Abs): reads 'later'"));
  model = ReluModel();
  AddNode(*model.mutable_graph(), "Abs", {"x"}, {"y"}, "again");
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'again' (Abs): value 'y' is defined a second time"));
  model = ReluModel();
  AddOutput(*model.mutable_graph(), "nowhere");
  EXPECT_THAT(ErrorOf(model), HasSubstr("graph output 'nowhere'"));
}

// Adds an If whose branches hold `body`, called with the graph of each.
template <typename Body>
void AddIf(::onnx::GraphProto& graph, const std::string& output, Body body) {
  auto& node = AddNode(graph, "If", {"c"}, {output}, "if_" + output);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    body(*attribute->mutable_g());
  }
}

TEST(Load, ShadowingIsDiagnosed) {
  ::onnx::ModelProto model = ReluModel();
  AddInput(*model.mutable_graph(), "c", {});
  AddIf(*model.mutable_graph(), "z", [](::onnx::GraphProto& graph) {
    AddNode(graph, "Abs", {"x"}, {"y"}, "inner");
    AddOutput(graph, "y");
  });
  EXPECT_THAT(ErrorOf(model), HasSubstr("shadows a value of the same name"));
}

TEST(Load, SubgraphsSeeOuterNames) {
  ::onnx::ModelProto model = ReluModel();
  AddInput(*model.mutable_graph(), "c", {});
  AddIf(*model.mutable_graph(), "z", [](::onnx::GraphProto& graph) {
    AddNode(graph, "Abs", {"y"}, {"inner"});
    AddOutput(graph, "inner");
  });
  auto program = Load(model);
  EXPECT_TRUE(program.ok()) << program.status();
}

void Nest(::onnx::GraphProto& graph, int depth) {
  if (depth == 0) return;
  const std::string name = "z" + std::to_string(depth);
  auto& node = AddNode(graph, "If", {"c"}, {name});
  auto* attribute = node.add_attribute();
  attribute->set_name("then_branch");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  Nest(*attribute->mutable_g(), depth - 1);
}

TEST(Load, NestingIsLimited) {
  ::onnx::ModelProto model = Model();
  AddInput(*model.mutable_graph(), "c", {});
  Nest(*model.mutable_graph(), 48);
  auto program = Load(model);
  EXPECT_TRUE(program.ok()) << program.status();
  model = Model();
  AddInput(*model.mutable_graph(), "c", {});
  Nest(*model.mutable_graph(), 49);
  EXPECT_THAT(ErrorOf(model), HasSubstr("nested more than 48 deep"));
  model = Model();
  AddInput(*model.mutable_graph(), "c", {});
  Nest(*model.mutable_graph(), 2000);
  EXPECT_THAT(ErrorOf(model), HasSubstr("nested too deep"));
}

TEST(Load, AttributesGetTheirType) {
  ::onnx::ModelProto model = ReluModel();
  auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("alpha");
  attribute->set_f(1);
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ((*program)->graph().node(0).attribute(0).type(), ::onnx::AttributeProto::FLOAT);
  attribute->clear_f();
  EXPECT_THAT(ErrorOf(model), HasSubstr("attribute 'alpha' has no type"));
  attribute->set_ref_attr_name("beta");
  EXPECT_THAT(ErrorOf(model), HasSubstr("refers to one of a function"));
}

TEST(Load, SaysWhatAFileIs) {
  auto error = [](std::string_view bytes) { return std::string(Program::parse(bytes).status().message()); };
  EXPECT_THAT(error(std::string_view("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)), HasSubstr("PNG signature"));
  EXPECT_THAT(error("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(error(""), HasSubstr("is empty"));
  EXPECT_THAT(error("hello, this is only text"), HasSubstr("text file"));
  std::string cut = ReluModel().SerializeAsString();
  cut.resize(cut.size() - 3);
  EXPECT_THAT(error(cut), HasSubstr("not a valid ONNX file"));
}

TEST(Load, MissingFile) {
  auto program = Program::load("/nonexistent/model.onnx");
  EXPECT_EQ(program.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("/nonexistent/model.onnx: no such file"));
  EXPECT_THAT(std::string(Program::load("/tmp").status().message()), HasSubstr("is a folder"));
}

TEST(Load, HashFollowsContent) {
  ::onnx::ModelProto model = ReluModel();
  std::string first = *(*Load(model))->contentHash();
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(first, *(*Load(model))->contentHash());
  model.set_doc_string("other");
  EXPECT_NE(first, *(*Load(model))->contentHash());
}

// Damaged models never crash: single bytes changed, and pieces cut out or doubled.
TEST(Load, DamagedModels) {
  ::onnx::ModelProto model = ReluModel();
  AddInitializer(*model.mutable_graph(), "w", {1, 2, 3});
  AddInput(*model.mutable_graph(), "c", {});
  AddIf(*model.mutable_graph(), "z", [](::onnx::GraphProto& graph) {
    AddNode(graph, "Abs", {"y"}, {"inner"});
    AddOutput(graph, "inner");
  });
  auto& function = AddFunction(model, "f", {"a"}, {"b"});
  AddNode(function, "Abs", {"a"}, {"b"});
  AddNode(*model.mutable_graph(), "f", {"x"}, {"fx"}, "call", "local");
  const std::string good = model.SerializeAsString();
  ASSERT_TRUE(Program::parse(good).ok()) << Program::parse(good).status();
  std::mt19937 random(1);
  int loaded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    size_t at = random() % bytes.size(), length = random() % 9;
    switch (random() % 3) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(random() % bytes.size(), bytes.substr(at, length));
        break;
    }
    loaded += Program::parse(bytes).ok();
  }
  EXPECT_GT(loaded, 0);
  EXPECT_LT(loaded, 20000);
}

}  // namespace
}  // namespace tcc::onnx
