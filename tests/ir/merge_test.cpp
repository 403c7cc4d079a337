// Merged products and merged ops on slices compute what the ones that they replace do: random siblings, whatever their
// number, sizes, batches, biases and types.
#include <random>

#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "parse.h"
#include "runtime/dispatch.h"
#include "tests/runtime/relative_error.h"

namespace tcc::ir {
namespace {

using Extents = std::vector<std::string>;

std::string type(const Extents& extents, const std::string& element) {
  std::string shape, exprs;
  bool dynamic = false;
  for (const std::string& extent : extents) {
    shape += (extent[0] == 's' ? "?" : extent) + "x";
    exprs += (exprs.empty() ? "" : ", ") + extent;
    dynamic |= extent[0] == 's';
  }
  return "tensor<" + shape + element + (dynamic ? ", #tcc.extents<" + exprs + ">" : "") + ">";
}

struct Random {
  std::mt19937 engine;
  int below(int limit) { return static_cast<int>(engine() % static_cast<unsigned>(limit)); }
  bool coin() { return below(2) == 0; }
  // Multiples of 1/8 are exact in every type.
  std::string constant(const std::vector<int>& extents) { return "dense<" + elements(extents, 0) + ">"; }
  std::string elements(const std::vector<int>& extents, size_t axis) {
    if (axis == extents.size()) {
      const int eighths = below(33) - 16;
      return std::string(eighths < 0 ? "-" : "") + std::to_string(std::abs(eighths) / 8) + "." +
             std::to_string(1000 + std::abs(eighths) % 8 * 125).substr(1);
    }
    std::string list;
    for (int i = 0; i < extents[axis]; ++i) list += (i ? ", " : "") + elements(extents, axis + 1);
    return "[" + list + "]";
  }
};

struct Graph {
  std::string text;
  int merged = 0;  // how many products there are when they are merged
};

// Products of one operand with several constants, and something that reads each.
Graph siblings(Random& random) {
  const std::string element = std::vector<std::string>{"f32", "f16", "bf16", "f64"}[random.below(4)];
  const bool weights_left = random.below(3) == 0, batched = random.coin(), spread = batched && random.coin(),
             dynamic = random.coin();
  const int depth = 1 + random.below(5), batch = 1 + random.below(3), count = 2 + random.below(4);
  const std::string rows = dynamic ? "s0" : std::to_string(1 + random.below(5));
  const std::string b = std::to_string(batch), k = std::to_string(depth);
  auto with_batch = [&](Extents extents) {
    if (batched) extents.insert(extents.begin(), b);
    return extents;
  };
  const std::string x = type(with_batch(weights_left ? Extents{k, rows} : Extents{rows, k}), element);
  std::string body, results, types;
  for (int i = 0; i < count; ++i) {
    const int size = 1 + random.below(9);
    const std::string n = std::to_string(size), at = std::to_string(i);
    std::vector<int> shape = weights_left ? std::vector<int>{size, depth} : std::vector<int>{depth, size};
    const Extents matrix = weights_left ? Extents{n, k} : Extents{k, n};
    if (batched && !spread) shape.insert(shape.begin(), batch);
    const std::string w = type(batched && !spread ? with_batch(matrix) : matrix, element);
    const std::string full = type(with_batch(matrix), element);
    const std::string y = type(with_batch(weights_left ? Extents{n, rows} : Extents{rows, n}), element);
    body += "%c" + at + " = tcc.constant " + random.constant(shape) + " : " + w + "\n";
    std::string operand = "%c" + at;
    if (spread) {
      body += "%w" + at + " = tcc.broadcast %c" + at + " : (" + w + ") -> " + full + "\n";
      operand = "%w" + at;
    }
    body += "%y" + at + " = tcc.matmul " + (weights_left ? operand + ", %x" : "%x, " + operand) + " : (" +
            (weights_left ? full + ", " + x : x + ", " + full) + ") -> " + y + "\n";
    std::string value = "%y" + at;
    if (random.coin()) {
      const bool one = random.below(3) == 0;
      const std::vector<int> bias = one            ? std::vector<int>{1}
                                    : weights_left ? std::vector<int>{size, 1}
                                                   : std::vector<int>{size};
      Extents extents;
      for (int extent : bias) extents.push_back(std::to_string(extent));
      const std::string from = type(extents, element);
      body += "%b" + at + " = tcc.constant " + random.constant(bias) + " : " + from + "\n";
      body += "%s" + at + " = tcc.broadcast %b" + at + " : (" + from + ") -> " + y + "\n";
      body += "%z" + at + " = tcc.add " + (random.coin() ? value + ", %s" + at : "%s" + at + ", " + value) + " : " + y +
              "\n";
      value = "%z" + at;
    }
    const std::string axis = std::to_string(batched ? 2 : 1);
    body += "%r" + at + " = tcc.softmax " + value + " {axis = " + axis + " : i64} : (" + y + ") -> " + y + "\n";
    results += (i ? ", %r" : "%r") + at;
    types += (i ? ", " : "") + y;
  }
  return {"func.func @f(%x: " + x + ") -> (" + types + ")" +
              (dynamic ? " attributes {tcc.symbols = [#tcc.symbol<\"n\", 1, 6, 1>]}" : "") + " {\n" + body + "return " +
              results + " : " + types + "\n}",
          1};
}

class MergeTest : public IrTest, public testing::WithParamInterface<int> {};

TEST_P(MergeTest, ComputesTheSame) {
  Random random{std::mt19937(static_cast<unsigned>(GetParam()))};
  const Graph graph = siblings(random);
  SCOPED_TRACE(graph.text);
  mlir::func::FuncOp function = parse(graph.text);
  ASSERT_TRUE(function);
  const int64_t rows = 1 + random.below(6);
  Dims dims;
  for (mlir::AffineExpr extent : getExtents(function.getArgument(0).getType()))
    dims.push_back(getConstant(extent).value_or(rows));
  const DType dtype = getDType(llvm::cast<mlir::RankedTensorType>(function.getArgument(0).getType()).getElementType());
  Tensor input = *Tensor::Allocate(dtype, dims);
  for (int64_t i = 0; i < input.num_elements(); ++i) StoreDouble(input.data(), dtype, i, (random.below(33) - 16) / 8.0);
  absl::StatusOr<std::vector<Tensor>> expected = interpret(function, {input});
  ASSERT_TRUE(expected.ok()) << expected.status();

  mlir::PassManager passes(&context);
  passes.addPass(createMergeMatmulsPass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(createMergeSlicedOpsPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  int products = 0;
  module->walk([&](MatmulOp) { ++products; });
  EXPECT_EQ(products, graph.merged);
  absl::StatusOr<std::vector<Tensor>> actual = interpret(*module->getOps<mlir::func::FuncOp>().begin(), {input});
  ASSERT_TRUE(actual.ok()) << actual.status();
  // Every number is summed and rounded as before.
  ASSERT_EQ(actual->size(), expected->size());
  for (size_t i = 0; i < actual->size(); ++i) {
    ASSERT_EQ((*actual)[i].type(), (*expected)[i].type());
    EXPECT_LE(RelativeError((*expected)[i], (*actual)[i], 1e-6), 1e-12) << "result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Siblings, MergeTest, testing::Range(0, 60));

}  // namespace
}  // namespace tcc::ir
