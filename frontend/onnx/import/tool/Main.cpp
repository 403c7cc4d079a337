//===- Main.cpp - tcc-onnx-import: look at imports, run node tests ---------===//
//
// tcc-onnx-import MODEL [--dynamic] [--input NAME=3,4] : prints the imported module. MODEL is an .onnx file or ONNX's
// text syntax (.onnxtxt). tcc-onnx-import --run DIR... [--dynamic] [--constants] [--verbose] : runs ONNX backend test
// folders with the interpreter; a line each: PASS, FAIL or SKIP (not supported), name, reason.
//
//===----------------------------------------------------------------------===//
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/Import.h"
#include "frontend/onnx/import/tool/Compare.h"
#include "frontend/onnx/import/tool/TextModel.h"
#include "frontend/onnx/program/Program.h"
#include "frontend/onnx/program/ValueFile.h"
#include "ir/Dialect.h"
#include "ir/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace fs = std::filesystem;

namespace tcc::onnx {
namespace {

struct Flags {
  bool run = false, dynamic = false, constants = false, verbose = false;
  std::vector<std::string> paths;
};

struct Outcome {
  enum Kind { Pass, Fail, Skip } kind;
  std::string reason;
};

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

/// Diagnostics of the context as one text, "where: what".
class Collected {
public:
  explicit Collected(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &d) {
          llvm::raw_string_ostream out(text);
          if (auto name = llvm::dyn_cast<mlir::NameLoc>(d.getLocation()))
            out << name.getName().getValue() << ": ";
          out << d.str() << "\n";
        }) {}
  std::string text;

private:
  mlir::ScopedDiagnosticHandler handler;
};

void flatten(const Value &value, std::vector<Tensor> &out) {
  if (value.kind == ValueInfo::Kind::Tensor) {
    out.push_back(value.tensor);
    return;
  }
  for (const Value &element : value.elements)
    flatten(element, out);
}

std::string read(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

absl::StatusOr<std::shared_ptr<const Program>> loadModel(const std::string &path) {
  if (path.ends_with(".onnxtxt")) {
    absl::StatusOr<std::string> bytes = modelFromText(read(path));
    if (!bytes.ok())
      return bytes.status();
    return Program::parse(*bytes);
  }
  return Program::load(path);
}

/// Extents of 2 and more become symbols; equal ones share one, as a session would do it.
ImportOptions optionsFor(const Program &program, const std::vector<Value> &inputs, const Flags &flags,
                         const std::set<int64_t> &staticExtents, const std::set<std::string> &constants) {
  ImportOptions options;
  std::map<int64_t, int> symbols;
  for (size_t i = 0; i < program.inputs().size(); ++i) {
    const ValueInfo &info = program.inputs()[i];
    if (i >= inputs.size()) {
      InputSpec spec;
      spec.name = info.name;
      spec.absent = true;
      options.signature.inputs.push_back(spec);
      continue;
    }
    if (info.kind != ValueInfo::Kind::Tensor || inputs[i].tensor.dtype() == DType::kString || flags.constants ||
        constants.count(info.name)) {
      std::vector<Tensor> tensors;
      flatten(inputs[i], tensors);
      options.constants[info.name] = tensors;
      continue;
    }
    InputSpec spec;
    spec.name = info.name;
    spec.dtype = inputs[i].tensor.dtype();
    for (int64_t extent : inputs[i].tensor.dims()) {
      if (!flags.dynamic || extent < 2 || staticExtents.count(extent)) {
        spec.dims.push_back(Extent::Constant(extent));
        continue;
      }
      auto [it, isNew] = symbols.try_emplace(extent, options.signature.symbols.size());
      if (isNew)
        options.signature.symbols.push_back({.name = "s" + std::to_string(it->second)});
      spec.dims.push_back(Extent::Of(it->second));
    }
    options.signature.inputs.push_back(spec);
  }
  return options;
}

absl::StatusOr<std::vector<Value>> loadValues(const fs::path &folder, const std::string &prefix,
                                              const std::vector<ValueInfo> &infos) {
  std::vector<Value> values;
  for (size_t i = 0; i < infos.size(); ++i) {
    fs::path file = folder / (prefix + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file))
      break;
    absl::StatusOr<Value> value = loadValueFile(file.string(), infos[i].kind);
    if (!value.ok())
      return value.status();
    values.push_back(*value);
  }
  return values;
}

Outcome runData(const Program &program, const fs::path &data, const Flags &flags) {
  absl::StatusOr<std::vector<Value>> inputs = loadValues(data, "input", program.inputs());
  absl::StatusOr<std::vector<Value>> outputs = loadValues(data, "output", program.outputs());
  if (!inputs.ok() || !outputs.ok())
    return {Outcome::Fail, std::string(inputs.ok() ? outputs.status().message() : inputs.status().message())};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Collected diagnostics(&context);
  // As a session does it: specialise on the values that decide shapes, and on extents that must be numbers.
  std::set<int64_t> staticExtents;
  std::set<std::string> constants;
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> module = mlir::failure();
  for (int round = 0; round < 8; ++round) {
    std::set<std::string> valueInputs;
    std::set<unsigned> staticSymbols;
    diagnostics.text.clear();
    ImportOptions options = optionsFor(program, *inputs, flags, staticExtents, constants);
    module = importModel(program, options, &context, &valueInputs, &staticSymbols);
    if (succeeded(module) || (valueInputs.empty() && staticSymbols.empty()))
      break;
    constants.insert(valueInputs.begin(), valueInputs.end());
    for (size_t i = 0; i < options.signature.inputs.size(); ++i) {
      const InputSpec &spec = options.signature.inputs[i];
      for (size_t k = 0; k < inputs->size(); ++k)
        if (program.inputs()[k].name == spec.name)
          for (size_t axis = 0; axis < spec.dims.size(); ++axis)
            if (spec.dims[axis].symbol >= 0 && staticSymbols.count(spec.dims[axis].symbol))
              staticExtents.insert((*inputs)[k].tensor.dim(axis));
    }
  }
  if (failed(module)) {
    bool known = diagnostics.text.find("not supported") != std::string::npos;
    std::string reason = diagnostics.text;
    for (char &c : reason)
      if (c == '\n')
        c = ' ';
    return {known ? Outcome::Skip : Outcome::Fail, reason};
  }
  if (flags.verbose)
    (*module)->dump();
  auto function = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(i, ir::TCCDialect::kInputNameAttr);
    for (size_t k = 0; k < program.inputs().size(); ++k)
      if (name.getValue() == program.inputs()[k].name)
        arguments.push_back((*inputs)[k].tensor);
  }
  absl::StatusOr<std::vector<Tensor>> results = ir::interpret(function, arguments);
  if (!results.ok())
    return {Outcome::Fail, std::string(results.status().message())};
  std::vector<Tensor> wanted;
  for (const Value &output : *outputs)
    flatten(output, wanted);
  if (wanted.size() != results->size())
    return {Outcome::Fail, absl::StrCat(results->size(), " results, expected ", wanted.size())};
  for (size_t i = 0; i < wanted.size(); ++i) {
    // ONNX's runner: rtol 1e-3, atol 1e-7; half precision is as wide as its own rounding.
    bool half = wanted[i].dtype() == DType::kF16 || wanted[i].dtype() == DType::kBF16;
    std::string text = difference((*results)[i], wanted[i], half ? 1e-2 : 1e-3, half ? 1e-3 : 1e-6);
    if (!text.empty())
      return {Outcome::Fail, absl::StrCat("output ", i, " ", text)};
  }
  return {Outcome::Pass, ""};
}

