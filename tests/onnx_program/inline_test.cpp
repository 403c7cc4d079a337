// Local functions become the nodes they stand for, within bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/onnx_program/load.h"
#include "tests/onnx_program/models.h"

namespace tcc::onnx {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "Abs(x) -> y" for each node.
std::vector<std::string> Nodes(const ::onnx::GraphProto& graph) {
  std::vector<std::string> result;
  for (const auto& node : graph.node()) {
    std::string text = node.op_type() + "(";
    for (const auto& input : node.input()) text += (&input == &node.input(0) ? "" : ",") + input;
    text += ")";
    for (const auto& output : node.output()) text += " " + output;
    result.push_back(text);
  }
  return result;
}

TEST(Inline, RenamesAndConnects) {
  ::onnx::ModelProto model = Model();
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  AddInput(graph, "call/t");  // the name that the body's value would get
  AddNode(graph, "f", {"x"}, {"y"}, "call", "local");
  AddNode(graph, "f", {"y"}, {"z"}, "call", "local");
  AddOutput(graph, "z");
  auto& f = AddFunction(model, "f", {"a"}, {"b"});
  AddNode(f, "Abs", {"a"}, {"t"});
  AddNode(f, "Add", {"t", "a"}, {"b"});
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(Nodes((*program)->graph()),
              ElementsAre("Abs(x) call/t#1", "Add(call/t#1,x) y", "Abs(y) call/t#2", "Add(call/t#2,y) z"));
  EXPECT_EQ((*program)->graph().node(0).name(), "call/Abs");
  EXPECT_EQ((*program)->graph().node(2).name(), "call/Abs#1");
}

TEST(Inline, NestedCallsAndAbsentOptionals) {
  ::onnx::ModelProto model = Model();
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  AddNode(graph, "outer", {"x"}, {"y"}, "o", "local");
  AddOutput(graph, "y");
  // Listed before the function it calls; its second input is left out.
  auto& outer = AddFunction(model, "outer", {"a", "b"}, {"r"});
  AddNode(outer, "inner", {"a", "b"}, {"r"}, "i", "local");
  auto& inner = AddFunction(model, "inner", {"p", "q"}, {"s"});
  AddNode(inner, "Clip", {"p", "", "q"}, {"t"});
  AddNode(inner, "Neg", {"t"}, {"s"});
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(Nodes((*program)->graph()), ElementsAre("Clip(x,,) o/i/t", "Neg(o/i/t) y"));
}

TEST(Inline, OutputThatIsAnInput) {
  ::onnx::ModelProto model = Model();
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  AddNode(graph, "same", {"x"}, {"y", "z"}, "s", "local");
  AddOutput(graph, "y");
  AddFunction(model, "same", {"a"}, {"a", "a"});
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(Nodes((*program)->graph()), ElementsAre("Identity(x) y", "Identity(x) z"));
}

TEST(Inline, AttributesAndSubgraphs) {
  ::onnx::ModelProto model = Model();
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  auto& call = AddNode(graph, "f", {"x"}, {"y"}, "c", "local");
  auto* given = call.add_attribute();
  given->set_name("alpha");
  given->set_type(::onnx::AttributeProto::FLOAT);
  given->set_f(3);
  AddOutput(graph, "y");
  auto& f = AddFunction(model, "f", {"a"}, {"b"});
  auto reference = [](::onnx::NodeProto& node, const char* name, const char* of) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_ref_attr_name(of);
    attribute->set_type(::onnx::AttributeProto::FLOAT);
  };
  auto* fallback = f.add_attribute_proto();
  fallback->set_name("beta");
  fallback->set_type(::onnx::AttributeProto::FLOAT);
  fallback->set_f(5);
  auto& branch = AddNode(f, "If", {"a"}, {"b"});
  auto* body = branch.add_attribute();
  body->set_name("then_branch");
  body->set_type(::onnx::AttributeProto::GRAPH);
  auto& node = AddNode(*body->mutable_g(), "LeakyRelu", {"a"}, {"r"});
  reference(node, "first", "alpha");
  reference(node, "second", "beta");
  reference(node, "third", "gamma");
  AddOutput(*body->mutable_g(), "r");
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto& inlined = (*program)->graph().node(0).attribute(0).g();
  EXPECT_THAT(Nodes(inlined), ElementsAre("LeakyRelu(x) c/r"));
  EXPECT_EQ(inlined.output(0).name(), "c/r");
  ASSERT_EQ(inlined.node(0).attribute_size(), 2);
  EXPECT_EQ(inlined.node(0).attribute(0).f(), 3);
  EXPECT_EQ(inlined.node(0).attribute(0).name(), "first");
  EXPECT_EQ(inlined.node(0).attribute(1).f(), 5);
}

