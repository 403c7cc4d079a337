// Small models in ONNX's text syntax, imported and run on the interpreter.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/Import.h"
#include "frontend/onnx/program/Program.h"
#include "gtest/gtest.h"
#include "runtime/tensor.h"

namespace tcc::onnx::test {

Tensor floats(std::vector<int64_t> dims, std::vector<float> values);
Tensor ints(std::vector<int64_t> dims, std::vector<int64_t> values);
/// 0, 1, 2, ...
Tensor count(std::vector<int64_t> dims);

struct RunOptions {
  std::set<int64_t> open = {};  ///< with `dynamic`: only these extents are symbols; empty: all of 2 and more
  std::string* ir = nullptr;    ///< gets the module that was imported
};
/// Imports the text and interprets it. `dynamic`: every extent of 2 and more is a symbol. An error is the diagnostics'
/// text.
absl::StatusOr<std::vector<Tensor>> run(const std::string& text, const std::vector<Tensor>& inputs,
                                        bool dynamic = false, const LoadOptions& load = {},
                                        const RunOptions& runOptions = {});

/// One node: `body` of a graph with float inputs x0.. of the tensors' types and one output y.
std::string node(int opset, const std::string& inputs, const std::string& body);

/// Runs and compares the only output; static and dynamic.
void expect(const std::string& text, const std::vector<Tensor>& inputs, const Tensor& want, double rtol = 1e-5);
/// The run or the import fails with a message that contains `part`.
void expectError(const std::string& text, const std::vector<Tensor>& inputs, const std::string& part,
                 const LoadOptions& load = {});

}  // namespace tcc::onnx::test