Outcome runFolder(const fs::path &folder, const Flags &flags) {
  absl::StatusOr<std::shared_ptr<const Program>> program = Program::load((folder / "model.onnx").string());
  if (!program.ok())
    return {Outcome::Fail, "load: " + std::string(program.status().message())};
  bool any = false;
  for (int i = 0; fs::exists(folder / ("test_data_set_" + std::to_string(i))); ++i) {
    Outcome outcome = runData(**program, folder / ("test_data_set_" + std::to_string(i)), flags);
    if (outcome.kind != Outcome::Pass)
      return outcome;
    any = true;
  }
  return any ? Outcome{Outcome::Pass, ""} : Outcome{Outcome::Skip, "no data"};
}

int runAll(const Flags &flags) {
  int counts[3] = {0, 0, 0};
  for (const std::string &path : flags.paths) {
    Outcome outcome = runFolder(path, flags);
    static const char *const kNames[] = {"PASS", "FAIL", "SKIP"};
    std::cout << kNames[outcome.kind] << " " << fs::path(path).filename().string() << " " << firstLine(outcome.reason)
              << std::endl;
    ++counts[outcome.kind];
  }
  std::cout << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " skipped\n";
  return counts[1] ? 1 : 0;
}

int print(const Flags &flags) {
  absl::StatusOr<std::shared_ptr<const Program>> program = loadModel(flags.paths.at(0));
  if (!program.ok()) {
    std::cerr << program.status().message() << "\n";
    return 2;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Collected diagnostics(&context);
  ImportOptions options;
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> module = importModel(**program, options, &context);
  std::cerr << diagnostics.text;
  if (failed(module))
    return 2;
  mlir::OpPrintingFlags printing;
  printing.elideLargeElementsAttrs(16);
  printing.elideLargeResourceString(16);
  (*module)->print(llvm::outs(), printing);
  return 0;
}

} // namespace
} // namespace tcc::onnx

int main(int argc, char **argv) {
  tcc::onnx::Flags flags;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--run")
      flags.run = true;
    else if (argument == "--dynamic")
      flags.dynamic = true;
    else if (argument == "--constants")
      flags.constants = true;
    else if (argument == "--verbose")
      flags.verbose = true;
    else
      flags.paths.push_back(argument);
  }
  if (flags.paths.empty()) {
    std::cerr << "usage: tcc-onnx-import MODEL | --run DIR... [--dynamic] [--constants] [--verbose]\n";
    return 2;
  }
  return flags.run ? tcc::onnx::runAll(flags) : tcc::onnx::print(flags);
}
