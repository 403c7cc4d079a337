// Scatters on the way to code: the interpreter on level 1 (the reference kernels) is the oracle of the interpreter on
// the kernels and of the code, for AVX2 and what the machine has.
#include "codegen/fusion/Passes.h"
#include "kernel_runner.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/kernel_abi.h"

namespace tcc::codegen {
namespace {

struct Element {
  const char* name;
  DType dtype;
};
const Element kElements[] = {{"f32", DType::kF32}, {"f64", DType::kF64},  {"f16", DType::kF16},  {"bf16", DType::kBF16},
                             {"i8", DType::kI8},   {"i16", DType::kI16},  {"i32", DType::kI32},  {"i64", DType::kI64},
                             {"ui8", DType::kU8},  {"ui16", DType::kU16}, {"ui32", DType::kU32}, {"ui64", DType::kU64},
                             {"i1", DType::kBool}};
const char* const kKinds[] = {"assign", "add", "mul", "max", "min"};

// Extents by position in a Shape, as in Shape::type().
struct Scatter {
  std::string op = "scatter_nd";
  std::string attributes;
  std::vector<int> x, indices, updates;
  std::string kind = "add";
  Element element = kElements[0];
  std::string index = "i64";
};

std::string function(const Scatter& s, const Shape& shape) {
  const std::string x = shape.type(s.element.name, s.x), i = shape.type(s.index, s.indices),
                    u = shape.type(s.element.name, s.updates);
  return "func.func @f(%x: " + x + ", %i: " + i + ", %u: " + u + ") -> " + x + shape.attributes() + " {\n%y = tcc." +
         s.op + " %x, %i, %u {" + s.attributes + "kind = #tcc.scatter_kind<" + s.kind + ">} : (" + x + ", " + i + ", " +
         u + ") -> " + x + "\nreturn %y : " + x + "\n}";
}

std::vector<int64_t> dimsOf(const Shape& shape, const std::vector<int>& positions) {
  std::vector<int64_t> dims;
  for (int position : positions) dims.push_back(position < 0 ? -position : shape.values[position]);
  return dims;
}

class ScatterTest : public ::testing::TestWithParam<const char*> {
 protected:
  ScatterTest() : runner(GetParam()) { runner.context.loadDialect<mlir::math::MathDialect>(); }

  // `below`: indices are in [-below, below).
  std::vector<Tensor> inputs(const Scatter& s, const Shape& shape, int64_t below) {
    DType index = s.index == "i32" ? DType::kI32 : s.index == "ui8" ? DType::kU8 : DType::kI64;
    double limit = static_cast<double>(below), low = index == DType::kU8 ? 0 : -limit;
    return {KernelRunner::random(s.element.dtype, dimsOf(shape, s.x), 1),
            KernelRunner::random(index, dimsOf(shape, s.indices), 2, low, limit),
            KernelRunner::random(s.element.dtype, dimsOf(shape, s.updates), 3)};
  }

  mlir::func::FuncOp lower(const std::string& text) {
    mlir::func::FuncOp function = runner.parse(text);
    mlir::PassManager passes(&runner.context);
    passes.addNestedPass<mlir::func::FuncOp>(createLowerToKernelsPass(nullptr));
    passes.addNestedPass<mlir::func::FuncOp>(createFuseKernelsPass(nullptr));
    passes.addNestedPass<mlir::func::FuncOp>(createVerifyKernelsPass());
    EXPECT_TRUE(succeeded(passes.run(*runner.module))) << text;
    EXPECT_FALSE(function.getOps<ir::KernelOp>().empty()) << text;
    return function;
  }

  void check(const Scatter& s, const Shape& shape, int64_t below) {
    const std::string text = function(s, shape);
    SCOPED_TRACE(text);
    std::vector<Tensor> given = inputs(s, shape, below);
    auto want = ir::interpret(runner.parse(text), given);
    ASSERT_TRUE(want.ok()) << want.status();
    mlir::func::FuncOp lowered = lower(text);
    auto kernels = ir::interpret(lowered, given);
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    KernelRunner::compare((*kernels)[0], (*want)[0], 0, "the interpreter on kernels");
    RunResult have = runner.run(lowered, given, shape.dynamic ? shape.values : std::vector<int64_t>());
    ASSERT_EQ(have.outputs.size(), 1u);
    EXPECT_EQ(have.error, 0);
    EXPECT_EQ(have.code.schedule, "scatter");
    KernelRunner::compare(have.outputs[0], (*want)[0], 0, "the code");
  }

  void checkOutOfRange(const Scatter& s, const Shape& shape, std::vector<Tensor> given) {
    const std::string text = function(s, shape);
    SCOPED_TRACE(text);
    mlir::func::FuncOp lowered = lower(text);
    EXPECT_EQ(ir::interpret(lowered, given).status().code(), absl::StatusCode::kOutOfRange);
    RunResult have = runner.run(lowered, given, shape.dynamic ? shape.values : std::vector<int64_t>());
    EXPECT_EQ(have.error, kTccIndexOutOfRange);
  }

