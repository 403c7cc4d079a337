//===- Validate.cpp - what the rest relies on, checked once ---------------===//
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/Passes.h"
#include "frontend/onnx/program/TensorData.h"
#include "runtime/status.h"

namespace tcc::onnx {

namespace {

// Names of one graph; those of the graphs around it are visible too.
struct Scope {
  const Scope *outer = nullptr;
  absl::flat_hash_set<std::string_view> names;

  bool sees(std::string_view name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (scope->names.contains(name))
        return true;
    return false;
  }
};

class Validator {
public:
  Validator(const Limits &limits, ExternalFiles &external) : limits(limits), external(external) {}

  absl::Status graph(::onnx::GraphProto &graph, const Scope *outer, int depth) {
    if (depth > limits.graphDepth)
      return absl::ResourceExhaustedError(absl::StrCat("subgraphs are nested more than ", limits.graphDepth, " deep"));
    Scope scope{outer, {}};
    absl::flat_hash_set<std::string_view> inputs;
    for (const ::onnx::ValueInfoProto &input : graph.input()) {
      TCC_RETURN_IF_ERROR(define(scope, input.name(), "graph input"));
      inputs.insert(input.name());
    }
    absl::flat_hash_set<std::string_view> initializers;
    auto initializer = [&](const std::string &name) -> absl::Status {
      if (!initializers.insert(name).second)
        return absl::InvalidArgumentError(absl::StrCat("initializer '", name, "' is defined twice"));
      return inputs.contains(name) ? absl::OkStatus() : define(scope, name, "initializer");
    };
    for (const ::onnx::TensorProto &tensor : graph.initializer()) {
      TCC_RETURN_IF_ERROR(initializer(tensor.name()));
      TCC_RETURN_IF_ERROR(WithContext(absl::StrCat("initializer '", tensor.name(), "'"), this->tensor(tensor)));
    }
    for (const ::onnx::SparseTensorProto &tensor : graph.sparse_initializer()) {
      TCC_RETURN_IF_ERROR(initializer(tensor.values().name()));
      TCC_RETURN_IF_ERROR(WithContext(absl::StrCat("initializer '", tensor.values().name(), "'"), sparse(tensor)));
    }
    TCC_RETURN_IF_ERROR(nodes(*graph.mutable_node(), scope, depth));
    for (const ::onnx::ValueInfoProto &output : graph.output())
      if (!scope.sees(output.name()))
        return absl::InvalidArgumentError(
            absl::StrCat("graph output '", output.name(), "' is made by nothing in graph '", graph.name(), "'"));
    return absl::OkStatus();
  }

  absl::Status function(::onnx::FunctionProto &function) {
    if (function.name().empty())
      return absl::InvalidArgumentError("a local function has no name");
    Scope scope;
    for (const std::string &input : function.input())
      TCC_RETURN_IF_ERROR(define(scope, input, "function input"));
    inFunction = true;
    TCC_RETURN_IF_ERROR(nodes(*function.mutable_node(), scope, 0));
    for (::onnx::AttributeProto &attribute : *function.mutable_attribute_proto())
      TCC_RETURN_IF_ERROR(this->attribute(attribute, scope, 0));
    for (const std::string &output : function.output())
      if (!scope.sees(output))
        return absl::InvalidArgumentError(absl::StrCat("its output '", output, "' is made by nothing in it"));
    return absl::OkStatus();
  }

private:
  absl::Status define(Scope &scope, const std::string &name, const char *what) {
    if (name.empty())
      return absl::InvalidArgumentError(absl::StrCat("a ", what, " has no name"));
    if (scope.names.contains(name))
      return absl::InvalidArgumentError(
          absl::StrCat(what, " '", name, "' is defined a second time; every name of a graph must be defined once"));
    if (scope.outer && scope.outer->sees(name))
      return absl::InvalidArgumentError(
          absl::StrCat(what, " '", name, "' of a subgraph shadows a value of the same name outside; rename one"));
    scope.names.insert(name);
    return absl::OkStatus();
  }

  absl::Status nodes(google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, Scope &scope, int depth) {
    nodeCount += nodes.size();
    if (nodeCount > limits.nodes)
      return absl::ResourceExhaustedError(absl::StrCat("the model has more than ", limits.nodes, " nodes"));
    for (::onnx::NodeProto &node : nodes)
      TCC_RETURN_IF_ERROR(WithContext(describe(node), this->node(node, scope, depth)));
    return absl::OkStatus();
  }

