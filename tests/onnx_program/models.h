// Small ONNX models in memory for the tests.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "onnx/onnx-ml.pb.h"

namespace tcc::onnx::testing {

using Names = std::vector<std::string>;

inline ::onnx::ModelProto Model(int64_t ir_version = 10, int64_t opset = 20) {
  ::onnx::ModelProto model;
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("graph");
  return model;
}

inline ::onnx::ValueInfoProto* AddValue(::onnx::ValueInfoProto* value, const std::string& name,
                                        std::vector<int64_t> dims, int32_t type = ::onnx::TensorProto::FLOAT) {
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  return value;
}
inline void AddInput(::onnx::GraphProto& graph, const std::string& name, std::vector<int64_t> dims = {2}) {
  AddValue(graph.add_input(), name, std::move(dims));
}
inline void AddOutput(::onnx::GraphProto& graph, const std::string& name, std::vector<int64_t> dims = {2}) {
  AddValue(graph.add_output(), name, std::move(dims));
}

template <typename Owner>  // GraphProto or FunctionProto
::onnx::NodeProto& AddNode(Owner& owner, const std::string& op, Names inputs, Names outputs,
                           const std::string& name = "", const std::string& domain = "") {
  ::onnx::NodeProto& node = *owner.add_node();
  node.set_op_type(op);
  node.set_domain(domain);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  if (!name.empty()) node.set_name(name);
  return node;
}

inline ::onnx::FunctionProto& AddFunction(::onnx::ModelProto& model, const std::string& name, Names inputs,
                                          Names outputs, int64_t opset = 20) {
  ::onnx::FunctionProto& function = *model.add_functions();
  function.set_name(name);
  function.set_domain("local");
  for (const std::string& input : inputs) function.add_input(input);
  for (const std::string& output : outputs) function.add_output(output);
  function.add_opset_import()->set_version(opset);
  return function;
}

inline ::onnx::TensorProto& AddInitializer(::onnx::GraphProto& graph, const std::string& name,
                                           std::vector<float> values) {
  ::onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (float value : values) tensor.add_float_data(value);
  return tensor;
}

// y = Relu(x)
inline ::onnx::ModelProto ReluModel() {
  ::onnx::ModelProto model = Model();
  AddInput(*model.mutable_graph(), "x");
  AddNode(*model.mutable_graph(), "Relu", {"x"}, {"y"}, "relu");
  AddOutput(*model.mutable_graph(), "y");
  return model;
}

}  // namespace tcc::onnx::testing
