#include "tests/codegen_gemm/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/Extents.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IntegerSet.h"

namespace tcc::codegen::testing {
namespace {

using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using Coordinate = std::vector<int64_t>;

int64_t EvaluateExpr(mlir::AffineExpr expr, const Coordinate& dims, const std::vector<int64_t>& symbols) {
  if (auto constant = dyn_cast<mlir::AffineConstantExpr>(expr)) return constant.getValue();
  if (auto dim = dyn_cast<mlir::AffineDimExpr>(expr)) return dims.at(dim.getPosition());
  if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(expr)) return symbols.at(symbol.getPosition());
  auto binary = cast<mlir::AffineBinaryOpExpr>(expr);
  int64_t x = EvaluateExpr(binary.getLHS(), dims, symbols), y = EvaluateExpr(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
    case mlir::AffineExprKind::Add:
      return x + y;
    case mlir::AffineExprKind::Mul:
      return x * y;
    case mlir::AffineExprKind::FloorDiv:
      return llvm::divideFloorSigned(x, y);
    case mlir::AffineExprKind::CeilDiv:
      return llvm::divideCeilSigned(x, y);
    default:
      return llvm::mod(x, y);
  }
}

int64_t Offset(const std::vector<int64_t>& dims, const Coordinate& at) {
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (at[i] < 0 || at[i] >= dims[i]) return -1;
    offset = offset * dims[i] + at[i];
  }
  return offset;
}

bool Next(Coordinate& at, const std::vector<int64_t>& dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++at[i] < dims[i]) return true;
    at[i] = 0;
  }
  return false;
}

struct Evaluator {
  const std::vector<int64_t>& symbols;
  llvm::DenseMap<mlir::Value, Array> tensors = llvm::DenseMap<mlir::Value, Array>();
  llvm::DenseMap<mlir::Value, double> scalars = llvm::DenseMap<mlir::Value, double>();

