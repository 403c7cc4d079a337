//===- Passes.h - the steps of loading a model ------------------*- C++ -*-===//
//
// Program::load runs them in this order. Internal to this folder.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "frontend/onnx/program/ExternalData.h"
#include "frontend/onnx/program/Program.h"
#include "onnx/onnx-ml.pb.h"

namespace tcc::onnx {

using Opsets = std::map<std::string, int64_t, std::less<>>;

/// Brings the nodes of every graph and function into an order in which each comes after those that it reads from; those
/// that are in order keep it. A cycle is an error.
absl::Status sortNodes(::onnx::ModelProto &model);

/// Everything Program.h promises of names, tensors and attributes, for the main graph and all functions. Fills in the
/// type of attributes that only show it by their value (IR version 1), and resolves external data.
absl::Status validateModel(::onnx::ModelProto &model, const Limits &limits, ExternalFiles &external);

/// Replaces calls of local functions by their bodies. A node that came in under another version of its op set than the
/// model's carries it as metadata (opsetMetadataKey).
absl::Status inlineFunctions(::onnx::ModelProto &model, const Opsets &opsets, const Limits &limits);
extern const char opsetMetadataKey[];

/// Gives every node a name that no other has; names that are unique stay.
void nameNodes(::onnx::GraphProto &graph);

ValueInfo toValueInfo(const ::onnx::ValueInfoProto &proto);

/// "node 'conv1' (Conv)", with what there is.
std::string describe(const ::onnx::NodeProto &node);

} // namespace tcc::onnx
