//===- PackPanels.cpp - B as panels, made at compile time or by a launch ---===//
#include <algorithm>
#include <cstring>
#include <vector>

#include "codegen/cpu/gemm/PackRows.h"
#include "codegen/cpu/gemm/Schedule.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen::gemm {

bool isConstantOperand(const KernelBuilder &builder, const Operand &operand) {
  return operand.offset && operand.argument < static_cast<int>(builder.constants.size()) &&
         builder.constants[operand.argument];
}

namespace {

template <typename T>
void packElements(const T *from, T *to, int64_t batch, int64_t depth, int64_t columns, int64_t width,
                  AffineExpr offset) {
  // Columns are equally far apart almost always.
  auto stride = dimStride(offset, 2, 3);
  auto column = stride ? ir::getConstant(*stride) : std::nullopt;
  int64_t panels = (columns + width - 1) / width;
  std::vector<int64_t> rows(depth);
  for (int64_t g = 0; g < batch; ++g) {
    if (column)
      for (int64_t k = 0; k < depth; ++k)
        rows[k] = evaluate(offset, {g, k, 0}, {});
    for (int64_t p = 0; p < panels; ++p) {
      T *panel = to + (g * panels + p) * depth * width;
      int64_t valid = std::min(width, columns - p * width);
      if (column) {
        for (int64_t k = 0; k < depth; ++k)
          for (int64_t j = 0; j < valid; ++j)
            panel[k * width + j] = from[rows[k] + (p * width + j) * *column];
        continue;
      }
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < valid; ++j)
          panel[k * width + j] = from[evaluate(offset, {g, k, p * width + j}, {})];
    }
  }
}

// The panels of a constant, or an invalid tensor where an extent is not known.
tcc::Tensor packConstant(ElementsAttr elements, AffineExpr offset, std::optional<int64_t> batch,
                         std::optional<int64_t> depth, std::optional<int64_t> columns, int64_t width) {
  if (!batch || !depth || !columns)
    return {};
  auto tensor = ir::toTensor(elements);
  if (!tensor.ok() || !tensor->is_contiguous())
    return {};
  size_t size = DTypeBytes(tensor->dtype(), 1);
  int64_t count = *batch * ((*columns + width - 1) / width) * *depth * width;
  auto packed = tcc::Tensor::Allocate(tensor->dtype(), {count});
  if (!packed.ok())
    return {};
  std::memset(packed->data(), 0, packed->bytes());
  auto pack = [&](auto zero) {
    using T = decltype(zero);
    packElements(static_cast<const T *>(tensor->data()), static_cast<T *>(packed->data()), *batch, *depth, *columns,
                 width, offset);
  };
  switch (size) {
  case 1:
    pack(uint8_t());
    break;
  case 2:
    pack(uint16_t());
    break;
  case 4:
    pack(uint32_t());
    break;
  case 8:
    pack(uint64_t());
    break;
  default:
    return {};
  }
  return *packed;
}

} // namespace

PackedPanels packPanels(KernelBuilder &builder, const Operand &operand, ArrayRef<AffineExpr> coordinate, bool batched,
                        AffineExpr batch, AffineExpr k, AffineExpr n, const GemmTiles &tiles) {
  MLIRContext *context = k.getContext();
  Exprs at(coordinate.begin(), coordinate.end());
  AffineExpr one = getAffineConstantExpr(1, context), groups = batched ? batch : one;
  int64_t width = tiles.panelWidth(), lanes = tiles.lanes;
  AffineExpr offset = operand.offset ? simplify(substitute(operand.offset, at)) : AffineExpr();
  if (isConstantOperand(builder, operand)) {
    // Without symbols only: every extent of a constant is known.
    tcc::Tensor packed = packConstant(builder.constants[operand.argument], offset, ir::getConstant(groups),
                                      ir::getConstant(k), ir::getConstant(n), width);
    if (packed.valid()) {
      BlockArgument argument = builder.kernel.kernel.getBody().getArgument(operand.argument);
      if (argument.hasOneUse())
        builder.dropInput(operand.argument);
      return {builder.addConstant(packed, storageType(operand.element)), batched};
    }
  }

  AffineExpr panels = n.ceilDiv(width);
  Type storage = storageType(operand.element);
  int buffer = builder.addTemporary(groups * panels * k * width, storage);
  auto rowStride = offset ? dimStride(offset, 1, 3) : std::nullopt,
       columnStride = offset ? dimStride(offset, 2, 3) : std::nullopt;
  bool transposed = rowStride && columnStride && ir::getConstant(*rowStride) == 1 &&
                    ir::getConstant(*columnStride) != 1 && llvm::isPowerOf2_64(lanes) && lanes > 1;
  SmallVector<int> uses;
  for (int i = 0; i < builder.kernel.numInputs(); ++i)
    if (!builder.dropped(i))
      uses.push_back(i);
  uses.push_back(buffer);
  const TemplateKernel &kernel = builder.kernel;
  int64_t depth = ir::getConstant(k).value_or(512);
  builder.addLaunch(
      "gemm_pack", uses, simplify(groups * panels), grainOf(8.0 * depth * width), 0, [&](Emit &e, const Frame &frame) {
        Value depth = e.affineNonNegative(k, {}, frame.symbols), columns = e.affineNonNegative(n, {}, frame.symbols);
        Value count = e.affineNonNegative(panels, {}, frame.symbols);
        Value to = frame.buffers[buffer];
        e.loop(frame.begin, frame.end, 1, [&](Value item) {
          Value g = e.div(item, count), column = e.mul(e.rem(item, count), e.c(width));
          Value base = e.mul(item, e.mul(depth, e.c(width)));
          for (int64_t v = 0; v < tiles.vectors; ++v) {
            Value first = e.add(column, e.c(v * lanes));
            Value valid = e.sub(columns, first);
            if (transposed) {
              // Lanes of a square run along k; a vector beyond the last column is left as it is: nothing of it reaches
              // a result.
              e.when(e.lt(e.c(0), valid), [&] {
                e.loop(e.c(0), depth, lanes, [&](Value j) {
                  Values square = loadTransposed(e, frame, frame.buffers[operand.argument], offset, {g, j, first}, 1, 2,
                                                 e.sub(depth, j), valid, lanes, storage);
                  for (int64_t i = 0; i < lanes; ++i)
                    e.when(e.lt(e.add(j, e.c(i)), depth), [&] {
                      e.vstore(square[i], to, e.add(base, e.add(e.mul(e.add(j, e.c(i)), e.c(width)), e.c(v * lanes))));
                    });
                });
              });
              continue;
            }
            auto copy = [&](Value count) {
              Value mask = count ? e.maskOf(count, lanes) : Value();
              e.loop(e.c(0), depth, 1, [&](Value j) {
                Point point{{g, j, first}, frame.symbols, 2, lanes, count, mask};
                Value value = kernel.evaluate(e, frame, point, operand.tensor, at);
                value = toStorage(e.b, e.loc, value, operand.element);
                e.vstore(value, to, e.add(base, e.add(e.mul(j, e.c(width)), e.c(v * lanes))));
              });
            };
            e.when(
                e.ge(valid, e.c(lanes)), [&] { copy({}); }, [&] { e.when(e.lt(e.c(0), valid), [&] { copy(valid); }); });
          }
        });
      });
  return {buffer, batched};
}

} // namespace tcc::codegen::gemm
