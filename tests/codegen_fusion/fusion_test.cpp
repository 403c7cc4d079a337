// Every stage of the way to kernels computes what level 1 does: the interpreter runs each.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/fusion/Passes.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

namespace tcc::codegen {
namespace {

struct Case {
  std::string name;
  std::string text;                       // the function
  std::vector<int64_t> symbols = {};      // values of s0, s1, ...
  int64_t mostKernels = -1;               // after fusion; -1: not checked
  std::vector<int64_t> indexLimits = {};  // for each input: integers are in [-limit, limit); 0: any small value
};

Tensor randomTensor(DType dtype, const Dims& dims, int64_t limit, std::mt19937& rng) {
  Tensor t = *Tensor::Allocate(dtype, dims);
  auto fill = [&](auto* data) {
    using T = std::remove_pointer_t<decltype(data)>;
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        data[i] = static_cast<T>(std::uniform_real_distribution<double>(-2, 2)(rng));
      } else if (std::is_same_v<T, bool>) {
        data[i] = rng() & 1;
      } else {
        int64_t bound = limit ? limit : 5;
        int64_t low = std::is_unsigned_v<T> ? 0 : -bound;
        data[i] = static_cast<T>(std::uniform_int_distribution<int64_t>(low, bound - 1)(rng));
      }
    }
  };
  switch (dtype) {
    case DType::kF32:
      fill(t.data_as<float>());
      break;
    case DType::kF64:
      fill(t.data_as<double>());
      break;
    case DType::kI64:
      fill(t.data_as<int64_t>());
      break;
    case DType::kI32:
      fill(t.data_as<int32_t>());
      break;
    case DType::kI8:
      fill(t.data_as<int8_t>());
      break;
    case DType::kU8:
      fill(t.data_as<uint8_t>());
      break;
    case DType::kBool:
      fill(t.data_as<bool>());
      break;
    case DType::kF16: {  // small multiples of 1/8, exact in half precision
      auto* data = t.data_as<uint16_t>();
      for (int64_t i = 0; i < t.num_elements(); ++i) data[i] = static_cast<uint16_t>(0x3000 + (rng() % 0xC00));
      break;
    }
    default:
      ADD_FAILURE() << "no random values of this dtype";
  }
  return t;
}

template <typename T>
void compareAs(const Tensor& a, const Tensor& b, const std::string& where) {
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    T x = a.data_as<T>()[i], y = b.data_as<T>()[i];
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y) continue;
      double tolerance = 2e-5 * std::max<double>(1.0, std::fabs(x));
      ASSERT_LE(std::fabs(double(x) - double(y)), tolerance) << where << " element " << i << ": " << x << " and " << y;
    } else {
      ASSERT_EQ(x, y) << where << " element " << i;
    }
  }
}

void compare(const Tensor& want, const Tensor& have, const std::string& where) {
  ASSERT_EQ(want.type(), have.type()) << where;
  Tensor a = *want.Contiguous(), b = *have.Contiguous();
  switch (want.dtype()) {
    case DType::kF32:
      return compareAs<float>(a, b, where);
    case DType::kF64:
      return compareAs<double>(a, b, where);
    case DType::kI64:
      return compareAs<int64_t>(a, b, where);
    case DType::kI32:
      return compareAs<int32_t>(a, b, where);
    case DType::kI8:
      return compareAs<int8_t>(a, b, where);
    case DType::kU8:
      return compareAs<uint8_t>(a, b, where);
    case DType::kBool:
      return compareAs<uint8_t>(a, b, where);
    case DType::kF16: {
      for (int64_t i = 0; i < a.num_elements(); ++i)
        ASSERT_LE(std::abs(int(a.data_as<int16_t>()[i]) - int(b.data_as<int16_t>()[i])), 1)
            << where << " element " << i;
      return;
    }
    default:
      FAIL() << "cannot compare";
  }
}

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class FusionTest : public ::testing::TestWithParam<Case> {
 protected:
  FusionTest() {
    context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    context.getDiagEngine().registerHandler([&](mlir::Diagnostic& diagnostic) { errors += diagnostic.str() + "\n"; });
  }
  std::string print() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string errors;
};

