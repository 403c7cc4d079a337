//===- Emitter.h - builds tcc ops for the importer --------------*- C++ -*-===//
//
// What every conversion needs: creation of ops with folding, type inference and verification whose failures are
// diagnostics and not crashes, numpy broadcasting over symbolic extents, constants, and short forms of common ops.
//
// A failure is reported once, at the location of the ONNX node, and then unwinds to the importer as ConversionFailure:
// conversions stay free of plumbing. No frame of MLIR lies between throw and catch, and it never leaves importModel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ir/Dialect.h"
#include "ir/Extents.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/tensor.h"

namespace tcc::onnx {

using ir::Exprs;
using Attrs = llvm::ArrayRef<mlir::NamedAttribute>;
using Ints = llvm::SmallVector<int64_t>;
using Values = llvm::SmallVector<mlir::Value>;

/// Thrown after the diagnostic was emitted.
struct ConversionFailure {};

/// What a failing import would have to be specialised on to succeed.
struct Needs {
  std::set<std::string> *valueInputs = nullptr; ///< graph inputs, on their values
  std::set<unsigned> *staticSymbols = nullptr;  ///< positions in tcc.symbols of extents that must be numbers
  unsigned inputSymbols = 0;                    ///< symbols of the inputs come first
};

/// What models have in earnest is below 10; a hostile one can ask for any rank, in a few bytes.
inline constexpr int64_t kMaxRank = 64;

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::FunctionOpInterface function)
      : builder(builder), loc(loc), function(function) {}

  [[noreturn]] void fail(const llvm::Twine &message) const;
  /// Reports the graph inputs that a value depends on to `needs`, and the symbols: with their values known, the import
  /// may succeed.
  void noteInputsOf(mlir::Value v) const;
  /// The same for the symbols of an extent. False where it names others than those of the inputs.
  bool noteSymbolsOf(mlir::AffineExpr extent) const;
  /// Fails because `what` depends on data; the graph inputs it depends on go to `needs`.
  [[noreturn]] void failUnknown(mlir::Value v, llvm::StringRef what) const;
  void check(bool condition, const llvm::Twine &message) const {
    if (!condition)
      fail(message);
  }

  //===--- Types and extents ---===//
  mlir::MLIRContext *context() const { return builder.getContext(); }
  mlir::AffineExpr expr(int64_t value) const { return mlir::getAffineConstantExpr(value, context()); }
  Exprs exprs(llvm::ArrayRef<int64_t> values) const;
  static mlir::RankedTensorType type(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }
  static mlir::Type elementType(mlir::Value v) { return type(v).getElementType(); }
  static bool isFloat(mlir::Value v) { return llvm::isa<mlir::FloatType>(elementType(v)); }
  static bool isUnsigned(mlir::Value v) { return elementType(v).isUnsignedInteger(); }
  static bool isBool(mlir::Value v) { return elementType(v).isInteger(1); }
  /// Of an element; a failure for strings and complex numbers.
  unsigned bitWidth(mlir::Type elementType) const {
    check(elementType.isIntOrFloat(), "does not take elements of this type");
    return elementType.getIntOrFloatBitWidth();
  }
  static int64_t rank(mlir::Value v) { return type(v).getRank(); }
  static Exprs extents(mlir::Value v) { return ir::getExtents(v.getType()); }
  /// The axis is the conversion's: an operand that does not have it is a fault of the model.
  mlir::AffineExpr extent(mlir::Value v, int64_t axis) const {
    check(axis >= 0 && axis < rank(v),
          "an operand of rank " + llvm::Twine(rank(v)) + " has no axis " + llvm::Twine(axis));
    return ir::getExtent(v.getType(), axis);
  }
  std::optional<int64_t> constantExtent(mlir::Value v, int64_t axis) const { return ir::getConstant(extent(v, axis)); }
  /// The extent as a number, or a failure that says what needs it. `wanted`: the number that would do, where only one
  /// does; the failure then says for which extents of the inputs it comes out.
  int64_t requireExtent(mlir::Value v, int64_t axis, llvm::StringRef what,
                        std::optional<int64_t> wanted = std::nullopt) const;
  /// The value with numbers for extents that the ranges of symbols leave no choice of.
  mlir::Value withKnownExtents(mlir::Value v);
  /// ", which it is where axis 1 of input 'x' is in 4..7: ...", or nothing where that cannot be said.
  std::string whereExtentIs(mlir::AffineExpr e, int64_t wanted) const;
  /// Whether an extent depends on values of tensors, not only on extents of the inputs.
  bool dependsOnData(mlir::AffineExpr e) const;
  /// The extent of `shape`, a list of extents, as the rank that it describes: at most kMaxRank.
  int64_t requireRank(mlir::Value shape) const {
    const int64_t rank = requireExtent(shape, 0, "the shape");
    checkRank(rank);
    return rank;
  }
  void checkRank(int64_t rank) const {
    check(rank <= kMaxRank,
          "a tensor of rank " + llvm::Twine(rank) + " is not supported; the most is " + llvm::Twine(kMaxRank));
  }
  /// A negative axis counts from the end; out of [-rank, rank) is a failure.
  int64_t normalizeAxis(int64_t axis, int64_t rank) const;
  Ints normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank) const;
  std::pair<int64_t, int64_t> range(mlir::AffineExpr e) const;
  /// Product of extents divided by another product, cancelling common factors; exact division is the caller's
  /// knowledge.
  mlir::AffineExpr divideProducts(llvm::ArrayRef<mlir::AffineExpr> numerator,
                                  llvm::ArrayRef<mlir::AffineExpr> denominator) const;
  /// An extent that only the run finds out.
  mlir::AffineExpr freshExtent(llvm::StringRef name, int64_t min = 0, int64_t max = INT64_MAX);
  /// Fails beyond kMaxRank.
  mlir::RankedTensorType tensorType(llvm::ArrayRef<mlir::AffineExpr> extents, mlir::Type elementType) const {
    checkRank(static_cast<int64_t>(extents.size()));
    return ir::makeTensorType(extents, elementType);
  }
  mlir::RankedTensorType scalarType(mlir::Type elementType) const {
    return mlir::RankedTensorType::get({}, elementType);
  }
  mlir::Type i64Type() const { return builder.getI64Type(); }
  mlir::Type i1Type() const { return builder.getI1Type(); }
  mlir::Type f32Type() const { return builder.getF32Type(); }

  //===--- Attributes ---===//
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value) const {
    return builder.getNamedAttr(name, value);
  }
  mlir::NamedAttribute i64(llvm::StringRef name, int64_t value) const {
    return attr(name, builder.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute f64(llvm::StringRef name, double value) const {
    return attr(name, builder.getF64FloatAttr(value));
  }
  mlir::NamedAttribute flag(llvm::StringRef name, bool value) const { return attr(name, builder.getBoolAttr(value)); }
  mlir::NamedAttribute str(llvm::StringRef name, llvm::StringRef value) const {
    return attr(name, builder.getStringAttr(value));
  }
  mlir::NamedAttribute i64s(llvm::StringRef name, llvm::ArrayRef<int64_t> values) const {
    return attr(name, builder.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute f64s(llvm::StringRef name, llvm::ArrayRef<double> values) const {
    return attr(name, builder.getDenseF64ArrayAttr(values));
  }
  mlir::NamedAttribute extentsAttr(llvm::StringRef name, llvm::ArrayRef<mlir::AffineExpr> values) const;

  //===--- Creation ---===//
  /// Creates an op, or what it folds to. Without `types` they are inferred. Failing inference or verification fails the
  /// node.
  Values create(llvm::StringRef name, mlir::ValueRange operands, Attrs attributes, mlir::TypeRange types = {});
  template <typename OpT>
  mlir::Value emit(mlir::ValueRange operands, Attrs attributes = {}, mlir::TypeRange types = {}) {
    return create(OpT::getOperationName(), operands, attributes, types).front();
  }
  /// A call of a reference kernel; null inputs are absent ones.
  Values library(llvm::StringRef kernel, llvm::ArrayRef<mlir::Value> inputs, Attrs config, mlir::TypeRange types);
  mlir::Value libraryOne(llvm::StringRef kernel, llvm::ArrayRef<mlir::Value> inputs, Attrs config, mlir::Type type) {
    return library(kernel, inputs, config, type).front();
  }

  //===--- Constants ---===//
  /// A number in any element type that holds numbers, as a rank-0 tensor.
  mlir::Value scalar(mlir::Type elementType, double value);
  mlir::Value scalarInt(mlir::Type elementType, int64_t value);
  mlir::Value like(mlir::Value v, double value) { return scalar(elementType(v), value); }
  mlir::Value full(llvm::ArrayRef<mlir::AffineExpr> extents, mlir::Value scalar) {
    return broadcastTo(scalar, extents);
  }
  mlir::Value vectorI64(llvm::ArrayRef<int64_t> values);
  mlir::Value vectorF(llvm::ArrayRef<double> values, mlir::Type elementType);
  mlir::Value tensor(const Tensor &value);
  /// Symbol expressions as an int64 tensor: rank 1, or rank 0 for a single one.
  mlir::Value extentsTensor(llvm::ArrayRef<mlir::AffineExpr> values, bool scalar = false);
  /// The integers of a constant, or of tcc.extents; nothing where they depend on data.
  static std::optional<Exprs> knownInts(mlir::Value v);
  static std::optional<Ints> constantInts(mlir::Value v);
  static std::optional<llvm::SmallVector<double>> constantFloats(mlir::Value v);

  //===--- Pointwise ---===//
  /// numpy broadcasting of all values to common extents.
  Values broadcast(llvm::ArrayRef<mlir::Value> values);
  /// Null for an extent of which only the run knows which side is 1.
  Exprs broadcastExtents(llvm::ArrayRef<mlir::AffineExpr> a, llvm::ArrayRef<mlir::AffineExpr> b);
  mlir::Value broadcastTo(mlir::Value v, llvm::ArrayRef<mlir::AffineExpr> extents) {
    return broadcastTo(v, extents, {});
  }
  /// With `shape`, what the extents are at run time, where some of them are fresh symbols.
  mlir::Value broadcastTo(mlir::Value v, llvm::ArrayRef<mlir::AffineExpr> extents, mlir::Value shape);
  /// Common extents of several lists. Where only the run can tell an extent, it is a fresh symbol and `shape` gets the
  /// tensor that computes all of them.
  Exprs joinExtents(llvm::ArrayRef<Exprs> lists, mlir::Value &shape);
  template <typename OpT> mlir::Value unary(mlir::Value x) { return emit<OpT>(x); }
  mlir::Value binary(llvm::StringRef op, mlir::Value a, mlir::Value b);
  template <typename OpT> mlir::Value binary(mlir::Value a, mlir::Value b) {
    return binary(OpT::getOperationName(), a, b);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary("tcc.add", a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary("tcc.sub", a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary("tcc.mul", a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary("tcc.div", a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return binary("tcc.max", a, b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return binary("tcc.min", a, b); }
  mlir::Value pow(mlir::Value a, mlir::Value b) { return binary("tcc.pow", a, b); }
  mlir::Value add(mlir::Value a, double b) { return add(a, like(a, b)); }
  mlir::Value sub(mlir::Value a, double b) { return sub(a, like(a, b)); }
  mlir::Value mul(mlir::Value a, double b) { return mul(a, like(a, b)); }
  mlir::Value div(mlir::Value a, double b) { return div(a, like(a, b)); }
  mlir::Value max(mlir::Value a, double b) { return max(a, like(a, b)); }
  mlir::Value min(mlir::Value a, double b) { return min(a, like(a, b)); }
  mlir::Value pow(mlir::Value a, double b) { return pow(a, like(a, b)); }
  mlir::Value compare(mlir::Value a, mlir::Value b, ir::Predicate predicate);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value cast(mlir::Value x, mlir::Type elementType, bool saturate = true);

  //===--- Shapes and movement ---===//
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> extents);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> extents) { return reshape(x, exprs(extents)); }
  mlir::Value unsqueeze(mlir::Value x, llvm::ArrayRef<int64_t> axes); // axes of the result
  mlir::Value squeeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// Ones before the extents until the rank is reached.
  mlir::Value padRank(mlir::Value x, int64_t rank);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// Swaps the last two axes.
  mlir::Value transposeLast(mlir::Value x);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> xs, int64_t axis);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> starts, llvm::ArrayRef<int64_t> steps,
                    llvm::ArrayRef<mlir::AffineExpr> extents);
  mlir::Value sliceAxis(mlir::Value x, int64_t axis, mlir::AffineExpr start, mlir::AffineExpr size, int64_t step = 1);
  mlir::Value sliceAxis(mlir::Value x, int64_t axis, int64_t start, int64_t size, int64_t step = 1) {
    return sliceAxis(x, axis, expr(start), expr(size), step);
  }
  mlir::Value pad(mlir::Value x, mlir::Value fill, llvm::ArrayRef<mlir::AffineExpr> low,
                  llvm::ArrayRef<mlir::AffineExpr> high, ir::PadMode mode = ir::PadMode::Constant);
  mlir::Value iota(llvm::ArrayRef<mlir::AffineExpr> extents, int64_t axis, mlir::Type elementType);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis);

  //===--- Reductions and contractions ---===//
  mlir::Value reduce(mlir::Value x, ir::ReduceKind kind, llvm::ArrayRef<int64_t> axes, bool keepDims);
  mlir::Value softmax(mlir::Value x, int64_t axis);
  /// numpy matmul: vectors get an axis, batch extents are broadcast.
  mlir::Value matmul(mlir::Value a, mlir::Value b);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::FunctionOpInterface function;
  const Needs *needs = nullptr;
};

} // namespace tcc::onnx
