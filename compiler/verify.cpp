#include "compiler/verify.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "compiler/compare.h"
#include "compiler/diagnostics.h"
#include "compiler/reproducer.h"
#include "ir/Dialect.h"
#include "ir/Extents.h"
#include "ir/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/code_object.h"
#include "runtime/devices/registry.h"
#include "runtime/executor.h"
#include "runtime/npy.h"
#include "runtime/status.h"

namespace tcc {
namespace {

mlir::func::FuncOp Main(mlir::ModuleOp module) { return module.lookupSymbol<mlir::func::FuncOp>("main"); }

// Of the array with each argument's name.
absl::StatusOr<std::vector<Tensor>> Arguments(mlir::func::FuncOp function, const std::string& path) {
  TCC_ASSIGN_OR_RETURN(const NamedTensors arrays, LoadNpz(path));
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const auto name = function.getArgAttrOfType<mlir::StringAttr>(i, ir::TCCDialect::kInputNameAttr);
    const auto it =
        std::find_if(arrays.begin(), arrays.end(), [&](const auto& item) { return name && item.first == name.str(); });
    if (it == arrays.end()) return absl::InvalidArgumentError(absl::StrCat(path, ": an input is missing"));
    arguments.push_back(it->second);
  }
  return arguments;
}

std::vector<int64_t> SymbolValues(mlir::func::FuncOp function, const std::vector<Tensor>& arguments, size_t count) {
  std::vector<int64_t> values(count, 0);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const ir::Exprs extents = ir::getExtents(function.getArgument(i).getType());
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(extents[axis]);
      if (symbol && symbol.getPosition() < count) {
        values[symbol.getPosition()] = arguments[i].dim(static_cast<int>(axis));
      }
    }
  }
  return values;
}

// Runs a plan on the arguments of the function it was built from.
absl::StatusOr<std::vector<Tensor>> RunPlan(mlir::func::FuncOp function, const codegen::PlanResult& built,
                                            const std::vector<Tensor>& arguments) {
  TCC_ASSIGN_OR_RETURN(const Tensor constants,
                       Tensor::Allocate(DType::kU8, {std::max<int64_t>(built.constantBytes, 1)}));
  for (size_t i = 0; i < built.constants.size(); ++i) {
    if (built.constants[i].dtype() == DType::kString) {
      return absl::UnimplementedError("models with constants of strings cannot be verified");
    }
    TCC_ASSIGN_OR_RETURN(const Tensor tensor, built.constants[i].Contiguous());
    if (tensor.bytes() > 0) {
      std::memcpy(constants.data_as<char>() + built.plan.constants[i].offset, tensor.data(), tensor.bytes());
    }
  }
  std::shared_ptr<const CodeObject> code;
  if (!built.codeObject.empty()) {
    TCC_ASSIGN_OR_RETURN(code, CodeObject::Load(built.codeObject, "verify"));
  }
  PreparedPlan::Options options;
  for (const KernelImage& image : built.images) options.images.emplace_back(image);
  if (!built.images.empty()) {
    const bool simulated = built.images[0].binaries.count("sim") > 0;
    TCC_ASSIGN_OR_RETURN(options.device, devices::DefaultDevice(simulated ? "cuda-sim" : "cuda"));
  }
  const std::string_view bytes(constants.data_as<char>(), static_cast<size_t>(built.constantBytes));
  TCC_ASSIGN_OR_RETURN(const std::shared_ptr<const PreparedPlan> plan,
                       PreparedPlan::Create(built.plan, code, bytes, constants.storage(), options));
  ExecutionContext context(plan);
  return context.Run(arguments, SymbolValues(function, arguments, built.plan.symbol_registers.size()));
}

// What rounding may come to: contractions sum in another order.
double Allowed(DType dtype) {
  if (dtype == DType::kF16) return 2e-2;
  if (dtype == DType::kBF16) return 1e-1;
  if (dtype == DType::kF64) return 1e-10;
  return IsFloat(dtype) || IsComplex(dtype) ? 2e-4 : 0;
}

// The first of the tensors that differs, or -1; `max_error` grows to the largest error.
absl::StatusOr<int> FirstDifference(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                                    const VerifyTolerance& tolerance, double* max_error) {
  int first = -1;
  for (size_t i = 0; i < expected.size(); ++i) {
    const absl::StatusOr<double> error = RelativeError(actual[i], expected[i]);
    if (error.ok()) *max_error = std::max(*max_error, *error);
    bool right = error.ok();
    if (tolerance.max_error >= 0) {
      right = right && *error <= tolerance.max_error;
    } else if (tolerance.elements) {
      right = CompareTensors(actual[i], expected[i], *tolerance.elements).ok();
    } else {
      const bool rounds = IsFloat(expected[i].dtype()) || IsComplex(expected[i].dtype());
      right = right && *error <= std::max(Allowed(expected[i].dtype()), rounds ? tolerance.rounding : 0);
    }
    if (first < 0 && !right) first = static_cast<int>(i);
  }
  return first;
}

