#include "compiler/reproducer.h"

#include <stdlib.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/diagnostics.h"
#include "ir/Dialect.h"
#include "ir/Extents.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/RegionUtils.h"
#include "runtime/file_util.h"
#include "runtime/npy.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// The value of a symbol: the extent of any value whose type has it.
std::optional<int64_t> SymbolValue(unsigned position, const std::map<void*, Tensor>& values) {
  for (const auto& [pointer, tensor] : values) {
    const ir::Exprs extents = ir::getExtents(mlir::Value::getFromOpaquePointer(pointer).getType());
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(extents[axis]);
      if (symbol && symbol.getPosition() == position) return tensor.dim(static_cast<int>(axis));
    }
  }
  return std::nullopt;
}

class Builder {
 public:
  Builder(mlir::Operation* op, const std::map<void*, Tensor>& values)
      : op_(op), values_(values), b_(op->getContext()), module_(mlir::ModuleOp::create(op->getLoc())) {
    b_.setInsertionPointToEnd(module_->getBody());
    function_ = b_.create<mlir::func::FuncOp>(op->getLoc(), "main", b_.getFunctionType({}, {}));
    function_->setAttr(ir::TCCDialect::kSymbolsAttr, ir::getSymbols(op));
    block_ = function_.addEntryBlock();
    b_.setInsertionPointToEnd(block_);
  }

  bool Build() {
    llvm::SetVector<mlir::Value> inputs;
    inputs.insert(op_->operand_begin(), op_->operand_end());
    mlir::getUsedValuesDefinedAbove(op_->getRegions(), inputs);
    mlir::IRMapping mapping;
    for (mlir::Value input : inputs) {
      // Constants stay constants: schedules treat them differently.
      mlir::Operation* maker = input.getDefiningOp();
      if (maker != nullptr && maker->hasTrait<mlir::OpTrait::ConstantLike>()) {
        b_.clone(*maker, mapping);
        continue;
      }
      const auto it = values_.find(input.getAsOpaquePointer());
      if (it == values_.end()) return false;
      mapping.map(input, AddArgument(absl::StrCat("operand", arrays.size()), input.getType(), it->second));
    }
    // Extents may depend on symbols that no operand shows: each gets an argument of its own, of that many bytes.
    const mlir::ArrayAttr symbols = ir::getSymbols(op_);
    for (unsigned i = 0; i < symbols.size(); ++i) {
      const std::optional<int64_t> value = SymbolValue(i, values_);
      if (!value) continue;
      const absl::StatusOr<Tensor> bytes = Tensor::Allocate(DType::kI8, {*value});
      if (!bytes.ok()) return false;
      AddArgument(absl::StrCat("symbol", i),
                  ir::makeTensorType({mlir::getAffineSymbolExpr(i, b_.getContext())}, b_.getI8Type()), *bytes);
    }
    mlir::Operation* copy = b_.clone(*op_, mapping);
    b_.create<mlir::func::ReturnOp>(op_->getLoc(), copy->getResults());
    function_.setFunctionType(b_.getFunctionType(block_->getArgumentTypes(), copy->getResultTypes()));
    for (size_t i = 0; i < names_.size(); ++i) {
      function_.setArgAttr(static_cast<unsigned>(i), ir::TCCDialect::kInputNameAttr, b_.getStringAttr(names_[i]));
    }
    return true;
  }

  std::string Text() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    mlir::ModuleOp module = *module_;
    module.print(stream, mlir::OpPrintingFlags().enableDebugInfo());
    return text;
  }

  NamedTensors arrays;

 private:
  mlir::Value AddArgument(const std::string& name, mlir::Type type, const Tensor& value) {
    names_.push_back(name);
    arrays.emplace_back(name, value);
    return block_->addArgument(type, op_->getLoc());
  }

  mlir::Operation* op_;
  const std::map<void*, Tensor>& values_;
  mlir::OpBuilder b_;
  mutable mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  mlir::Block* block_ = nullptr;
  std::vector<std::string> names_;
};

}  // namespace

std::string WriteReproducer(mlir::Operation* op, const std::map<void*, Tensor>& values, const Tensor& actual,
                            const Tensor& expected) {
  Builder builder(op, values);
  if (!builder.Build()) return "";
  const char* base = ::getenv("TCC_REPRODUCER_DIR");
  std::string folder = absl::StrCat(base != nullptr ? base : "/tmp", "/tcc-verify-XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) return "";
  builder.arrays.emplace_back("actual", actual);
  builder.arrays.emplace_back("expected", expected);
  const bool good = WriteFileAtomically(folder + "/kernel.mlir", builder.Text()).ok() &&
                    SaveNpz(folder + "/values.npz", builder.arrays).ok();
  return good ? folder : "";
}

absl::StatusOr<Verification> VerifyReproducer(const std::string& folder, mlir::MLIRContext* context,
                                              const TargetFactory& make_target, const VerifyTolerance& tolerance) {
  const std::string path = absl::StrCat(folder, "/kernel.mlir");
  DiagnosticCollector diagnostics(context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(path, context);
  if (!module) return WithContext(path, diagnostics.Take("cannot be read"));
  auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!function || !function.getBody().hasOneBlock()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has no function @main of one block"));
  }
  TCC_ASSIGN_OR_RETURN(const std::unique_ptr<codegen::Target> target, make_target());
  const auto built = codegen::buildPlan(function, target.get());
  if (mlir::failed(built)) return WithContext(path, diagnostics.Take("building the plan failed"));
  TCC_ASSIGN_OR_RETURN(Verification result,
                       Verify({*module, *module, *module}, *built, absl::StrCat(folder, "/values.npz"), make_target,
                              /*write_reproducer=*/false, tolerance));
  if (!result.agrees) result.reproducer = folder;
  return result;
}

}  // namespace tcc
