//===- SortNodes.cpp - nodes in an order of their data --------------------===//
//
// The ONNX specification asks for it, but models come otherwise: tools that insert nodes append them, and runtimes that
// sort for themselves let that pass.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <functional>
#include <queue>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/program/Passes.h"
#include "runtime/status.h"

namespace tcc::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using Names = absl::flat_hash_set<std::string_view>;

template <typename Visit> void forEachSubgraph(const ::onnx::NodeProto &node, Visit visit) {
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      visit(attribute.g());
    for (const ::onnx::GraphProto &graph : attribute.graphs())
      visit(graph);
  }
}

/// What a graph reads of those around it.
Names freeNames(const ::onnx::GraphProto &graph) {
  Names names;
  for (const ::onnx::NodeProto &node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    forEachSubgraph(node, [&](const ::onnx::GraphProto &inner) { names.merge(freeNames(inner)); });
  }
  for (const auto &output : graph.output())
    names.insert(output.name());
  for (const ::onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      names.erase(output);
  for (const auto &input : graph.input())
    names.erase(input.name());
  for (const auto &tensor : graph.initializer())
    names.erase(tensor.name());
  for (const auto &tensor : graph.sparse_initializer())
    names.erase(tensor.values().name());
  return names;
}

/// Names the nodes of one cycle among those that were left over.
absl::Status cycle(const Nodes &nodes, const std::vector<std::vector<int>> &needs, const std::vector<int> &missing) {
  int at =
      static_cast<int>(std::find_if(missing.begin(), missing.end(), [](int n) { return n > 0; }) - missing.begin());
  std::vector<int> path, seen(missing.size(), -1);
  while (seen[at] < 0) {
    seen[at] = static_cast<int>(path.size());
    path.push_back(at);
    at = *std::find_if(needs[at].begin(), needs[at].end(), [&](int n) { return missing[n] > 0; });
  }
  path.erase(path.begin(), path.begin() + seen[at]);
  std::reverse(path.begin(), path.end());
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(path.size(), kMostNamed); ++i)
    named.push_back(describe(nodes[path[i]]));
  return absl::InvalidArgumentError(absl::StrCat("the graph has a cycle: ", absl::StrJoin(named, " -> "),
                                                 path.size() > kMostNamed ? " -> ..." : "",
                                                 " -> back to the first: each needs the result of the one before it"));
}

absl::Status sortNodes(Nodes &nodes) {
  for (::onnx::NodeProto &node : nodes)
    for (::onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        TCC_RETURN_IF_ERROR(WithContext(describe(node), sortNodes(*attribute.mutable_g()->mutable_node())));
      for (::onnx::GraphProto &graph : *attribute.mutable_graphs())
        TCC_RETURN_IF_ERROR(WithContext(describe(node), sortNodes(*graph.mutable_node())));
    }

  absl::flat_hash_map<std::string_view, int> producers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].output())
      if (!output.empty())
        producers.try_emplace(output, i);
  bool sorted = true;
  std::vector<std::vector<int>> needs(nodes.size()), users(nodes.size());
  std::vector<int> missing(nodes.size());
  for (int i = 0; i < nodes.size(); ++i) {
    auto read = [&](std::string_view name) {
      auto producer = producers.find(name);
      if (producer == producers.end())
        return;
      needs[i].push_back(producer->second);
      users[producer->second].push_back(i);
      ++missing[i];
      sorted = sorted && producer->second < i;
    };
    for (const std::string &input : nodes[i].input())
      read(input);
    forEachSubgraph(nodes[i], [&](const ::onnx::GraphProto &graph) {
      for (std::string_view name : freeNames(graph))
        read(name);
    });
  }
  if (sorted)
    return absl::OkStatus();

  // Among those that can come next the first as written, so that what is in order stays.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (int user : users[next])
      if (--missing[user] == 0)
        ready.push(user);
  }
  if (static_cast<int>(order.size()) < nodes.size())
    return cycle(nodes, needs, missing);
  Nodes result;
  result.Reserve(nodes.size());
  for (int index : order)
    result.Add()->Swap(nodes.Mutable(index));
  nodes.Swap(&result);
  return absl::OkStatus();
}

} // namespace

absl::Status sortNodes(::onnx::ModelProto &model) {
  for (::onnx::FunctionProto &function : *model.mutable_functions())
    TCC_RETURN_IF_ERROR(
        WithContext(absl::StrCat("function '", function.name(), "'"), sortNodes(*function.mutable_node())));
  return sortNodes(*model.mutable_graph()->mutable_node());
}

} // namespace tcc::onnx