TEST_P(FusionTest, EveryStageComputesTheSame) {
  const Case& c = GetParam();
  module = mlir::parseSourceString<mlir::ModuleOp>(c.text, &context);
  ASSERT_TRUE(module) << errors;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();

  std::mt19937 rng(7);
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    Dims dims;
    for (mlir::AffineExpr extent : ir::getExtents(type)) {
      mlir::SmallVector<mlir::AffineExpr> values;
      for (int64_t value : c.symbols) values.push_back(mlir::getAffineConstantExpr(value, &context));
      dims.push_back(*ir::getConstant(ir::simplifyExtent(extent.replaceSymbols(values))));
    }
    int64_t limit = i < c.indexLimits.size() ? c.indexLimits[i] : 0;
    inputs.push_back(
        randomTensor(ir::getDType(mlir::cast<mlir::RankedTensorType>(type).getElementType()), dims, limit, rng));
  }
  absl::StatusOr<std::vector<Tensor>> want = ir::interpret(function, inputs);
  ASSERT_TRUE(want.ok()) << want.status();

  for (bool fuse : {false, true}) {
    mlir::PassManager passes(&context);
    if (fuse)
      passes.addNestedPass<mlir::func::FuncOp>(createFuseKernelsPass());
    else
      passes.addNestedPass<mlir::func::FuncOp>(createLowerToKernelsPass());
    passes.addNestedPass<mlir::func::FuncOp>(createVerifyKernelsPass());
    ASSERT_TRUE(succeeded(passes.run(*module))) << errors << print();
    absl::StatusOr<std::vector<Tensor>> have = ir::interpret(function, inputs);
    ASSERT_TRUE(have.ok()) << have.status() << "\n" << print();
    ASSERT_EQ(want->size(), have->size());
    for (size_t i = 0; i < want->size(); ++i) {
      compare((*want)[i], (*have)[i], (fuse ? "fused, output " : "lowered, output ") + std::to_string(i));
      if (HasFatalFailure()) FAIL() << print();
    }
  }
  int64_t kernels = 0;
  function.walk([&](ir::KernelOp) { ++kernels; });
  if (c.mostKernels >= 0) EXPECT_LE(kernels, c.mostKernels) << print();
}

std::string unary(const std::string& op, const std::string& type) {
  return "func.func @f(%x: " + type + ") -> " + type + " {\n%y = tcc." + op + " %x : " + type +
         "\nreturn %y : " + type + "\n}";
}
std::string binary(const std::string& op, const std::string& type) {
  return "func.func @f(%x: " + type + ", %z: " + type + ") -> " + type + " {\n%y = tcc." + op + " %x, %z : " + type +
         "\nreturn %y : " + type + "\n}";
}
// One op with one operand in the generic form "(operands) attributes : function type".
std::string single(const std::string& op, const std::string& attributes, const std::string& from,
                   const std::string& to) {
  return "func.func @f(%x: " + from + ") -> " + to + " {\n%y = tcc." + op + " %x " + attributes + " : (" + from +
         ") -> " + to + "\nreturn %y : " + to + "\n}";
}

std::vector<Case> pointwiseCases() {
  std::vector<Case> cases;
  for (const char* op : {"abs", "neg", "sign", "ceil", "floor", "round", "trunc", "reciprocal", "exp", "sin", "cos",
                         "tanh", "erf", "sigmoid", "sqrt", "log", "atan"})
    cases.push_back({std::string(op) + "_f32", unary(op, "tensor<3x7xf32>"), {}, 1});
  for (const char* op : {"neg", "exp"}) cases.push_back({std::string(op) + "_f16", unary(op, "tensor<13xf16>"), {}, 1});
  for (const char* op : {"add", "sub", "mul", "div", "mod", "fmod", "max", "min", "atan2"})
    cases.push_back({std::string(op) + "_f32", binary(op, "tensor<5x3xf32>"), {}, 1});
  for (const char* type : {"i64", "i32", "i8", "ui8"})
    for (const char* op :
         {"add", "sub", "mul", "div", "mod", "fmod", "max", "min", "and", "or", "xor", "shift_left", "shift_right"}) {
      Case c{std::string(op) + "_" + type, binary(op, "tensor<31x" + std::string(type) + ">"), {}, 1};
      if (std::string(op).find("shift") == 0) c.indexLimits = {0, 3};
      if (std::string(op).find("shift") == 0 && type[0] != 'u') continue;  // negative amounts mean nothing
      cases.push_back(c);
    }
  for (const char* type : {"f32", "i32", "ui8"})
    for (const char* predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      std::string t = "tensor<17x" + std::string(type) + ">";
      cases.push_back({std::string("compare_") + predicate + "_" + type,
                       "func.func @f(%x: " + t + ", %z: " + t +
                           ") -> tensor<17xi1> {\n%y = tcc.compare %x, %z {predicate = "
                           "#tcc.predicate<" +
                           predicate + ">} : (" + t + ", " + t + ") -> tensor<17xi1>\nreturn %y : tensor<17xi1>\n}",
                       {},
                       1});
    }
  for (const char* from : {"f32", "f64", "i64", "i8", "ui8", "i1", "f16"})
    for (const char* to : {"f32", "f64", "i64", "i8", "ui8", "i1"})
      if (std::string(from) != to)
        cases.push_back(
            {std::string("cast_") + from + "_" + to,
             single("cast", "", "tensor<19x" + std::string(from) + ">", "tensor<19x" + std::string(to) + ">"),
             {},
             1});
  return cases;
}

