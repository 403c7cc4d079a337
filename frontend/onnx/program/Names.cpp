//===- Names.cpp - a unique name for every node ---------------------------===//
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/Passes.h"

namespace tcc::onnx {

std::string describe(const ::onnx::NodeProto &node) {
  if (!node.name().empty())
    return absl::StrCat("node '", node.name(), "' (", node.op_type(), ")");
  for (const std::string &output : node.output())
    if (!output.empty())
      return absl::StrCat("the node that makes '", output, "' (", node.op_type(), ")");
  return absl::StrCat("a node (", node.op_type(), ")");
}

namespace {
class Namer {
public:
  void collect(const ::onnx::GraphProto &graph) {
    for (const ::onnx::NodeProto &node : graph.node()) {
      taken.insert(node.name());
      for (const ::onnx::AttributeProto &attribute : node.attribute()) {
        collect(attribute.g());
        for (const ::onnx::GraphProto &g : attribute.graphs())
          collect(g);
      }
    }
  }

  void name(::onnx::GraphProto &graph) {
    for (::onnx::NodeProto &node : *graph.mutable_node()) {
      if (node.name().empty())
        node.set_name(fresh(node.op_type(), "_"));
      else if (!used.insert(node.name()).second)
        node.set_name(fresh(node.name(), "#"));
      for (::onnx::AttributeProto &attribute : *node.mutable_attribute()) {
        if (attribute.has_g())
          name(*attribute.mutable_g());
        for (::onnx::GraphProto &g : *attribute.mutable_graphs())
          name(g);
      }
    }
  }

private:
  std::string fresh(const std::string &base, const char *separator) {
    int64_t &counter = counters[base];
    std::string candidate;
    do {
      candidate = absl::StrCat(base, separator, ++counter);
    } while (!taken.insert(candidate).second);
    return candidate;
  }

  absl::flat_hash_set<std::string> taken, used;
  absl::flat_hash_map<std::string, int64_t> counters;
};
} // namespace

void nameNodes(::onnx::GraphProto &graph) {
  Namer namer;
  namer.collect(graph);
  namer.name(graph);
}

} // namespace tcc::onnx
