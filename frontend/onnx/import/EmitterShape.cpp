//===- EmitterShape.cpp - broadcasting and data movement ------------------===//
#include "frontend/onnx/import/Emitter.h"

using namespace mlir;

namespace tcc::onnx {

// numpy's rule over symbolic extents. Where it depends on the run which side is 1, the extent is null.
static AffineExpr broadcastExtent(const Emitter &e, AffineExpr a, AffineExpr b) {
  if (a == b)
    return a;
  std::optional<int64_t> ca = ir::getConstant(a), cb = ir::getConstant(b);
  if (ca == 1)
    return b;
  if (cb == 1)
    return a;
  if (ca && cb)
    e.fail("extents " + Twine(*ca) + " and " + Twine(*cb) + " do not broadcast");
  // The side that cannot be 1 gives the extent; the other one is checked at run time (broadcastTo).
  if (ca || (!cb && (e.range(a).first > 1)))
    return a;
  if (cb || e.range(b).first > 1)
    return b;
  return nullptr;
}

Exprs Emitter::broadcastExtents(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  if (a.size() < b.size())
    return broadcastExtents(b, a);
  Exprs result(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i)
    result[offset + i] = broadcastExtent(*this, a[offset + i], b[i]);
  return result;
}

Exprs Emitter::joinExtents(ArrayRef<Exprs> lists, Value &shape) {
  Exprs common;
  bool decided = true;
  for (const Exprs &list : lists) {
    common = broadcastExtents(common, list);
    decided &= llvm::all_of(common, [](AffineExpr e) { return bool(e); });
    for (AffineExpr &e : common)
      if (!e)
        e = freshExtent("broadcast");
  }
  if (decided)
    return common;
  // Extent by extent: the first one that is not 1.
  for (const Exprs &list : lists) {
    Exprs padded(common.size() - list.size(), expr(1));
    llvm::append_range(padded, list);
    Value next = extentsTensor(padded);
    shape = shape ? select(compare(shape, scalarInt(i64Type(), 1), ir::Predicate::Eq), next, shape) : next;
  }
  return common;
}

Values Emitter::broadcast(ArrayRef<Value> values) {
  SmallVector<Exprs> lists = llvm::map_to_vector(values, [](Value v) { return extents(v); });
  Value shape;
  Exprs common = joinExtents(lists, shape);
  return llvm::map_to_vector(values, [&](Value v) { return broadcastTo(v, common, shape); });
}

Value Emitter::broadcastTo(Value v, ArrayRef<AffineExpr> target, Value shape) {
  Exprs from = extents(v);
  check(from.size() <= target.size(), "cannot broadcast to a lower rank");
  if (llvm::equal(from, target))
    return v;
  RankedTensorType resultType = tensorType(target, elementType(v));
  bool provable = true;
  size_t offset = target.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    AffineExpr source = from[i], wanted = target[offset + i];
    std::optional<int64_t> cs = ir::getConstant(source), cw = ir::getConstant(wanted);
    if (source == wanted || cs == 1)
      continue;
    if (cs && cw)
      fail("extent " + Twine(*cs) + " does not broadcast to " + Twine(*cw));
    provable = false;
  }
  if (provable)
    return emit<ir::BroadcastOp>(v, {}, resultType);
  return libraryOne("dynamic_expand", {v, shape ? shape : extentsTensor(target)}, {}, resultType);
}

Value Emitter::reshape(Value x, ArrayRef<AffineExpr> target) {
  if (llvm::equal(extents(x), target))
    return x;
  return emit<ir::ReshapeOp>(x, {}, tensorType(target, elementType(x)));
}

Value Emitter::unsqueeze(Value x, ArrayRef<int64_t> axes) {
  int64_t resultRank = rank(x) + axes.size();
  Ints sorted = normalizeAxes(axes, resultRank);
  Exprs result, from = extents(x);
  size_t next = 0;
  for (int64_t i = 0; i < resultRank; ++i)
    result.push_back(llvm::is_contained(sorted, i) ? expr(1) : from[next++]);
  return reshape(x, result);
}

Value Emitter::squeeze(Value x, ArrayRef<int64_t> axes) {
  Ints sorted = normalizeAxes(axes, rank(x));
  llvm::sort(sorted);
  // An extent that only the run finds out: element 2 (n - 1) is the first one for n = 1, and out of range for any
  // other.
  for (size_t i = sorted.size(); i-- > 0;)
    if (AffineExpr n = extent(x, sorted[i]); dependsOnData(n)) {
      x = gather(x, extentsTensor(ir::simplifyExtent((n - 1) * 2), /*scalar=*/true), sorted[i]);
      int64_t removed = sorted[i];
      sorted.erase(sorted.begin() + i);
      for (int64_t &axis : sorted)
        axis -= axis > removed ? 1 : 0;
    }
  Exprs result, from = extents(x);
  for (int64_t i = 0; i < rank(x); ++i) {
    if (!llvm::is_contained(sorted, i)) {
      result.push_back(from[i]);
      continue;
    }
    std::optional<int64_t> n = ir::getConstant(from[i]);
    if (n && *n != 1)
      fail("cannot squeeze axis " + Twine(i) + " of extent " + Twine(*n));
    if (!n)
      requireExtent(x, i, "Squeeze", 1);
  }
  return reshape(x, result);
}

Value Emitter::padRank(Value x, int64_t wanted) {
  if (rank(x) >= wanted)
    return x;
  Exprs result(wanted - rank(x), expr(1));
  llvm::append_range(result, extents(x));
  return reshape(x, result);
}

