//===- Inline.cpp - local functions -> the nodes they stand for -----------===//
//
// Functions are expanded callees first, so that each call is one copy of a body that contains no calls. How much all of
// it comes to is computed before anything is copied: a small file can ask for exponentially many nodes.
//
// Source: https://github.com/onnx/onnx/blob/main/docs/IR.md#model-local-functions
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/Passes.h"
#include "runtime/status.h"

namespace tcc::onnx {

const char opsetMetadataKey[] = "tcc.opset";

namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using Graph = ::onnx::GraphProto;
using Node = ::onnx::NodeProto;
using Attribute = ::onnx::AttributeProto;
using FunctionKey = std::tuple<std::string, std::string, std::string>; // domain, name, overload

constexpr int64_t kSaturated = int64_t{1} << 60;
int64_t saturatingAdd(int64_t a, int64_t b) { return std::min(kSaturated, a + b); }

struct Function {
  ::onnx::FunctionProto *proto = nullptr;
  enum { New, Active, Done } state = New;
  int64_t nodes = 0; // after inlining, subgraphs included
  int64_t bytes = 0;
  int graphDepth = 0;
  int callDepth = 0;
  absl::flat_hash_map<std::string, int64_t> opsets;
};

// Calls `visit(graph)` for each subgraph of a node.
template <typename Visit> void forEachSubgraph(Node &node, Visit visit) {
  for (Attribute &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      visit(*attribute.mutable_g());
    for (Graph &g : *attribute.mutable_graphs())
      visit(g);
  }
}

class Inliner {
public:
  Inliner(::onnx::ModelProto &model, const Opsets &opsets, const Limits &limits)
      : model(model), opsets(opsets), limits(limits) {}

  absl::Status run() {
    for (::onnx::FunctionProto &proto : *model.mutable_functions()) {
      FunctionKey key{canonicalDomain(proto.domain()), proto.name(), proto.overload()};
      auto [it, isNew] = functions.try_emplace(key);
      if (!isNew)
        return absl::InvalidArgumentError(absl::StrCat("local function '", proto.name(), "' is defined twice"));
      it->second = std::make_unique<Function>();
      it->second->proto = &proto;
      for (const auto &import : proto.opset_import())
        it->second->opsets[std::string(canonicalDomain(import.domain()))] = import.version();
    }
    Function main;
    TCC_RETURN_IF_ERROR(measure(*model.mutable_graph()->mutable_node(), main, 0));
    int64_t total = main.nodes, bytes = main.bytes;
    for (Function *function : order) {
      total = saturatingAdd(total, function->nodes);
      bytes = saturatingAdd(bytes, function->bytes);
    }
    if (total > limits.nodes)
      return absl::ResourceExhaustedError(
          absl::StrCat("its local functions come to more than ", limits.nodes, " nodes"));
    if (bytes > limits.inlinedBytes + static_cast<int64_t>(model.graph().ByteSizeLong()))
      return absl::ResourceExhaustedError(
          absl::StrCat("its local functions come to more than ", limits.inlinedBytes, " bytes"));
    if (main.graphDepth > limits.graphDepth)
      return absl::ResourceExhaustedError(absl::StrCat(
          "with its local functions inlined, subgraphs are nested more than ", limits.graphDepth, " deep"));
    // Functions that nothing calls must not be recursive either.
    const std::vector<Function *> called = order;
    for (auto &[key, function] : functions)
      if (function->state == Function::New)
        TCC_RETURN_IF_ERROR(measureFunction(*function));
    for (Function *function : called) {
      taken.clear();
      for (const std::string &input : function->proto->input())
        taken.insert(input);
      collectNames(*function->proto->mutable_node());
      TCC_RETURN_IF_ERROR(WithContext(absl::StrCat("function '", function->proto->name(), "'"),
                                      expand(*function->proto->mutable_node(), *function)));
    }
    taken.clear();
    collectNames(*model.mutable_graph());
    TCC_RETURN_IF_ERROR(expand(*model.mutable_graph()->mutable_node(), main));
    model.clear_functions();
    return absl::OkStatus();
  }

private:
  Function *callee(const Node &node) {
    auto it = functions.find(FunctionKey{canonicalDomain(node.domain()), node.op_type(), node.overload()});
    return it == functions.end() ? nullptr : it->second.get();
  }

  absl::Status measureFunction(Function &function) {
    if (++activeCalls > limits.callDepth)
      return absl::ResourceExhaustedError(
          absl::StrCat("local functions call one another more than ", limits.callDepth, " deep"));
    function.state = Function::Active;
    TCC_RETURN_IF_ERROR(measure(*function.proto->mutable_node(), function, 0));
    function.state = Function::Done;
    --activeCalls;
    order.push_back(&function);
    return absl::OkStatus();
  }

