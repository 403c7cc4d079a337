//===- OperandText.cpp ----------------------------------------------------===//
#include "codegen/cuda/gemm/OperandText.h"

#include "codegen/schedule/ElementTypes.h"
#include "codegen/schedule/template/TileExpr.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr unsigned kRow = 1, kK = 2;

// The same where the operand's windows are as wide.
bool isVector(const OperandSpec &operand, unsigned dim, int count, ArrayAttr symbols) {
  for (const Window &window : operand.windows)
    if (gemm::laneStride(window.position, dim, count) != 0)
      return false;
  return cuda::isVector(operand.offset, dim, count, symbols);
}

// A sum's terms by what they depend on: the row (and nothing), or k.
struct Parts {
  AffineExpr row, k;
};
std::optional<Parts> separate(AffineExpr expr) {
  Parts parts{getAffineConstantExpr(0, expr.getContext()), getAffineConstantExpr(0, expr.getContext())};
  SmallVector<AffineExpr> rest{gemm::simplify(expr)};
  while (!rest.empty()) {
    AffineExpr term = rest.pop_back_val();
    if (term.getKind() == AffineExprKind::Add) {
      rest.push_back(cast<AffineBinaryOpExpr>(term).getRHS());
      rest.push_back(cast<AffineBinaryOpExpr>(term).getLHS());
      continue;
    }
    bool row = term.isFunctionOfDim(kRow), k = term.isFunctionOfDim(kK);
    if (row && k)
      return std::nullopt;
    (k ? parts.k : parts.row) = (k ? parts.k : parts.row) + term;
  }
  return parts;
}

} // namespace

OperandSpec specOf(const gemm::Operand &operand, ArrayRef<AffineExpr> coordinate, ArrayRef<AffineExpr> extents) {
  OperandSpec spec;
  spec.element = operand.element;
  spec.extents.assign(extents.begin(), extents.end());
  if (operand.offset) {
    spec.buffer = operand.argument;
    spec.offset = gemm::simplify(gemm::substitute(operand.offset, coordinate));
  } else {
    spec.tensor = operand.tensor;
    spec.coordinate.assign(coordinate.begin(), coordinate.end());
  }
  return spec;
}

OperandSpec::Access OperandSpec::access(ArrayAttr symbols) const {
  if (tensor)
    return {!preferRow || forceAlongK, 1};
  int most = 16 / (storageType(element).getIntOrFloatBitWidth() / 8);
  auto widest = [&](unsigned dim) {
    int count = most;
    while (count > 1 && !isVector(*this, dim, count, symbols))
      count /= 2;
    return count;
  };
  int k = widest(kK), row = forceAlongK ? 1 : widest(kRow);
  if (k > 1 || row > 1)
    return row > k ? Access{false, row} : Access{true, k};
  if (forceAlongK)
    return {};
  auto isUnit = [&](unsigned dim) {
    auto stride = gemm::dimStride(offset, dim, 3);
    return stride && ir::getConstant(*stride) == 1;
  };
  return {isUnit(kK) || (!isUnit(kRow) && !preferRow), 1};
}