// The first top-level op of the fused function whose compiled result differs from its interpreted one.
absl::Status FindKernel(mlir::ModuleOp fused, const std::vector<Tensor>& arguments, const TargetFactory& make_target,
                        const VerifyTolerance& tolerance, bool write_reproducer, Verification* verification) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = fused.clone();
  mlir::func::FuncOp function = Main(*copy);
  mlir::Operation* terminator = function.front().getTerminator();
  // All values become results.
  std::vector<std::pair<mlir::Operation*, unsigned>> makers;
  llvm::SmallVector<mlir::Value> results;
  for (mlir::Operation& op : function.front().without_terminator()) {
    if (op.hasTrait<mlir::OpTrait::ConstantLike>()) continue;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      makers.emplace_back(&op, i);
      results.push_back(op.getResult(i));
    }
  }
  terminator->setOperands(results);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : results) types.push_back(value.getType());
  function.setFunctionType(mlir::FunctionType::get(function.getContext(), function.getArgumentTypes(), types));

  std::map<void*, Tensor> values;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    values[function.getArgument(i).getAsOpaquePointer()] = arguments[i];
  }
  ir::InterpretOptions options;
  options.observe = [&](mlir::Operation* op, absl::Span<const Tensor> tensors) {
    for (unsigned i = 0; i < op->getNumResults() && i < tensors.size(); ++i) {
      values[op->getResult(i).getAsOpaquePointer()] = tensors[i];
    }
  };
  TCC_ASSIGN_OR_RETURN(const std::vector<Tensor> expected, ir::interpret(function, arguments, options));
  TCC_ASSIGN_OR_RETURN(const std::unique_ptr<codegen::Target> target, make_target());
  DiagnosticCollector diagnostics(function.getContext());
  const auto built = codegen::buildPlan(function, target.get());
  if (mlir::failed(built)) return diagnostics.Take("building the plan of all values failed");
  TCC_ASSIGN_OR_RETURN(const std::vector<Tensor> actual, RunPlan(function, *built, arguments));
  double ignored = 0;
  TCC_ASSIGN_OR_RETURN(const int first, FirstDifference(actual, expected, tolerance, &ignored));
  if (first < 0) {
    verification->where = "code generation: no single kernel (memory planning, or a kernel that depends on its place)";
    return absl::OkStatus();
  }
  const auto at = static_cast<size_t>(first);
  mlir::Operation* const op = makers[at].first;
  verification->where = absl::StrCat("code generation: ", NameOf(op->getLoc()), ": ",
                                     std::string(CompareTensors(actual[at], expected[at], {0, 0}).message()));
  if (write_reproducer) verification->reproducer = WriteReproducer(op, values, actual[at], expected[at]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Verification> Verify(const VerifyStages& stages, const codegen::PlanResult& compiled,
                                    const std::string& inputs, const TargetFactory& target, bool write_reproducer,
                                    const VerifyTolerance& tolerance) {
  Verification verification;
  TCC_ASSIGN_OR_RETURN(const std::vector<Tensor> arguments, Arguments(Main(stages.fused), inputs));
  TCC_ASSIGN_OR_RETURN(const std::vector<Tensor> expected, ir::interpret(Main(stages.imported), arguments));
  const absl::StatusOr<std::vector<Tensor>> actual = RunPlan(Main(stages.fused), compiled, arguments);
  if (actual.ok()) {
    TCC_ASSIGN_OR_RETURN(const int first, FirstDifference(*actual, expected, tolerance, &verification.max_error));
    if (first < 0) return verification;
  }
  verification.agrees = false;
  double ignored = 0;
  const std::pair<const char*, mlir::ModuleOp> checked[] = {{"simplify", stages.simplified}, {"fuse", stages.fused}};
  for (const auto& [phase, module] : checked) {
    const absl::StatusOr<std::vector<Tensor>> outputs = ir::interpret(Main(module), arguments);
    const absl::StatusOr<int> first =
        outputs.ok() ? FirstDifference(*outputs, expected, tolerance, &ignored) : absl::StatusOr<int>(outputs.status());
    if (first.ok() && *first < 0) continue;
    verification.where = absl::StrCat(
        "phase ", phase, ": ", first.ok() ? absl::StrCat("output ", *first, " differs") : first.status().message());
    return verification;
  }
  const absl::Status found = FindKernel(stages.fused, arguments, target, tolerance, write_reproducer, &verification);
  if (!found.ok()) verification.where = absl::StrCat("code generation: ", found.message());
  if (!actual.ok()) verification.where = absl::StrCat(verification.where, " (", actual.status().message(), ")");
  return verification;
}

}  // namespace tcc