std::vector<Case> movementCases() {
  return {
      {"broadcast", single("broadcast", "", "tensor<3x1xf32>", "tensor<2x3x5xf32>")},
      {"transpose",
       single("transpose", "{permutation = array<i64: 2, 0, 1>}", "tensor<2x3x5xf32>", "tensor<5x2x3xf32>")},
      {"slice", single("slice", "{starts = #tcc.extents<1, 4>, steps = array<i64: 1, -2>}", "tensor<3x5xf32>",
                       "tensor<2x3xf32>")},
      {"pad", single("pad", "{low = #tcc.extents<1, 2>, high = #tcc.extents<0, 3>, mode = #tcc.pad_mode<constant>}",
                     "tensor<3x5xf32>", "tensor<4x10xf32>")},
      {"pad_crop",
       single("pad", "{low = #tcc.extents<-1, 2>, high = #tcc.extents<0, -3>, mode = #tcc.pad_mode<constant>}",
              "tensor<3x5xf32>", "tensor<2x4xf32>")},
      {"pad_reflect",
       single("pad", "{low = #tcc.extents<2, 0>, high = #tcc.extents<1, 4>, mode = #tcc.pad_mode<reflect>}",
              "tensor<3x5xf32>", "tensor<6x9xf32>")},
      {"pad_edge", single("pad", "{low = #tcc.extents<2, 0>, high = #tcc.extents<7, 1>, mode = #tcc.pad_mode<edge>}",
                          "tensor<3x5xf32>", "tensor<12x6xf32>")},
      {"pad_wrap", single("pad", "{low = #tcc.extents<2, 0>, high = #tcc.extents<2, 1>, mode = #tcc.pad_mode<wrap>}",
                          "tensor<3x5xf32>", "tensor<7x6xf32>")},
      {"concat", R"(func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>, %z: tensor<2x4xf32>) -> tensor<2x8xf32> {
        %r = tcc.concat %x, %y, %z {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
        return %r : tensor<2x8xf32> })"},
      {"iota", R"(func.func @f() -> tensor<3x4xf32> {
        %r = tcc.iota {axis = 1 : i64} : () -> tensor<3x4xf32>
        return %r : tensor<3x4xf32> })"},
      {"gather",
       R"(func.func @f(%x: tensor<3x6x2xf32>, %i: tensor<4x5xi64>) -> tensor<3x4x5x2xf32> {
        %r = tcc.gather %x, %i {axis = 1 : i64} : (tensor<3x6x2xf32>, tensor<4x5xi64>) -> tensor<3x4x5x2xf32>
        return %r : tensor<3x4x5x2xf32> })",
       {},
       1,
       {0, 6}},
      {"gather_elements",
       R"(func.func @f(%x: tensor<3x6xf32>, %i: tensor<2x6xi32>) -> tensor<2x6xf32> {
        %r = tcc.gather_elements %x, %i {axis = 0 : i64} : (tensor<3x6xf32>, tensor<2x6xi32>) -> tensor<2x6xf32>
        return %r : tensor<2x6xf32> })",
       {},
       1,
       {0, 3}},
      {"gather_nd",
       R"(func.func @f(%x: tensor<2x3x4x5xf32>, %i: tensor<2x7x2xi64>) -> tensor<2x7x5xf32> {
        %r = tcc.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3x4x5xf32>, tensor<2x7x2xi64>) -> tensor<2x7x5xf32>
        return %r : tensor<2x7x5xf32> })",
       {},
       1,
       {0, 3}},
      {"resize_nearest",
       single("resize",
              "{scales = array<f64: 1.0, 2.0, 3.0>, roi = array<f64>, mode = #tcc.resize_mode<nearest>, coordinate = "
              "#tcc.coordinate<asymmetric>, nearest_mode = #tcc.nearest_mode<floor>, cubic_coeff_a = -0.75, "
              "exclude_outside = false, antialias = false, extrapolation_value = 0.0}",
              "tensor<2x3x4xf32>", "tensor<2x6x12xf32>")},
      {"resize_linear",
       single("resize",
              "{scales = array<f64: 1.0, 1.5, 0.6>, roi = array<f64>, mode = #tcc.resize_mode<linear>, coordinate = "
              "#tcc.coordinate<half_pixel>, nearest_mode = #tcc.nearest_mode<floor>, cubic_coeff_a = -0.75, "
              "exclude_outside = false, antialias = false, extrapolation_value = 0.0}",
              "tensor<2x4x5xf32>", "tensor<2x6x3xf32>"),
       {},
       1},
      {"resize_cubic",
       single("resize",
              "{scales = array<f64: 2.0, 1.0>, roi = array<f64>, mode = #tcc.resize_mode<cubic>, coordinate = "
              "#tcc.coordinate<align_corners>, nearest_mode = #tcc.nearest_mode<floor>, cubic_coeff_a = -0.75, "
              "exclude_outside = false, antialias = false, extrapolation_value = 0.0}",
              "tensor<5x3xf32>", "tensor<10x3xf32>"),
       {},
       1},
  };
}

