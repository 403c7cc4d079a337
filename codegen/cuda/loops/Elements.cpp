//===- Elements.cpp - elements that a thread has side by side -------------===//
#include "codegen/cuda/loops/LoopFunction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMostWidth = 8;

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }
int64_t storageBytes(Value tensor) { return storageType(elementOf(tensor)).getIntOrFloatBitWidth() / 8; }

bool isOpaque(const LoopNest &nest, AffineExpr expr) {
  return llvm::any_of(llvm::seq<unsigned>(0, nest.opaque.size()),
                      [&](unsigned i) { return expr.isFunctionOfDim(kFirstOpaqueDim + i); });
}

} // namespace

bool isAligned(AffineExpr offset, unsigned lane, int64_t width) {
  MLIRContext *mlir = offset.getContext();
  llvm::DenseMap<AffineExpr, AffineExpr> start{{getAffineDimExpr(lane, mlir), getAffineConstantExpr(0, mlir)}};
  AffineExpr rest = offset.replace(start);
  if (std::optional<int64_t> constant = ir::getConstant(rest))
    return *constant % width == 0;
  return rest.isMultipleOf(width);
}

bool LoopFunction::isVectorLoad(const LoopNest &nest, ir::LoadOp load, unsigned lane, int64_t width) {
  AffineExpr offset = nest.offset.lookup(load);
  AffineExpr stride = nest.simplifier().stride(offset, lane);
  return stride && ir::getConstant(stride) == 1 && !isOpaque(nest, offset) && !nest.conditions.count(load) &&
         isAligned(offset, lane, width) && !registerValues.count(load.getTensor()) && !memory.count(load.getTensor()) &&
         !locals.count(load.getTensor());
}

int64_t LoopFunction::vectorWidth(const LoopNest &nest, unsigned lane) {
  IndexSimplifier simplifier = nest.simplifier();
  int64_t bytes = 0;
  auto widen = [&](AffineExpr offset, Value tensor) {
    AffineExpr stride = simplifier.stride(offset, lane);
    if (stride && ir::getConstant(stride) == 1 && !isOpaque(nest, offset))
      bytes = std::max(bytes, storageBytes(tensor));
  };
  for (ir::LoadOp load : nest.loads())
    widen(nest.offset.lookup(load), load.getTensor());
  if (lane < nest.numParallel)
    for (auto [offset, result] : llvm::zip(nest.resultOffset, nest.op.getResults()))
      widen(offset, result);
  return bytes ? std::min(kMostWidth, kVectorBytes / bytes) : 1;
}

// A tensor may be a view that starts at any element: the device library looks at the address.
Value LoopFunction::loadVector(Value memref, Value offset, int64_t width) {
  Type element = llvm::cast<MemRefType>(memref.getType()).getElementType();
  Type vector = VectorType::get({width}, element);
  func::FuncOp callee = CudaBackend::declareDevice(function, "tcc::load_any<" + std::to_string(width) + ">",
                                                   b.getFunctionType({memref.getType(), b.getIndexType()}, {vector}));
  callee.setArgAttr(0, "tcc.readonly", b.getUnitAttr());
  return b.create<func::CallOp>(loc, callee, ValueRange{memref, offset}).getResult(0);
}

void LoopFunction::storeVector(Value vector, Value memref, Value offset) {
  if (!mayAlias) {
    b.create<vector::StoreOp>(loc, vector, memref, ValueRange{offset});
    return;
  }
  func::FuncOp callee = CudaBackend::declareDevice(
      function, "tcc::store_any", b.getFunctionType({memref.getType(), b.getIndexType(), vector.getType()}, {}));
  b.create<func::CallOp>(loc, callee, ValueRange{memref, offset, vector});
}