  Coordinate Indices(mlir::ValueRange operands) {
    Coordinate dims;
    for (mlir::Value operand : operands) dims.push_back(static_cast<int64_t>(scalars[operand]));
    return dims;
  }
  bool Holds(mlir::IntegerSet set, const Coordinate& dims) {
    for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
      int64_t value = EvaluateExpr(set.getConstraint(i), dims, symbols);
      if (set.isEq(i) ? value != 0 : value < 0) return false;
    }
    return true;
  }
  double Scalar(mlir::Operation& op) {
    auto x = [&](unsigned i) { return scalars[op.getOperand(i)]; };
    if (auto load = dyn_cast<ir::LoadOp>(op)) {
      Coordinate dims = Indices(load.getIndices());
      if (load.getMask() && !Holds(*load.getMask(), dims)) return load.getFill() ? scalars[load.getFill()] : 0;
      Coordinate at;
      for (mlir::AffineExpr result : load.getMap().getResults()) at.push_back(EvaluateExpr(result, dims, symbols));
      const Array& array = tensors[load.getTensor()];
      int64_t offset = Offset(array.dims, at);
      if (offset < 0) llvm::report_fatal_error("the test's kernel reads outside a tensor");
      return array.values[offset];
    }
    if (auto apply = dyn_cast<ir::ApplyOp>(op))
      return static_cast<double>(EvaluateExpr(apply.getMap().getResult(0), Indices(apply.getIndices()), symbols));
    if (auto set = dyn_cast<ir::InSetOp>(op)) return Holds(set.getSet(), Indices(set.getIndices()));
    if (auto constant = dyn_cast<mlir::arith::ConstantOp>(op)) {
      if (auto f = dyn_cast<mlir::FloatAttr>(constant.getValue())) return f.getValueAsDouble();
      return static_cast<double>(cast<mlir::IntegerAttr>(constant.getValue()).getInt());
    }
    if (isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(op)) return x(0) + x(1);
    if (isa<mlir::arith::SubFOp, mlir::arith::SubIOp>(op)) return x(0) - x(1);
    if (isa<mlir::arith::MulFOp, mlir::arith::MulIOp>(op)) return x(0) * x(1);
    if (isa<mlir::arith::DivFOp>(op)) return x(0) / x(1);
    if (isa<mlir::arith::MaximumFOp>(op)) return std::max(x(0), x(1));
    if (isa<mlir::arith::SelectOp>(op)) return x(0) != 0 ? x(1) : x(2);
    if (isa<mlir::arith::ExtFOp, mlir::arith::TruncFOp, mlir::arith::IndexCastOp, mlir::arith::SIToFPOp,
            mlir::arith::ExtSIOp>(op))
      return x(0);
    if (isa<mlir::arith::UIToFPOp>(op)) return x(0);
    if (isa<mlir::arith::ExtUIOp>(op)) {
      const unsigned bits = op.getOperand(0).getType().getIntOrFloatBitWidth();
      return x(0) < 0 ? x(0) + static_cast<double>(int64_t{1} << bits) : x(0);
    }
    if (isa<mlir::math::TanhOp>(op)) return std::tanh(x(0));
    llvm::report_fatal_error(llvm::Twine("the oracle lacks ") + op.getName().getStringRef());
  }

  void Loops(ir::LoopsOp loops) {
    mlir::Block& body = loops.getBody().front();
    std::vector<int64_t> dims;
    for (mlir::AffineExpr extent : loops.getExtents().getExprs()) dims.push_back(EvaluateExpr(extent, {}, symbols));
    int64_t count = 1;
    for (int64_t d : dims) count *= d;
    std::vector<Array> results(loops.getNumResults(), Array{dims, std::vector<double>(count)});
    Coordinate at(dims.size());
    for (int64_t i = 0; i < count; ++i, Next(at, dims)) {
      for (size_t d = 0; d < dims.size(); ++d) scalars[body.getArgument(d)] = static_cast<double>(at[d]);
      for (mlir::Operation& op : body.without_terminator()) {
        double value = Scalar(op);
        scalars[op.getResult(0)] = value;
      }
      for (size_t r = 0; r < results.size(); ++r) results[r].values[i] = scalars[body.getTerminator()->getOperand(r)];
    }
    for (size_t r = 0; r < results.size(); ++r) tensors[loops.getResult(r)] = std::move(results[r]);
  }

  Array Result(mlir::Operation& op) {
    Array y;
    y.dims = DimsOf(op.getResult(0).getType(), symbols);
    int64_t count = 1;
    for (int64_t d : y.dims) count *= d;
    y.values.resize(count);
    return y;
  }

  void Matmul(ir::MatmulOp op) {
    const Array a = tensors[op.getA()], b = tensors[op.getB()];
    Array y = Result(*op);
    size_t rank = a.dims.size();
    int64_t m = a.dims[rank - 2], k = a.dims[rank - 1], n = b.dims[rank - 1], batch = 1;
    for (size_t i = 0; i + 2 < rank; ++i) batch *= a.dims[i];
    for (int64_t g = 0; g < batch; ++g)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) sum += a.values[(g * m + i) * k + l] * b.values[(g * k + l) * n + j];
          y.values[(g * m + i) * n + j] = sum;
        }
    tensors[op.getY()] = std::move(y);
  }

  // Walks all pairs of a spatial output position and a kernel position: y[out] += x[in] * w[tap], or the other way
  // round.
  template <typename Op>
  void Conv(Op op, bool transposed) {
    const Array x = tensors[op.getX()], w = tensors[op.getW()];
    Array y = Result(*op);
    int spatial = static_cast<int>(x.dims.size()) - 2;
    bool last = op.getChannelsLast();
    auto strides = op.getStrides(), low = op.getPaddingLow(), dilations = op.getDilations();
    int64_t groups = op.getGroups();
    auto at = [&](const Array& array, int64_t n, int64_t c, const Coordinate& position) {
      Coordinate full{n};
      if (!last) full.push_back(c);
      full.insert(full.end(), position.begin(), position.end());
      if (last) full.push_back(c);
      return Offset(array.dims, full);
    };
    auto space = [&](const Array& array) {
      return std::vector<int64_t>(array.dims.begin() + (last ? 1 : 2), array.dims.end() - (last ? 1 : 0));
    };
    // The walk is over the smaller side: positions of y (conv) or of x (conv_transpose).
    const Array& walked = transposed ? x : y;
    const Array& other = transposed ? y : x;
    int64_t first = w.dims[0] / groups, second = w.dims[1];
    std::vector<int64_t> kernel(w.dims.begin() + 2, w.dims.end());
    std::vector<int64_t> walkedSpace = space(walked), otherSpace = space(other);
    if (y.size() == 0 || x.size() == 0 || w.size() == 0) {
      tensors[op.getY()] = std::move(y);
      return;
    }
    Coordinate position(spatial);
    do {
      Coordinate tap(spatial);
      do {
        Coordinate far(spatial);
        bool inside = true;
        for (int d = 0; d < spatial; ++d) {
          far[d] = position[d] * strides[d] - low[d] + tap[d] * dilations[d];
          inside &= far[d] >= 0 && far[d] < otherSpace[d];
        }
        if (!inside) continue;
        for (int64_t n = 0; n < x.dims[0]; ++n)
          for (int64_t g = 0; g < groups; ++g)
            for (int64_t i = 0; i < first; ++i)
              for (int64_t j = 0; j < second; ++j) {
                Coordinate wAt{g * first + i, j};
                wAt.insert(wAt.end(), tap.begin(), tap.end());
                double weight = w.values[Offset(w.dims, wAt)];
                int64_t walkedAt = at(walked, n, g * first + i, position), otherAt = at(other, n, g * second + j, far);
                if (transposed)
                  y.values[otherAt] += x.values[walkedAt] * weight;
                else
                  y.values[walkedAt] += x.values[otherAt] * weight;
              }
      } while (Next(tap, kernel));
    } while (Next(position, walkedSpace));
    tensors[op.getY()] = std::move(y);
  }

  void Attention(ir::AttentionOp op) {
    const Array q = tensors[op.getQ()], k = tensors[op.getK()], v = tensors[op.getV()];
    Array y = Result(*op);
    int64_t heads = q.dims[1], s = q.dims[2], d = q.dims[3], keyHeads = k.dims[1], t = k.dims[2], dv = v.dims[3];
    double scale = op.getScale().convertToDouble();
    for (int64_t b = 0; b < q.dims[0]; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < s; ++i) {
          int64_t kh = b * keyHeads + h / (heads / keyHeads);
          std::vector<double> score(t);
          double top = -std::numeric_limits<double>::infinity(), sum = 0;
          for (int64_t j = 0; j < t; ++j) {
            double value = 0;
            for (int64_t l = 0; l < d; ++l)
              value += q.values[((b * heads + h) * s + i) * d + l] * k.values[(kh * t + j) * d + l];
            value *= scale;
            if (op.getMask()) {
              const Array& mask = tensors[op.getMask()];
              Coordinate full{b, h, i, j}, at;
              size_t skip = 4 - mask.dims.size();
              for (size_t a = 0; a < mask.dims.size(); ++a) at.push_back(mask.dims[a] == 1 ? 0 : full[a + skip]);
              double m = mask.values[Offset(mask.dims, at)];
              bool isBool = cast<mlir::RankedTensorType>(op.getMask().getType()).getElementType().isInteger(1);
              value = isBool ? (m != 0 ? value : -std::numeric_limits<double>::infinity()) : value + m;
            }
            if (op.getCausal() && j > i + t - s) value = -std::numeric_limits<double>::infinity();
            score[j] = value;
            top = std::max(top, value);
          }
          const double lowest = -std::numeric_limits<double>::infinity();
          const bool excluded = std::all_of(score.begin(), score.end(), [&](double value) { return value == lowest; });
          const bool nan = excluded && t > 0 && op.getMaskedRows() == ir::MaskedRows::Nan;
          for (double& value : score) sum += value = excluded ? 0 : std::exp(value - top);
          const bool none = excluded || (std::isnan(sum) && op.getMaskedRows() == ir::MaskedRows::Guarded);
          for (int64_t l = 0; l < dv; ++l) {
            double value = 0;
            for (int64_t j = 0; j < t; ++j) value += score[j] * v.values[(kh * t + j) * dv + l];
            y.values[((b * heads + h) * s + i) * dv + l] = nan ? std::nan("") : none ? 0 : value / sum;
          }
        }
    tensors[op.getY()] = std::move(y);
  }
};

}  // namespace