std::vector<Case> gridSampleCases() {
  std::vector<Case> cases;
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const char* align : {"true", "false"}) {
        std::string attributes = std::string("{mode = #tcc.grid_mode<") + mode + ">, padding = #tcc.grid_padding<" +
                                 padding + ">, align_corners = " + align + "}";
        auto text = [&](const std::string& symbols, const std::string& x, const std::string& grid,
                        const std::string& y) {
          return "func.func @f(%x: " + x + ", %g: " + grid + ") -> " + y + symbols + " { %r = tcc.grid_sample %x, %g " +
                 attributes + " : (" + x + ", " + grid + ") -> " + y + " return %r : " + y + " }";
        };
        std::string name = std::string("grid_sample_") + mode + "_" + padding + "_" + align;
        cases.push_back({name, text("", "tensor<2x3x5x7xf32>", "tensor<2x3x11x2xf32>", "tensor<2x3x3x11xf32>"), {}, 1});
        cases.push_back(
            {name + "_f64_line", text("", "tensor<1x2x1xf64>", "tensor<1x13x1xf64>", "tensor<1x2x13xf64>"), {}, 1});
        cases.push_back(
            {name + "_dynamic",
             text(" attributes {tcc.symbols = [#tcc.symbol<\"h\", 1, 64, 1>, #tcc.symbol<\"q\", 0, 64, 1>]}",
                  "tensor<2x3x?x7xf32, #tcc.extents<2, 3, s0, 7>>", "tensor<2x?x4x2xf32, #tcc.extents<2, s1, 4, 2>>",
                  "tensor<2x3x?x4xf32, #tcc.extents<2, 3, s1, 4>>"),
             {5, 3},
             1});
        if (std::string(mode) == "cubic") continue;
        cases.push_back({name + "_volume",
                         text("", "tensor<1x2x3x4x5xf16>", "tensor<1x2x2x7x3xf16>", "tensor<1x2x2x2x7xf16>"),
                         {},
                         1});
      }
  return cases;
}