TEST(Inline, KeepsTheFunctionsOpset) {
  ::onnx::ModelProto model = Model(10, 20);
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  AddNode(graph, "old", {"x"}, {"y"}, "o", "local");
  AddNode(graph, "Abs", {"y"}, {"z"});
  AddOutput(graph, "z");
  auto& outer = AddFunction(model, "old", {"a"}, {"b"}, 11);
  AddNode(outer, "Softmax", {"a"}, {"t"});
  AddNode(outer, "older", {"t"}, {"b"}, "", "local");
  auto& inner = AddFunction(model, "older", {"a"}, {"b"}, 9);
  AddNode(inner, "Softmax", {"a"}, {"b"});
  auto program = Load(model);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<int64_t> versions;
  for (const auto& node : (*program)->graph().node()) versions.push_back((*program)->opsetVersion(node));
  EXPECT_THAT(versions, ElementsAre(11, 9, 20));
}

TEST(Inline, RecursionIsAnError) {
  ::onnx::ModelProto model = ReluModel();
  auto& f = AddFunction(model, "f", {"a"}, {"b"});
  AddNode(f, "g", {"a"}, {"b"}, "", "local");
  auto& g = AddFunction(model, "g", {"a"}, {"b"});
  AddNode(g, "f", {"a"}, {"b"}, "", "local");
  EXPECT_THAT(ErrorOf(model), HasSubstr("calls itself"));  // though nothing calls it
}

TEST(Inline, ExponentialGrowthIsAnError) {
  ::onnx::ModelProto model = Model();
  AddInput(*model.mutable_graph(), "x");
  AddNode(*model.mutable_graph(), "f0", {"x"}, {"y"}, "", "local");
  for (int i = 0; i < 100; ++i) {
    auto& f = AddFunction(model, "f" + std::to_string(i), {"a"}, {"b"});
    const std::string next = i == 99 ? "Abs" : "f" + std::to_string(i + 1);
    AddNode(f, next, {"a"}, {"t"}, "", i == 99 ? "" : "local");
    AddNode(f, next, {"t"}, {"b"}, "", i == 99 ? "" : "local");
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("come to more than 2000000 nodes"));
}

TEST(Inline, LongChainsOfCallsAreAnError) {
  ::onnx::ModelProto model = Model();
  AddInput(*model.mutable_graph(), "x");
  AddNode(*model.mutable_graph(), "f0", {"x"}, {"y"}, "", "local");
  for (int i = 0; i < 10000; ++i) {
    auto& f = AddFunction(model, "f" + std::to_string(i), {"a"}, {"b"});
    AddNode(f, i == 9999 ? "Abs" : "f" + std::to_string(i + 1), {"a"}, {"b"}, "", i == 9999 ? "" : "local");
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("more than 128 deep"));
}

TEST(Inline, LargeBodiesCountTheirBytes) {
  ::onnx::ModelProto model = Model();
  auto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  for (int i = 0; i < 100; ++i) AddNode(graph, "f", {"x"}, {"y" + std::to_string(i)}, "", "local");
  auto& f = AddFunction(model, "f", {"a"}, {"b"});
  auto* value = AddNode(f, "Constant", {}, {"b"}).add_attribute();
  value->set_name("value");
  value->set_type(::onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(::onnx::TensorProto::UINT8);
  value->mutable_t()->add_dims(100000);
  value->mutable_t()->set_raw_data(std::string(100000, 1));
  LoadOptions options;
  options.limits.inlinedBytes = 1'000'000;
  auto program = Load(model, options);
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("come to more than 1000000 bytes"));
}

TEST(Inline, WrongNumberOfArguments) {
  ::onnx::ModelProto model = Model();
  AddInput(*model.mutable_graph(), "x");
  AddNode(*model.mutable_graph(), "f", {"x", "x"}, {"y"}, "call", "local");
  auto& f = AddFunction(model, "f", {"a"}, {"b"});
  AddNode(f, "Abs", {"a"}, {"b"});
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'call' (f): calls local function 'f' with 2 inputs"));
}

}  // namespace
}  // namespace tcc::onnx
