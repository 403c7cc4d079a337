#include "tests/onnx_import/model.h"

#include <algorithm>
#include <map>

#include "frontend/onnx/import/tool/Compare.h"
#include "frontend/onnx/import/tool/TextModel.h"
#include "frontend/onnx/program/Program.h"
#include "ir/Dialect.h"
#include "ir/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace tcc::onnx::test {

template <typename T>
static Tensor make(DType dtype, const std::vector<int64_t>& dims, const std::vector<T>& values) {
  Tensor t = *Tensor::Allocate(dtype, dims);
  EXPECT_EQ(t.num_elements(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), t.data_as<T>());
  return t;
}

Tensor floats(std::vector<int64_t> dims, std::vector<float> values) { return make(DType::kF32, dims, values); }
Tensor ints(std::vector<int64_t> dims, std::vector<int64_t> values) { return make(DType::kI64, dims, values); }
Tensor count(std::vector<int64_t> dims) {
  std::vector<float> values(*NumElements(dims));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return floats(dims, values);
}

std::string node(int opset, const std::string& inputs, const std::string& body) {
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\nmodel (" + inputs +
         ") => (float y) {\n" + body + "\n}";
}

absl::StatusOr<std::vector<Tensor>> run(const std::string& text, const std::vector<Tensor>& inputs, bool dynamic,
                                        const LoadOptions& load, const RunOptions& runOptions) {
  absl::StatusOr<std::string> bytes = modelFromText(text);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<std::shared_ptr<const Program>> program = Program::parse(*bytes, "", load);
  if (!program.ok()) return program.status();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& d) { diagnostics += d.str() + "\n"; });
  std::set<std::string> valueInputs;
  std::set<unsigned> staticSymbols;
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> module = mlir::failure();
  std::set<std::string> constants;
  std::vector<Tensor> arguments;
  for (int round = 0; round < 4 && failed(module); ++round) {
    ImportOptions options;
    std::map<int64_t, int> symbols;
    arguments.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& name = (*program)->inputs()[i].name;
      if (constants.count(name)) {
        options.constants[name] = {inputs[i]};
        continue;
      }
      InputSpec spec;
      spec.name = name;
      spec.dtype = inputs[i].dtype();
      for (int64_t extent : inputs[i].dims()) {
        bool symbolic = dynamic && extent >= 2 && staticSymbols.empty() &&
                        (runOptions.open.empty() || runOptions.open.count(extent) > 0);
        auto [it, isNew] = symbolic ? symbols.try_emplace(extent, symbols.size()) : std::pair(symbols.end(), false);
        if (isNew) {
          Symbol symbol;
          symbol.name = "s" + std::to_string(it->second);
          options.signature.symbols.push_back(symbol);
        }
        spec.dims.push_back(symbolic ? Extent::Of(it->second) : Extent::Constant(extent));
      }
      options.signature.inputs.push_back(spec);
      arguments.push_back(inputs[i]);
    }
    diagnostics.clear();
    module = importModel(**program, options, &context, &valueInputs, &staticSymbols);
    if (failed(module) && valueInputs.empty() && staticSymbols.empty()) break;
    constants.insert(valueInputs.begin(), valueInputs.end());
  }
  if (failed(module)) return absl::InvalidArgumentError(diagnostics);
  if (runOptions.ir != nullptr) {
    llvm::raw_string_ostream stream(*runOptions.ir);
    (*module)->print(stream);
  }
  return ir::interpret((*module)->lookupSymbol<mlir::func::FuncOp>("main"), arguments);
}

void expect(const std::string& text, const std::vector<Tensor>& inputs, const Tensor& want, double rtol) {
  for (bool dynamic : {false, true}) {
    SCOPED_TRACE(dynamic ? "dynamic extents" : "static extents");
    absl::StatusOr<std::vector<Tensor>> results = run(text, inputs, dynamic);
    ASSERT_TRUE(results.ok()) << results.status().message();
    ASSERT_EQ(results->size(), 1u);
    EXPECT_EQ(difference((*results)[0], want, rtol, 1e-7), "");
  }
}

void expectError(const std::string& text, const std::vector<Tensor>& inputs, const std::string& part,
                 const LoadOptions& load) {
  absl::StatusOr<std::vector<Tensor>> results = run(text, inputs, /*dynamic=*/false, load);
  ASSERT_FALSE(results.ok());
  EXPECT_NE(results.status().message().find(part), absl::string_view::npos) << results.status().message();
}

}  // namespace tcc::onnx::test