std::vector<Case> reductionCases() {
  std::vector<Case> cases;
  for (const char* kind : {"sum", "prod", "max", "min", "mean"})
    for (const char* type : {"f32", "i32", "ui8", "f16"}) {
      if (std::string(kind) == "mean" && type[0] != 'f') continue;
      std::string from = "tensor<2x3x5x" + std::string(type) + ">", to = "tensor<2x1x1x" + std::string(type) + ">";
      cases.push_back(
          {std::string("reduce_") + kind + "_" + type,
           single("reduce",
                  std::string("{kind = #tcc.reduce_kind<") + kind + ">, axes = array<i64: 1, 2>, keep_dims = true}",
                  from, to)});
    }
  cases.push_back(
      {"reduce_any", single("reduce", "{kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = false}",
                            "tensor<3x5xi1>", "tensor<5xi1>")});
  for (const char* kind : {"max", "min"})
    for (const char* last : {"true", "false"})
      cases.push_back({std::string("arg_") + kind + "_" + last, single("arg_reduce",
                                                                       std::string("{kind = #tcc.reduce_kind<") + kind +
                                                                           ">, axis = 1 : i64, keep_dims = false, "
                                                                           "select_last = " +
                                                                           last + "}",
                                                                       "tensor<3x7x2xi32>", "tensor<3x2xi64>")});
  for (const char* op : {"softmax", "log_softmax"})
    for (int axis : {0, 1, 2})
      cases.push_back(
          {std::string(op) + std::to_string(axis),
           single(op, "{axis = " + std::to_string(axis) + " : i64}", "tensor<2x3x7xf32>", "tensor<2x3x7xf32>"),
           {},
           1});
  cases.push_back({"layer_norm",
                   single("layer_norm", "{axis = 1 : i64, epsilon = 1.0e-5}", "tensor<4x3x5xf32>", "tensor<4x3x5xf32>"),
                   {},
                   1});
  cases.push_back({"layer_norm_f16",
                   single("layer_norm", "{axis = 1 : i64, epsilon = 1.0e-5}", "tensor<4x15xf16>", "tensor<4x15xf16>"),
                   {},
                   1});
  cases.push_back({"rms_norm",
                   single("rms_norm", "{axis = 2 : i64, epsilon = 1.0e-5}", "tensor<4x3x5xf32>", "tensor<4x3x5xf32>"),
                   {},
                   1});
  for (const char* ceil : {"true", "false"}) {
    std::string out = ceil[0] == 't' ? "tensor<1x2x4x3xf32>" : "tensor<1x2x3x3xf32>";
    std::string window =
        "{kernel = array<i64: 3, 2>, strides = array<i64: 2, 2>, padding_low = array<i64: 1, 0>, padding_high = "
        "array<i64: 0, 1>, dilations = array<i64: 1, 1>, ceil_mode = " +
        std::string(ceil);
    cases.push_back(
        {std::string("max_pool_") + ceil, single("max_pool", window + "}", "tensor<1x2x7x6xf32>", out), {}, 1});
    for (const char* include : {"true", "false"})
      cases.push_back(
          {std::string("avg_pool_") + ceil + include,
           single("avg_pool", window + ", count_include_pad = " + include + "}", "tensor<1x2x7x6xf32>", out),
           {},
           1});
  }
  return cases;
}

