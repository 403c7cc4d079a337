//===- Import.h - ONNX program to tcc dialect -------------------*- C++ -*-===//
//
// One specialisation of a model: a module with `func.func @main` in the tcc dialect.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/signature.h"
#include "runtime/tensor.h"

namespace tcc::onnx {

class Program;

/// What the model is specialised on. Inputs of the graph that are not listed take the types the model states, with a
/// symbol for each extent it does not state as a number (equal dim_params share one).
struct ImportOptions {
  /// Symbols, and inputs by name: dtype and extents; small integer inputs with known `values`; `absent` ones, which
  /// take their initializer (or are left out). `outputs` is not read.
  Signature signature;
  /// Inputs that are constants of this specialisation: they are no arguments of @main. More than one tensor: a
  /// sequence.
  std::map<std::string, std::vector<Tensor>> constants;
  /// Symbols for extents the model leaves open start from this.
  int64_t minExtent = 2;
};

/// Name of the function attribute with the output names (array of strings), beside the dialect's tcc.symbols and
/// tcc.name.
inline constexpr llvm::StringLiteral kOutputNamesAttr = "tcc.output_names";

/// Failure: diagnostics were emitted on the context, at NameLocs of the nodes ("node 'conv1' (Conv)"). All ops that are
/// not supported are reported at once, before anything is built. A sequence that the graph returns gives one result per
/// element, named `name[i]`. Thread safety: as that of the context. `program` must outlive the module: constants point
/// into it.
///
/// Where the failure is that a value must be known (axes, a shape the op set wants constant), `valueInputs` gets the
/// graph inputs it depends on: import again with their values given, under a guard on them. `staticSymbols` likewise
/// gets the symbols (positions in the signature) of extents that must be numbers (the head size of an attention).
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importModel(const Program &program, const ImportOptions &options,
                                                               mlir::MLIRContext *context,
                                                               std::set<std::string> *valueInputs = nullptr,
                                                               std::set<unsigned> *staticSymbols = nullptr);

} // namespace tcc::onnx