  // What the nodes come to with all calls inlined; puts the functions into `order`, callees first.
  absl::Status measure(Nodes &nodes, Function &into, int depth) {
    into.graphDepth = std::max(into.graphDepth, depth);
    for (Node &node : nodes) {
      absl::Status status;
      forEachSubgraph(node, [&](Graph &graph) {
        if (status.ok())
          status = measure(*graph.mutable_node(), into, depth + 1);
      });
      TCC_RETURN_IF_ERROR(status);
      Function *function = callee(node);
      if (!function) {
        into.nodes = saturatingAdd(into.nodes, 1);
        if (depth == 0) // subgraphs are part of their node's bytes
          into.bytes = saturatingAdd(into.bytes, node.ByteSizeLong());
        continue;
      }
      if (function->state == Function::Active)
        return absl::InvalidArgumentError(absl::StrCat("local function '", function->proto->name(), "' calls itself (",
                                                       describe(node), "); recursive functions are not allowed"));
      if (function->state == Function::New)
        TCC_RETURN_IF_ERROR(measureFunction(*function));
      into.nodes = saturatingAdd(into.nodes, function->nodes);
      into.bytes = saturatingAdd(into.bytes, function->bytes);
      into.graphDepth = std::max(into.graphDepth, depth + function->graphDepth);
      into.callDepth = std::max(into.callDepth, function->callDepth + 1);
      if (into.callDepth > limits.callDepth)
        return absl::ResourceExhaustedError(
            absl::StrCat("local functions call one another more than ", limits.callDepth, " deep"));
    }
    return absl::OkStatus();
  }

  void collectNames(Graph &graph) {
    for (const auto &input : graph.input())
      taken.insert(input.name());
    for (const auto &tensor : graph.initializer())
      taken.insert(tensor.name());
    for (const auto &tensor : graph.sparse_initializer())
      taken.insert(tensor.values().name());
    collectNames(*graph.mutable_node());
  }

  void collectNames(Nodes &nodes) {
    for (Node &node : nodes) {
      for (const std::string &output : node.output())
        taken.insert(output);
      forEachSubgraph(node, [&](Graph &g) { collectNames(g); });
    }
  }

  absl::Status expand(Nodes &nodes, Function &context) {
    bool calls = false;
    for (Node &node : nodes) {
      absl::Status status;
      forEachSubgraph(node, [&](Graph &graph) {
        if (status.ok())
          status = expand(*graph.mutable_node(), context);
      });
      TCC_RETURN_IF_ERROR(status);
      calls |= callee(node) != nullptr;
    }
    if (!calls)
      return absl::OkStatus();
    Nodes expanded;
    for (Node &node : nodes) {
      if (Function *function = callee(node))
        TCC_RETURN_IF_ERROR(WithContext(describe(node), call(node, *function, context, expanded)));
      else
        expanded.Add()->Swap(&node);
    }
    nodes.Swap(&expanded);
    return absl::OkStatus();
  }

  // Renames and substitutes within the copy of one body.
  struct Copy {
    const Node &callNode;
    const ::onnx::FunctionProto &proto;
    std::string prefix;
    absl::flat_hash_map<std::string, std::string> names;
  };

  absl::Status call(const Node &node, Function &function, Function &context, Nodes &out) {
    const ::onnx::FunctionProto &proto = *function.proto;
    if (node.input_size() > proto.input_size() || node.output_size() > proto.output_size())
      return absl::InvalidArgumentError(
          absl::StrCat("calls local function '", proto.name(), "' with ", node.input_size(), " inputs and ",
                       node.output_size(), " outputs, but it has ", proto.input_size(), " and ", proto.output_size()));
    Copy copy{node, proto, absl::StrCat(node.name().empty() ? node.op_type() : node.name(), "/"), {}};
    for (int i = 0; i < proto.input_size(); ++i)
      copy.names[proto.input(i)] = i < node.input_size() ? node.input(i) : "";
    std::vector<std::pair<std::string, std::string>> forwarded; // an input, or an output named twice: value -> output
    for (int i = 0; i < proto.output_size(); ++i) {
      if (i >= node.output_size() || node.output(i).empty())
        continue;
      auto [it, isNew] = copy.names.try_emplace(proto.output(i), node.output(i));
      if (!isNew)
        forwarded.emplace_back(it->second, node.output(i));
    }
    for (const Node &body : proto.node()) {
      Node *inlined = out.Add();
      *inlined = body;
      TCC_RETURN_IF_ERROR(rename(*inlined, copy, function, context));
    }
    for (const auto &[from, to] : forwarded) {
      if (from.empty())
        return absl::InvalidArgumentError(
            absl::StrCat("local function '", proto.name(), "' returns an input that the call leaves out"));
      Node *identity = out.Add();
      identity->set_op_type("Identity");
      identity->set_name(absl::StrCat(copy.prefix, "Identity"));
      identity->add_input(from);
      identity->add_output(to);
    }
    return absl::OkStatus();
  }