Value Emitter::transpose(Value x, ArrayRef<int64_t> permutation) {
  bool identity = true;
  for (auto [i, p] : llvm::enumerate(permutation))
    identity &= static_cast<int64_t>(i) == p;
  return identity ? x : emit<ir::TransposeOp>(x, i64s("permutation", permutation));
}

Value Emitter::transposeLast(Value x) {
  Ints permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank(x)));
  check(permutation.size() >= 2, "needs a rank of at least 2");
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return transpose(x, permutation);
}

Value Emitter::concat(ArrayRef<Value> xs, int64_t axis) {
  if (xs.size() == 1)
    return xs[0];
  return emit<ir::ConcatOp>(xs, i64("axis", axis));
}

Value Emitter::slice(Value x, ArrayRef<AffineExpr> starts, ArrayRef<int64_t> steps, ArrayRef<AffineExpr> target) {
  bool whole = llvm::equal(extents(x), target) && llvm::all_of(steps, [](int64_t s) { return s == 1; });
  if (whole)
    return x;
  return emit<ir::SliceOp>(x, {extentsAttr("starts", starts), i64s("steps", steps)},
                           tensorType(target, elementType(x)));
}

Value Emitter::sliceAxis(Value x, int64_t axis, AffineExpr start, AffineExpr size, int64_t step) {
  Exprs starts(rank(x), expr(0)), target = extents(x);
  Ints steps(rank(x), 1);
  starts[axis] = start;
  target[axis] = ir::simplifyExtent(size);
  steps[axis] = step;
  return slice(x, starts, steps, target);
}

Value Emitter::pad(Value x, Value fill, ArrayRef<AffineExpr> low, ArrayRef<AffineExpr> high, ir::PadMode mode) {
  Exprs target = extents(x);
  bool nothing = true;
  for (size_t i = 0; i < target.size(); ++i) {
    nothing &= ir::getConstant(low[i]) == 0 && ir::getConstant(high[i]) == 0;
    target[i] = ir::simplifyExtent(target[i] + low[i] + high[i]);
    if (std::optional<int64_t> n = ir::getConstant(target[i]))
      check(*n >= 0, "padding makes the extent of axis " + Twine(i) + " negative");
  }
  if (nothing)
    return x;
  Values operands{x};
  if (fill)
    operands.push_back(fill);
  return emit<ir::PadOp>(
      operands,
      {extentsAttr("low", low), extentsAttr("high", high), attr("mode", ir::PadModeAttr::get(context(), mode))},
      tensorType(target, elementType(x)));
}

Value Emitter::iota(ArrayRef<AffineExpr> target, int64_t axis, Type elementType) {
  return emit<ir::IotaOp>({}, i64("axis", axis), tensorType(target, elementType));
}

Value Emitter::gather(Value x, Value indices, int64_t axis) {
  return emit<ir::GatherOp>({x, indices}, i64("axis", axis));
}

Value Emitter::matmul(Value a, Value b) {
  check(elementType(a) == elementType(b), "operands have different element types");
  check(rank(a) > 0 && rank(b) > 0, "a matrix product of a scalar");
  bool vectorA = rank(a) == 1, vectorB = rank(b) == 1;
  if (vectorA)
    a = unsqueeze(a, {0});
  if (vectorB)
    b = unsqueeze(b, {1});
  Exprs ea = extents(a), eb = extents(b);
  AffineExpr ka = ea.back(), kb = eb[eb.size() - 2];
  if (ka != kb) {
    std::optional<int64_t> ca = ir::getConstant(ka), cb = ir::getConstant(kb);
    if (ca && cb)
      fail("inner extents " + Twine(*ca) + " and " + Twine(*cb) + " of the matrix product differ");
    // Equal at run time or an error there.
    if (ca) {
      eb[eb.size() - 2] = ka;
      b = libraryOne("dynamic_reshape", {b, extentsTensor(eb)}, {}, tensorType(eb, elementType(b)));
    } else {
      ea.back() = kb;
      a = libraryOne("dynamic_reshape", {a, extentsTensor(ea)}, {}, tensorType(ea, elementType(a)));
    }
  }
  Value batchShape;
  Exprs batch = joinExtents({Exprs(ea.begin(), ea.end() - 2), Exprs(eb.begin(), eb.end() - 2)}, batchShape);
  auto withBatch = [&](Value v, ArrayRef<AffineExpr> from) {
    Exprs target = batch, last(from.end() - 2, from.end());
    target.append(last);
    return broadcastTo(v, target, batchShape ? concat({batchShape, extentsTensor(last)}, 0) : Value());
  };
  // Weights of rank 2 shared by every batch: fold the batch into the rows, which is one large product.
  Value result;
  if (eb.size() == 2 && ea.size() > 2) {
    Value flat = reshape(a, {ir::product(context(), ArrayRef(ea).drop_back(1)), ea.back()});
    Value product = emit<ir::MatmulOp>({flat, b});
    Exprs target(ea.begin(), ea.end() - 1);
    target.push_back(eb.back());
    result = reshape(product, target);
  } else {
    result = emit<ir::MatmulOp>({withBatch(a, ea), withBatch(b, eb)});
  }
  Ints drop;
  if (vectorA)
    drop.push_back(rank(result) - 2);
  if (vectorB)
    drop.push_back(rank(result) - 1);
  return drop.empty() ? result : squeeze(result, drop);
}

} // namespace tcc::onnx