  KernelRunner runner;
};

// Slices of odd sizes, with many updates of each: vectors, their tails, and the order of updates.
TEST_P(ScatterTest, EveryElementTypeAndKind) {
  for (const Element& element : kElements)
    for (const char* kind : kKinds) {
      Scatter s{"scatter_nd", "", {0, 1}, {2, -1}, {2, 1}, kind, element};
      check(s, {{3, 37, 9}, false}, 3);
      s = {"scatter_elements", "axis = 1 : i64, ", {0, 1}, {0, 2}, {0, 2}, kind, element, "i32"};
      check(s, {{3, 5, 9}, false}, 5);
    }
}

TEST_P(ScatterTest, Slices) {
  for (bool dynamic : {false, true})
    for (const char* kind : {"assign", "add"})
      for (int64_t n : {0, 1, 7, 33, 1030}) {
        check({"scatter_nd", "", {0, 1}, {2, -1}, {2, 1}, kind}, {{5, n, 4}, dynamic}, 5);
        check({"scatter_nd", "", {0, 0, -3, 1}, {2, -2}, {2, -3, 1}, kind}, {{5, n, 4}, dynamic}, 5);
        // Only elements, and no updates.
        check({"scatter_nd", "", {0, 0}, {1, -2}, {1}, kind}, {{5, n}, dynamic}, 5);
        check({"scatter_nd", "", {0, 1}, {2, -1}, {2, 1}, kind}, {{5, n, 0}, dynamic}, 5);
      }
  // The whole of x is one element of the tuple's axes; one update without any axis.
  check({"scatter_nd", "", {0}, {-1}, {}, "max"}, {{6}, false}, 6);
  check({"scatter_nd", "", {0, 1}, {-2, -3, -1}, {-2, -3, 1}, "mul"}, {{6, 20}, false}, 6);
}

TEST_P(ScatterTest, Elements) {
  for (bool dynamic : {false, true})
    for (int axis : {0, 1, 2})
      for (int64_t n : {0, 1, 17, 300}) {
        // Fewer indices than elements along the other axes.
        std::vector<int> x = {0, 1, 2}, i = x;
        i[axis] = 3;
        std::string attributes = "axis = " + std::to_string(axis) + " : i64, ";
        Shape shape{{4, 6, n, 5}, dynamic};
        if (shape.values[axis] == 0) shape.values[3] = 0;
        check({"scatter_elements", attributes, x, i, i, axis == 1 ? "assign" : "add"}, shape, shape.values[axis]);
        i[axis == 0 ? 1 : 0] = -2;
        check({"scatter_elements", attributes, x, i, i, "assign"}, shape, shape.values[axis]);
      }
  check({"scatter_elements", "axis = 0 : i64, ", {0}, {1}, {1}, "add", kElements[0], "ui8"}, {{7, 90}, false}, 7);
}

TEST_P(ScatterTest, BadIndicesAreReported) {
  for (bool dynamic : {false, true})
    for (int64_t bad : {4, -5}) {
      Shape shape{{4, 33, 3}, dynamic};
      Scatter s{"scatter_nd", "", {0, 1}, {2, -1}, {2, 1}, "assign"};
      std::vector<Tensor> given = inputs(s, shape, 4);
      given[1].data_as<int64_t>()[1] = bad;
      checkOutOfRange(s, shape, given);
      s = {"scatter_elements", "axis = 0 : i64, ", {0, 1}, {2, 1}, {2, 1}, "add"};
      given = inputs(s, shape, 4);
      given[1].data_as<int64_t>()[70] = bad;
      checkOutOfRange(s, shape, given);
    }
}

// What only the run can tell: nothing is written to an axis without elements, and nothing read beyond the updates.
TEST_P(ScatterTest, BadExtentsAreReported) {
  Scatter nd{"scatter_nd", "", {0, 1}, {2, -1}, {3, 4}, "assign"};
  Scatter elements{"scatter_elements", "axis = 0 : i64, ", {0, 1}, {2, 3}, {4, 5}, "assign"};
  // s0, s1: x; then the indices' and the updates'.
  for (std::vector<int64_t> values :
       {std::vector<int64_t>{0, 8, 2, 2, 8}, {4, 8, 3, 2, 8}, {4, 8, 2, 3, 8}, {4, 8, 2, 2, 5}, {4, 8, 2, 2, 9}}) {
    Shape shape{values, true};
    checkOutOfRange(nd, shape, inputs(nd, shape, 1));
  }
  for (std::vector<int64_t> values :
       {std::vector<int64_t>{4, 8, 3, 9, 3, 9}, {4, 8, 3, 8, 2, 8}, {4, 8, 3, 7, 3, 8}, {0, 8, 3, 8, 3, 8}}) {
    Shape shape{values, true};
    checkOutOfRange(elements, shape, inputs(elements, shape, 1));
  }
  check(nd, {{4, 8, 2, 2, 8}, true}, 4);
  check(elements, {{4, 8, 3, 7, 3, 7}, true}, 4);
}

std::string nameOfCpu(const ::testing::TestParamInfo<const char*>& info) { return *info.param ? "v3" : "native"; }
INSTANTIATE_TEST_SUITE_P(Cpus, ScatterTest, ::testing::Values("", "x86-64-v3"), nameOfCpu);

}  // namespace
}  // namespace tcc::codegen