std::vector<int64_t> DimsOf(mlir::Type type, const std::vector<int64_t>& symbols) {
  std::vector<int64_t> dims;
  for (mlir::AffineExpr extent : ir::getExtents(type)) dims.push_back(EvaluateExpr(extent, {}, symbols));
  return dims;
}

std::vector<Array> Evaluate(ir::KernelOp kernel, const std::vector<Array>& inputs,
                            const std::vector<int64_t>& symbols) {
  Evaluator evaluator{symbols};
  mlir::Block& body = kernel.getBody().front();
  for (size_t i = 0; i < inputs.size(); ++i) evaluator.tensors[body.getArgument(i)] = inputs[i];
  for (mlir::Operation& op : body.without_terminator()) {
    if (auto loops = dyn_cast<ir::LoopsOp>(op))
      evaluator.Loops(loops);
    else if (auto matmul = dyn_cast<ir::MatmulOp>(op))
      evaluator.Matmul(matmul);
    else if (auto conv = dyn_cast<ir::ConvOp>(op))
      evaluator.Conv(conv, false);
    else if (auto transposed = dyn_cast<ir::ConvTransposeOp>(op))
      evaluator.Conv(transposed, true);
    else if (auto attention = dyn_cast<ir::AttentionOp>(op))
      evaluator.Attention(attention);
  }
  std::vector<Array> results;
  for (mlir::Value yielded : body.getTerminator()->getOperands()) results.push_back(evaluator.tensors[yielded]);
  return results;
}

}  // namespace tcc::codegen::testing
