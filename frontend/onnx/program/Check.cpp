//===- Check.cpp - ONNX's own checker -------------------------------------===//
#include "frontend/onnx/program/Check.h"

#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "onnx/checker.h"

namespace tcc::onnx {

namespace {

// Calls `visit(tensor)` for every tensor of the model.
template <typename Visit> class TensorVisitor {
public:
  explicit TensorVisitor(Visit visit) : visit(visit) {}
  void graph(::onnx::GraphProto &graph) {
    for (auto &tensor : *graph.mutable_initializer())
      visit(tensor);
    nodes(*graph.mutable_node());
  }
  template <typename Nodes> void nodes(Nodes &nodes) {
    for (auto &node : nodes)
      for (auto &attribute : *node.mutable_attribute()) {
        if (attribute.has_t())
          visit(*attribute.mutable_t());
        for (auto &tensor : *attribute.mutable_tensors())
          visit(tensor);
        if (attribute.has_g())
          graph(*attribute.mutable_g());
        for (auto &g : *attribute.mutable_graphs())
          graph(g);
      }
  }

private:
  Visit visit;
};

struct Hidden {
  ::onnx::TensorProto *place;
  ::onnx::TensorProto original;
};

} // namespace

absl::Status checkModel(::onnx::ModelProto &model) {
  std::vector<Hidden> hidden;
  TensorVisitor visitor([&](::onnx::TensorProto &tensor) {
    if (tensor.data_location() != ::onnx::TensorProto::EXTERNAL)
      return;
    hidden.push_back({&tensor, {}});
    hidden.back().original.Swap(&tensor);
    tensor.set_name(hidden.back().original.name());
    tensor.set_data_type(hidden.back().original.data_type());
    tensor.add_dims(0);
  });
  visitor.graph(*model.mutable_graph());
  for (auto &function : *model.mutable_functions())
    visitor.nodes(*function.mutable_node());
  // The checker wants every input and output of the model to have a shape, the importer does not need it.
  std::vector<::onnx::TypeProto_Tensor *> shapeless;
  for (auto *values : {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()})
    for (auto &value : *values)
      if (value.type().has_tensor_type() && !value.type().tensor_type().has_shape()) {
        shapeless.push_back(value.mutable_type()->mutable_tensor_type());
        shapeless.back()->mutable_shape();
      }
  absl::Cleanup restore = [&] {
    for (Hidden &h : hidden)
      h.place->Swap(&h.original);
    for (::onnx::TypeProto_Tensor *type : shapeless)
      type->clear_shape();
  };
  try {
    ::onnx::checker::check_model(model);
  } catch (const std::exception &error) {
    absl::string_view message = error.what();
    while (!message.empty() && message.back() == '\n')
      message.remove_suffix(1);
    return absl::InvalidArgumentError(absl::StrCat("does not pass the ONNX checker: ", message));
  }
  return absl::OkStatus();
}

} // namespace tcc::onnx