std::vector<Case> graphCases() {
  return {
      {"chain",
       R"(func.func @f(%x: tensor<3x5xf32>, %b: tensor<5xf32>) -> tensor<3x5xf32> {
        %c = tcc.constant dense<0.5> : tensor<f32>
        %s = tcc.broadcast %c : (tensor<f32>) -> tensor<3x5xf32>
        %m = tcc.mul %x, %s : tensor<3x5xf32>
        %bb = tcc.broadcast %b : (tensor<5xf32>) -> tensor<3x5xf32>
        %a = tcc.add %m, %bb : tensor<3x5xf32>
        %t = tcc.tanh %a : tensor<3x5xf32>
        return %t : tensor<3x5xf32> })",
       {},
       1},
      {"diamond",
       R"(func.func @f(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
        %a = tcc.exp %x : tensor<3x5xf32>
        %b = tcc.neg %a : tensor<3x5xf32>
        %c = tcc.mul %a, %b : tensor<3x5xf32>
        return %a, %c : tensor<3x5xf32>, tensor<3x5xf32> })",
       {},
       1},
      {"gemm_epilogue",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %r: tensor<6x8xf32>) -> tensor<6x8xf32> {
        %m = tcc.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        %bb = tcc.broadcast %b : (tensor<8xf32>) -> tensor<6x8xf32>
        %a = tcc.add %m, %bb : tensor<6x8xf32>
        %g = tcc.sigmoid %a : tensor<6x8xf32>
        %y = tcc.add %g, %r : tensor<6x8xf32>
        return %y : tensor<6x8xf32> })",
       {},
       1},
      // What the epilogue absorbed must not count as readers of the matmul.
      {"gelu_epilogue",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>) -> tensor<6x8xf32> {
        %h = tcc.constant dense<0.5> : tensor<6x8xf32>
        %r = tcc.constant dense<0.70710678> : tensor<6x8xf32>
        %m = tcc.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        %a = tcc.mul %m, %h : tensor<6x8xf32>
        %s = tcc.mul %m, %r : tensor<6x8xf32>
        %e = tcc.erf %s : tensor<6x8xf32>
        %f = tcc.add %e, %h : tensor<6x8xf32>
        %y = tcc.mul %a, %f : tensor<6x8xf32>
        return %y : tensor<6x8xf32> })",
       {},
       1},
      // Heads of attention: matmul, bias, reshape, transpose.
      {"split_heads",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<2x2x3x4xf32> {
        %m = tcc.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        %bb = tcc.broadcast %b : (tensor<8xf32>) -> tensor<6x8xf32>
        %a = tcc.add %m, %bb : tensor<6x8xf32>
        %h = tcc.reshape %a : (tensor<6x8xf32>) -> tensor<2x3x2x4xf32>
        %t = tcc.transpose %h {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
        return %t : tensor<2x2x3x4xf32> })",
       {},
       1},
      {"transposed_operand",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<8x4xf32>) -> tensor<6x8xf32> {
        %t = tcc.transpose %w {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
        %m = tcc.matmul %x, %t : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        return %m : tensor<6x8xf32> })",
       {},
       1},
      {"residual_norm",
       R"(func.func @f(%x: tensor<6x8xf32>, %r: tensor<6x8xf32>, %g: tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
        %a = tcc.add %x, %r : tensor<6x8xf32>
        %n = tcc.layer_norm %a {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %gg = tcc.broadcast %g : (tensor<8xf32>) -> tensor<6x8xf32>
        %y = tcc.mul %n, %gg : tensor<6x8xf32>
        %z = tcc.add %y, %a : tensor<6x8xf32>
        return %y, %z : tensor<6x8xf32>, tensor<6x8xf32> })"},
      {"norm_scale",
       R"(func.func @f(%x: tensor<6x8xf32>, %g: tensor<8xf32>) -> tensor<6x8xf32> {
        %n = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %gg = tcc.broadcast %g : (tensor<8xf32>) -> tensor<6x8xf32>
        %y = tcc.mul %n, %gg : tensor<6x8xf32>
        return %y : tensor<6x8xf32> })",
       {},
       1},
      {"softmax_prologue",
       R"(func.func @f(%x: tensor<2x6x8xf32>, %m: tensor<2x1x8xf32>) -> tensor<2x6x8xf32> {
        %c = tcc.constant dense<0.125> : tensor<2x6x8xf32>
        %s = tcc.mul %x, %c : tensor<2x6x8xf32>
        %mm = tcc.broadcast %m : (tensor<2x1x8xf32>) -> tensor<2x6x8xf32>
        %a = tcc.add %s, %mm : tensor<2x6x8xf32>
        %y = tcc.softmax %a {axis = 2 : i64} : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
        return %y : tensor<2x6x8xf32> })",
       {},
       1},
      {"reshape_between",
       R"(func.func @f(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
        %a = tcc.exp %x : tensor<4x6xf32>
        %r = tcc.reshape %a : (tensor<4x6xf32>) -> tensor<3x8xf32>
        %b = tcc.neg %r : tensor<3x8xf32>
        return %b : tensor<3x8xf32> })",
       {},
       1},
      // exp stays apart: it would run for padding and the other operand too.
      {"pad_then_concat",
       R"(func.func @f(%x: tensor<3x5xf32>, %y: tensor<3x4xf32>) -> tensor<5x9xf32> {
        %a = tcc.exp %x : tensor<3x5xf32>
        %c = tcc.concat %a, %y {axis = 1 : i64} : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<3x9xf32>
        %p = tcc.pad %c {low = #tcc.extents<1, 0>, high = #tcc.extents<1, 0>, mode = #tcc.pad_mode<constant>} : (tensor<3x9xf32>) -> tensor<5x9xf32>
        %n = tcc.neg %p : tensor<5x9xf32>
        return %n : tensor<5x9xf32> })",
       {},
       2},
      {"dynamic",
       R"(func.func @f(%x: tensor<?x4xf32, #tcc.extents<s0, 4>>, %b: tensor<4xf32>) -> tensor<?xf32, #tcc.extents<s0 * 4>>
          attributes {tcc.symbols = [#tcc.symbol<"n", 2, 64, 1>]} {
        %bb = tcc.broadcast %b : (tensor<4xf32>) -> tensor<?x4xf32, #tcc.extents<s0, 4>>
        %a = tcc.add %x, %bb : tensor<?x4xf32, #tcc.extents<s0, 4>>
        %t = tcc.transpose %a {permutation = array<i64: 1, 0>} : (tensor<?x4xf32, #tcc.extents<s0, 4>>) -> tensor<4x?xf32, #tcc.extents<4, s0>>
        %r = tcc.reshape %t : (tensor<4x?xf32, #tcc.extents<4, s0>>) -> tensor<?xf32, #tcc.extents<s0 * 4>>
        %y = tcc.tanh %r : tensor<?xf32, #tcc.extents<s0 * 4>>
        return %y : tensor<?xf32, #tcc.extents<s0 * 4>> })",
       {5}},
      {"dynamic_heads",
       R"(func.func @f(%x: tensor<?x?x6xf32, #tcc.extents<s0, s1, 6>>) -> tensor<?x2x?x3xf32, #tcc.extents<s0, 2, s1, 3>>
          attributes {tcc.symbols = [#tcc.symbol<"b", 1, 64, 1>, #tcc.symbol<"t", 1, 64, 1>]} {
        %e = tcc.exp %x : tensor<?x?x6xf32, #tcc.extents<s0, s1, 6>>
        %m = tcc.reshape %e : (tensor<?x?x6xf32, #tcc.extents<s0, s1, 6>>) -> tensor<?x6xf32, #tcc.extents<s0 * s1, 6>>
        %n = tcc.neg %m : tensor<?x6xf32, #tcc.extents<s0 * s1, 6>>
        %h = tcc.reshape %n : (tensor<?x6xf32, #tcc.extents<s0 * s1, 6>>) -> tensor<?x?x2x3xf32, #tcc.extents<s0, s1, 2, 3>>
        %t = tcc.transpose %h {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x?x2x3xf32, #tcc.extents<s0, s1, 2, 3>>) -> tensor<?x2x?x3xf32, #tcc.extents<s0, 2, s1, 3>>
        return %t : tensor<?x2x?x3xf32, #tcc.extents<s0, 2, s1, 3>> })",
       {3, 5},
       1},
      {"branch",
       R"(func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
        %r = tcc.if %c : (tensor<i1>) -> tensor<4xf32> {
          %a = tcc.exp %x : tensor<4xf32>
          %b = tcc.neg %a : tensor<4xf32>
          tcc.yield %b : tensor<4xf32>
        } else {
          tcc.yield %x : tensor<4xf32>
        }
        return %r : tensor<4xf32> })",
       {},
       1},
      {"embedding",
       R"(func.func @f(%ids: tensor<1x7xi64>, %table: tensor<11x4xf32>, %pos: tensor<7x4xf32>) -> tensor<1x7x4xf32> {
        %e = tcc.gather %table, %ids {axis = 0 : i64} : (tensor<11x4xf32>, tensor<1x7xi64>) -> tensor<1x7x4xf32>
        %p = tcc.broadcast %pos : (tensor<7x4xf32>) -> tensor<1x7x4xf32>
        %a = tcc.add %e, %p : tensor<1x7x4xf32>
        %n = tcc.layer_norm %a {axis = 2 : i64, epsilon = 1.0e-5} : (tensor<1x7x4xf32>) -> tensor<1x7x4xf32>
        return %n : tensor<1x7x4xf32> })",
       {},
       2,
       {11}},
      {"pool_of_relu",
       R"(func.func @f(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
        %z = tcc.constant dense<0.0> : tensor<1x2x6x6xf32>
        %r = tcc.max %x, %z : tensor<1x2x6x6xf32>
        %p = tcc.max_pool %r {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false} : (tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32>
        return %p : tensor<1x2x3x3xf32> })",
       {},
       1},
  };
}

// Graphs of random ops over a few shapes: what no one thought of.
std::string randomGraph(unsigned seed) {
  std::mt19937 rng(seed);
  auto pick = [&](int n) { return static_cast<int>(rng() % n); };
  struct Value {
    std::string name;
    std::vector<int64_t> dims;
  };
  auto typeOf = [](const std::vector<int64_t>& dims) {
    std::string text = "tensor<";
    for (int64_t d : dims) text += std::to_string(d) + "x";
    return text + "f32>";
  };
  static const std::vector<std::vector<int64_t>> kShapes = {{2, 3, 4}, {6, 4}, {4, 6}, {3, 1, 5}, {7}, {1, 4, 6}};
  std::vector<Value> values;
  std::string arguments, body;
  for (int i = 0; i < 3; ++i) {
    values.push_back({"%a" + std::to_string(i), kShapes[pick(kShapes.size())]});
    arguments += (i ? ", " : "") + values.back().name + ": " + typeOf(values.back().dims);
  }
  int count = 4 + pick(12);
  for (int i = 0; i < count; ++i) {
    const Value x = values[std::max<int>(0, static_cast<int>(values.size()) - 1 - pick(4))];
    std::string name = "%v" + std::to_string(i), type = typeOf(x.dims);
    std::vector<int64_t> dims = x.dims;
    size_t rank = dims.size();
    auto emit = [&](const std::string& op, const std::string& attributes) {
      body += "  " + name + " = tcc." + op + " " + x.name + " " + attributes + " : (" + type + ") -> " + typeOf(dims) +
              "\n";
    };
    switch (rank == 0 ? pick(4) : pick(10)) {
      case 0:
      case 1: {
        static const char* kUnary[] = {"tanh", "neg", "abs", "sigmoid"};
        body += "  " + name + " = tcc." + kUnary[pick(4)] + " " + x.name + " : " + type + "\n";
        break;
      }
      case 2:
      case 3: {
        const Value* other = &x;
        for (const Value& v : values)
          if (v.dims == x.dims && pick(2)) other = &v;
        static const char* kBinary[] = {"add", "mul", "max", "sub"};
        body += "  " + name + " = tcc." + kBinary[pick(4)] + " " + x.name + ", " + other->name + " : " + type + "\n";
        break;
      }
      case 4: {
        std::vector<int64_t> permutation(rank);
        for (size_t k = 0; k < rank; ++k) permutation[k] = k;
        std::shuffle(permutation.begin(), permutation.end(), rng);
        std::string list;
        for (size_t k = 0; k < rank; ++k) {
          dims[k] = x.dims[permutation[k]];
          list += (k ? ", " : "") + std::to_string(permutation[k]);
        }
        emit("transpose", "{permutation = array<i64: " + list + ">}");
        break;
      }
      case 5: {
        int64_t elements = 1;
        for (int64_t d : dims) elements *= d;
        std::vector<std::vector<int64_t>> options = {{elements}, {1, elements}};
        for (const auto& shape : kShapes) {
          int64_t n = 1;
          for (int64_t d : shape) n *= d;
          if (n == elements) options.push_back(shape);
        }
        if (elements % 2 == 0) options.push_back({2, elements / 2});
        dims = options[pick(options.size())];
        emit("reshape", "");
        break;
      }
      case 6: {
        size_t axis = pick(rank);
        bool keep = pick(2);
        if (keep)
          dims[axis] = 1;
        else
          dims.erase(dims.begin() + axis);
        static const char* kKinds[] = {"sum", "max", "mean", "min"};
        emit("reduce", std::string("{kind = #tcc.reduce_kind<") + kKinds[pick(4)] + ">, axes = array<i64: " +
                           std::to_string(axis) + ">, keep_dims = " + (keep ? "true" : "false") + "}");
        break;
      }
      case 7:
        dims.insert(dims.begin(), 1 + pick(3));
        for (size_t k = 1; k < dims.size(); ++k)
          if (dims[k] == 1) dims[k] = 1 + pick(4);
        if (dims.size() > 5) {
          dims = x.dims;
          emit("reshape", "");
          break;
        }
        emit("broadcast", "");
        break;
      case 8: {
        size_t axis = pick(rank);
        std::string starts, steps, low, high;
        bool pad = pick(2);
        int64_t before = pick(3), after = pick(3);
        for (size_t k = 0; k < rank; ++k) {
          starts += (k ? ", " : "") + std::to_string(k == axis && dims[k] > 1 ? 1 : 0);
          steps += (k ? ", " : "") + std::string("1");
          low += (k ? ", " : "") + std::to_string(k == axis ? before : 0);
          high += (k ? ", " : "") + std::to_string(k == axis ? after : 0);
        }
        if (pad) {
          dims[axis] += before + after;
          emit("pad",
               "{low = #tcc.extents<" + low + ">, high = #tcc.extents<" + high + ">, mode = #tcc.pad_mode<constant>}");
        } else {
          if (dims[axis] > 1) --dims[axis];
          emit("slice", "{starts = #tcc.extents<" + starts + ">, steps = array<i64: " + steps + ">}");
        }
        break;
      }
      default:
        if (pick(2))
          emit("softmax", "{axis = " + std::to_string(pick(rank)) + " : i64}");
        else
          emit("layer_norm", "{axis = " + std::to_string(pick(rank)) + " : i64, epsilon = 1.0e-5}");
    }
    values.push_back({name, dims});
  }
  std::string outputs, types;
  for (size_t i = values.size() - 2; i < values.size(); ++i) {
    outputs += (outputs.empty() ? "" : ", ") + values[i].name;
    types += (types.empty() ? "" : ", ") + typeOf(values[i].dims);
  }
  return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + body + "  return " + outputs + " : " + types +
         "\n}";
}

std::vector<Case> randomCases() {
  std::vector<Case> cases;
  for (unsigned seed = 0; seed < 200; ++seed) cases.push_back({"seed" + std::to_string(seed), randomGraph(seed)});
  return cases;
}

auto nameOf = [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Pointwise, FusionTest, ::testing::ValuesIn(pointwiseCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Movement, FusionTest, ::testing::ValuesIn(movementCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(GridSample, FusionTest, ::testing::ValuesIn(gridSampleCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Reduction, FusionTest, ::testing::ValuesIn(reductionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Graph, FusionTest, ::testing::ValuesIn(graphCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Random, FusionTest, ::testing::ValuesIn(randomCases()), nameOf);

}  // namespace
}  // namespace tcc::codegen