FailureOr<std::string> defineOperand(KernelText &text, StringRef name, const OperandSpec &operand) {
  KernelBuilder &builder = text.builder;
  OperandSpec::Access access = operand.access(builder.symbols);
  std::string element = operand.isUnsigned ? "unsigned char" : cppType(storageType(operand.element));
  auto flag = [](bool value) { return value ? std::string("true") : std::string("false"); };
  std::string head = "struct " + name.str() + " {\n  using Element = " + element +
                     ";\n  using Index = ::Index;\n  static constexpr bool kAlongK = " + flag(access.alongK) +
                     ", kMasked = " + flag(!operand.windows.empty()) +
                     ", kComputed = " + flag(operand.tensor != Value()) +
                     ";\n  static constexpr int kVector = " + std::to_string(access.vector) + ";\n";
  if (operand.tensor) {
    std::string inner = name.str() + "_value";
    FailureOr<std::string> made = text.functor(inner, {"g", "row", "k"}, {}, storageType(operand.element),
                                               [&](gemm::Emit &e, const gemm::Frame &frame, ValueRange arguments) {
                                                 gemm::Point point;
                                                 point.dims.assign(arguments.begin(), arguments.end());
                                                 point.symbols = frame.symbols;
                                                 Value value = builder.kernel.evaluate(
                                                     e, frame, std::move(point), operand.tensor, operand.coordinate);
                                                 return toStorage(e.b, e.loc, value, operand.element);
                                               });
    if (failed(made))
      return failure();
    text.define(head + "  " + inner +
                " compute;\n\n  TCC_DEVICE Element value(Index g, Index row, Index k) const { return "
                "compute(g, row, k); }\n};\n\n");
    return name.str() + "{" + *made + "}";
  }

  Exprs used{operand.offset};
  for (const Window &window : operand.windows) {
    used.push_back(window.position);
    used.push_back(window.extent);
  }
  std::string data = text.buffer(operand.buffer), declared;
  std::string members = operand.isUnsigned ? "reinterpret_cast<const unsigned char*>(" + data + ")" : data;
  for (unsigned symbol : symbolsIn(used)) {
    std::string member = text.symbol(symbol);
    members += ", " + member;
    declared += "  Index " + member + ";\n";
  }
  IndexSimplifier ranges(builder.context, operand.extents, builder.symbols);
  StringRef dims[] = {"g", "row", "k"};
  auto print = [&](AffineExpr expr) { return cppExpr(gemm::simplify(expr), dims, ranges); };

  std::string fields, line, step, condition, offset;
  auto field = [&](StringRef member, AffineExpr expr) -> std::string {
    auto parts = separate(expr);
    if (!parts)
      return "";
    fields += std::string(fields.empty() ? "" : ", ") + member.str();
    line += std::string(line.empty() ? "" : ", ") + print(parts->row);
    step += std::string(step.empty() ? "" : ", ") + print(parts->k);
    return "(line." + member.str() + " + step." + member.str() + ")";
  };
  offset = field("offset", operand.offset);
  bool whole = offset.empty();
  for (auto [i, window] : llvm::enumerate(operand.windows)) {
    std::string at = field("p" + std::to_string(i), window.position);
    whole |= at.empty();
    std::string bits = builder.indexBits == 32 ? "unsigned" : "unsigned long long";
    condition += std::string(condition.empty() ? "" : " || ") + "static_cast<" + bits + ">" + at + " >= static_cast<" +
                 bits + ">(" + print(window.extent) + ")";
  }
  if (whole) {
    // Row and k are tied up with each other: the address is computed from scratch.
    if (!operand.windows.empty())
      return builder.kernel.op->emitError("an operand's window depends on row and depth at once");
    text.define(
        head + "  const " + element + "* data;\n" + declared +
        "\n  struct Line {\n    Index g, row;\n  };\n  struct Step {\n    Index k;\n  };\n"
        "  TCC_DEVICE Line line(Index g, Index row) const { return {g, row}; }\n"
        "  TCC_DEVICE Step step(Index, Index k) const { return {k}; }\n"
        "  TCC_DEVICE const Element* address(const Line& line, const Step& step) const {\n"
        "    const Index g = line.g, row = line.row, k = step.k;\n    static_cast<void>(g);\n    return data + (" +
        print(operand.offset) + ");\n  }\n  TCC_DEVICE const Element* base() const { return data; }\n};\n\n");
    return name.str() + "{" + members + "}";
  }
  text.define(head + "  const " + element + "* data;\n" + declared + "\n  struct Line {\n    Index " + fields +
              ";\n  };\n  using Step = Line;\n"
              "  TCC_DEVICE Line line([[maybe_unused]] Index g, [[maybe_unused]] Index row) const { return {" +
              line + "}; }\n" +
              "  TCC_DEVICE Step step([[maybe_unused]] Index g, [[maybe_unused]] Index k) const { return {" + step +
              "}; }\n  TCC_DEVICE const Element* address(const Line& line, const Step& step) const {\n" +
              (condition.empty() ? "" : "    if (" + condition + ") return nullptr;\n") + "    return data + " +
              offset + ";\n  }\n  TCC_DEVICE const Element* base() const { return data; }\n};\n\n");
  return name.str() + "{" + members + "}";
}

} // namespace tcc::codegen::cuda