  const std::string &renamed(const std::string &name, Copy &copy) {
    static const std::string absent;
    if (name.empty())
      return absent;
    auto [it, isNew] = copy.names.try_emplace(name);
    if (isNew) {
      it->second = absl::StrCat(copy.prefix, name);
      for (int64_t i = 1; !taken.insert(it->second).second; ++i)
        it->second = absl::StrCat(copy.prefix, name, "#", i);
    }
    return it->second;
  }

  absl::Status rename(Node &node, Copy &copy, const Function &function, const Function &context) {
    node.set_name(absl::StrCat(copy.prefix, node.name().empty() ? node.op_type() : node.name()));
    for (std::string &input : *node.mutable_input())
      input = renamed(input, copy);
    for (std::string &output : *node.mutable_output())
      output = renamed(output, copy);
    keepVersion(node, function, context);
    absl::Status status;
    forEachSubgraph(node, [&](Graph &graph) {
      if (status.ok())
        status = rename(graph, copy, function, context);
    });
    TCC_RETURN_IF_ERROR(status);
    // After the renaming: a graph that the call passes as an attribute speaks of the caller's names.
    return substitute(node, copy);
  }

  absl::Status rename(Graph &graph, Copy &copy, const Function &function, const Function &context) {
    for (auto *list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
      for (::onnx::ValueInfoProto &value : *list)
        value.set_name(renamed(value.name(), copy));
    for (::onnx::TensorProto &tensor : *graph.mutable_initializer())
      tensor.set_name(renamed(tensor.name(), copy));
    for (::onnx::SparseTensorProto &tensor : *graph.mutable_sparse_initializer())
      tensor.mutable_values()->set_name(renamed(tensor.values().name(), copy));
    for (Node &node : *graph.mutable_node())
      TCC_RETURN_IF_ERROR(rename(node, copy, function, context));
    return absl::OkStatus();
  }

  // The node keeps the op set version of the function it comes from.
  void keepVersion(Node &node, const Function &function, const Function &context) {
    for (const auto &entry : node.metadata_props())
      if (entry.key() == opsetMetadataKey)
        return; // from a function further in
    std::string domain(canonicalDomain(node.domain()));
    auto own = function.opsets.find(domain);
    if (own == function.opsets.end())
      return;
    int64_t outside = 0;
    if (!context.proto) {
      auto it = opsets.find(domain);
      outside = it == opsets.end() ? 0 : it->second;
    }
    if (outside == own->second)
      return;
    auto *entry = node.add_metadata_props();
    entry->set_key(opsetMetadataKey);
    entry->set_value(absl::StrCat(own->second));
  }

  // Attributes that refer to the function's: the call's, else the default, else left out.
  absl::Status substitute(Node &node, const Copy &copy) {
    for (int i = 0; i < node.attribute_size();) {
      Attribute &attribute = *node.mutable_attribute(i);
      if (attribute.ref_attr_name().empty()) {
        ++i;
        continue;
      }
      const Attribute *value = nullptr;
      for (const Attribute &candidate : copy.proto.attribute_proto())
        if (candidate.name() == attribute.ref_attr_name())
          value = &candidate;
      for (const Attribute &candidate : copy.callNode.attribute())
        if (candidate.name() == attribute.ref_attr_name())
          value = &candidate;
      if (!value) {
        node.mutable_attribute()->DeleteSubrange(i, 1);
        continue;
      }
      std::string name = attribute.name();
      attribute = *value;
      attribute.set_name(name);
      substitutedBytes += attribute.ByteSizeLong();
      if (substitutedBytes > limits.inlinedBytes)
        return absl::ResourceExhaustedError(
            absl::StrCat("attributes passed to local functions come to more than ", limits.inlinedBytes, " bytes"));
      ++i;
    }
    return absl::OkStatus();
  }

  ::onnx::ModelProto &model;
  const Opsets &opsets;
  const Limits &limits;
  std::map<FunctionKey, std::unique_ptr<Function>> functions;
  std::vector<Function *> order;
  int activeCalls = 0;
  absl::flat_hash_set<std::string> taken;
  int64_t substitutedBytes = 0;
};

} // namespace

absl::Status inlineFunctions(::onnx::ModelProto &model, const Opsets &opsets, const Limits &limits) {
  if (model.functions_size() == 0)
    return absl::OkStatus();
  return Inliner(model, opsets, limits).run();
}

} // namespace tcc::onnx