Values LoopFunction::forElements(const LoopNest &nest, BodyEmitter &body, const Chunk &chunk, ValueRange init,
                                 ElementBody use) {
  llvm::SmallVector<std::pair<ir::LoadOp, Value>> vectors;
  auto keeps = [&](ir::LoadOp load) { return kept.lookup(load); };
  for (ir::LoadOp load : nest.loads())
    if (chunk.width > 1 && !(keeps(load).array && !keeps(load).isFirst) &&
        isVectorLoad(nest, load, chunk.lane, chunk.width)) {
      Value offset = body.loadOffset(load, Point{chunk.dims});
      vectors.push_back({load, loadVector(memrefOf(load.getTensor()), offset, chunk.width)});
    }
  return loop(
      constant(0), constant(chunk.width), constant(1), init,
      [&](Value e, ValueRange carried) {
        Point point{chunk.dims};
        if (chunk.width > 1)
          point.dims[chunk.lane] = add(point.dims[chunk.lane], e);
        body.clearLoaded();
        auto set = [&](ir::LoadOp load, Value element) {
          body.setLoaded(load, fromStorage(b, loc, element, elementOf(load.getTensor())));
        };
        llvm::SmallDenseMap<Operation *, Value> elements;
        for (auto &[load, vector] : vectors)
          elements[load] = b.create<vector::ExtractElementOp>(loc, vector, e);
        for (ir::LoadOp load : nest.loads()) {
          Value element = elements.lookup(load);
          if (Value mine = locals.lookup(load.getTensor())) {
            element = b.create<memref::LoadOp>(loc, mine, add(chunk.slot, e));
          } else if (Kept keep = keeps(load); keep.array && !keep.isFirst) {
            element = b.create<memref::LoadOp>(loc, keep.array, add(chunk.slot, e));
          } else if (keep.array) {
            if (!element)
              element = b.create<memref::LoadOp>(loc, memrefOf(load.getTensor()), body.loadOffset(load, point));
            b.create<memref::StoreOp>(loc, element, keep.array, add(chunk.slot, e));
          }
          if (element)
            set(load, element);
        }
        Values results = body.evaluate(point);
        return use(e, point, results, carried);
      },
      /*unroll=*/true);
}

void LoopFunction::storeResult(BodyEmitter &body, const LoopNest &nest, unsigned result, Value value,
                               const Point &point) {
  Value tensor = nest.op.getResult(result);
  body.store(value, result, memrefOf(tensor), point);
  if (auto it = tensors.copies.find(tensor); it != tensors.copies.end())
    for (int32_t copy : it->second)
      body.store(value, result, arguments.lookup(copy), point);
}

void LoopFunction::writeElements(const LoopNest &nest, BodyEmitter &body, const Chunk &chunk) {
  // Vectors of results in memory; single elements go where they belong at once.
  llvm::SmallVector<unsigned> vectors;
  Values init;
  auto keep = [&](unsigned r, Value value, Value e) {
    Value tensor = nest.op.getResult(r);
    if (Value mine = locals.lookup(tensor))
      b.create<memref::StoreOp>(loc, toStorage(b, loc, value, elementOf(tensor), true), mine, add(chunk.slot, e));
  };
  for (auto [r, tensor] : llvm::enumerate(nest.op.getResults())) {
    bool isContiguous = chunk.width > 1 && used.count(tensor) && !memory.count(tensor) &&
                        isAligned(nest.resultOffset[r], chunk.lane, chunk.width);
    if (!isContiguous)
      continue;
    vectors.push_back(r);
    auto type = VectorType::get({chunk.width}, storageType(elementOf(tensor)));
    init.push_back(b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)));
  }
  Values done =
      forElements(nest, body, chunk, init, [&](Value e, const Point &point, ValueRange results, ValueRange carried) {
        Values next(carried);
        for (auto [r, value] : llvm::enumerate(results)) {
          Value tensor = nest.op.getResult(r);
          keep(r, value, e);
          auto at = llvm::find(vectors, r);
          if (at != vectors.end()) {
            Value &vector = next[at - vectors.begin()];
            Value element = toStorage(b, loc, value, elementOf(tensor), true);
            vector = b.create<vector::InsertElementOp>(loc, element, vector, e);
          } else if (used.count(tensor) || memory.count(tensor)) {
            storeResult(body, nest, r, value, point);
          }
        }
        return next;
      });
  for (auto [r, vector] : llvm::zip(vectors, done)) {
    Value tensor = nest.op.getResult(r);
    Value offset = body.resultOffset(r, Point{chunk.dims});
    storeVector(vector, memrefOf(tensor), offset);
    if (auto it = tensors.copies.find(tensor); it != tensors.copies.end())
      for (int32_t copy : it->second)
        storeVector(vector, arguments.lookup(copy), offset);
  }
}

} // namespace tcc::codegen::cuda