  absl::Status node(::onnx::NodeProto &node, Scope &scope, int depth) {
    if (node.op_type().empty())
      return absl::InvalidArgumentError("the node names no operator");
    for (const std::string &input : node.input())
      if (!input.empty() && !scope.sees(input))
        return absl::InvalidArgumentError(
            absl::StrCat("reads '", input, "', which no input, initializer or node defines"));
    absl::flat_hash_set<std::string_view> names;
    for (::onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (!names.insert(attribute.name()).second)
        return absl::InvalidArgumentError(absl::StrCat("attribute '", attribute.name(), "' is given twice"));
      TCC_RETURN_IF_ERROR(this->attribute(attribute, scope, depth));
    }
    for (const std::string &output : node.output())
      if (!output.empty())
        TCC_RETURN_IF_ERROR(define(scope, output, "value"));
    return absl::OkStatus();
  }

  absl::Status attribute(::onnx::AttributeProto &attribute, const Scope &scope, int depth) {
    using Proto = ::onnx::AttributeProto;
    if (attribute.name().empty())
      return absl::InvalidArgumentError("an attribute has no name");
    if (!attribute.ref_attr_name().empty()) {
      if (!inFunction)
        return absl::InvalidArgumentError(
            absl::StrCat("attribute '", attribute.name(), "' refers to one of a function, but the node is in none"));
      return absl::OkStatus();
    }
    if (attribute.type() == Proto::UNDEFINED)
      attribute.set_type(typeByValue(attribute));
    if (attribute.type() == Proto::UNDEFINED)
      return absl::InvalidArgumentError(absl::StrCat("attribute '", attribute.name(), "' has no type"));
    auto context = [&](const absl::Status &status) {
      return WithContext(absl::StrCat("attribute '", attribute.name(), "'"), status);
    };
    if (attribute.has_t())
      TCC_RETURN_IF_ERROR(context(tensor(attribute.t())));
    for (const ::onnx::TensorProto &t : attribute.tensors())
      TCC_RETURN_IF_ERROR(context(tensor(t)));
    if (attribute.has_sparse_tensor())
      TCC_RETURN_IF_ERROR(context(sparse(attribute.sparse_tensor())));
    for (const ::onnx::SparseTensorProto &t : attribute.sparse_tensors())
      TCC_RETURN_IF_ERROR(context(sparse(t)));
    if (attribute.has_g())
      TCC_RETURN_IF_ERROR(context(graph(*attribute.mutable_g(), &scope, depth + 1)));
    for (::onnx::GraphProto &g : *attribute.mutable_graphs())
      TCC_RETURN_IF_ERROR(context(graph(g, &scope, depth + 1)));
    return absl::OkStatus();
  }

  static ::onnx::AttributeProto::AttributeType typeByValue(const ::onnx::AttributeProto &a) {
    using Proto = ::onnx::AttributeProto;
    if (a.has_f())
      return Proto::FLOAT;
    if (a.has_i())
      return Proto::INT;
    if (a.has_s())
      return Proto::STRING;
    if (a.has_t())
      return Proto::TENSOR;
    if (a.has_g())
      return Proto::GRAPH;
    if (a.floats_size())
      return Proto::FLOATS;
    if (a.ints_size())
      return Proto::INTS;
    if (a.strings_size())
      return Proto::STRINGS;
    if (a.tensors_size())
      return Proto::TENSORS;
    if (a.graphs_size())
      return Proto::GRAPHS;
    return Proto::UNDEFINED;
  }

  absl::Status tensor(const ::onnx::TensorProto &tensor) {
    if (tensor.data_location() != ::onnx::TensorProto::EXTERNAL)
      return checkTensor(tensor);
    TCC_RETURN_IF_ERROR(external.resolve(tensor));
    TCC_ASSIGN_OR_RETURN(std::string_view bytes, external.bytes(tensor));
    return checkTensor(tensor, bytes);
  }

  absl::Status sparse(const ::onnx::SparseTensorProto &tensor) {
    if (tensor.values().data_location() == ::onnx::TensorProto::EXTERNAL ||
        tensor.indices().data_location() == ::onnx::TensorProto::EXTERNAL)
      return absl::UnimplementedError(
          "sparse tensors with external data are not supported; store it in the model file");
    TCC_RETURN_IF_ERROR(checkTensor(tensor.values()));
    return checkTensor(tensor.indices());
  }

  const Limits &limits;
  ExternalFiles &external;
  int64_t nodeCount = 0;
  bool inFunction = false;
};

} // namespace

absl::Status validateModel(::onnx::ModelProto &model, const Limits &limits, ExternalFiles &external) {
  TCC_RETURN_IF_ERROR(Validator(limits, external).graph(*model.mutable_graph(), nullptr, 0));
  Validator functions(limits, external);
  for (::onnx::FunctionProto &function : *model.mutable_functions())
    TCC_RETURN_IF_ERROR(WithContext(absl::StrCat("function '", function.name(), "'"), functions.function(function)));
  return absl::OkStatus();
}

} // namespace tcc::onnx
