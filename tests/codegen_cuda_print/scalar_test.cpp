// Each scalar op that kernels are made of, on the edges of its types: what the compiled text computes against what
// MLIR's own folder says of the op.
#include <cmath>
#include <cstring>

#include "gtest/gtest.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "tests/codegen_cuda_print/compiled.h"

namespace tcc {
namespace {

using mlir::Attribute;

struct Case {
  std::string op;                     ///< with the operands %x, %y, %z and without types
  std::string type;                   ///< as written behind the op
  std::vector<std::string> operands;  ///< element types
  std::string result;
  double tolerance = 0;  ///< in units in the last place of the result
};

int64_t bytesOf(const std::string& type) {
  if (type == "i1" || type == "i8") return 1;
  if (type == "i16" || type == "f16" || type == "bf16") return 2;
  return type == "i32" || type == "f32" ? 4 : 8;
}

std::vector<uint64_t> edges(const std::string& type) {
  auto bits32 = [](std::vector<float> values) {
    std::vector<uint64_t> result;
    for (float value : values) {
      uint32_t bits;
      memcpy(&bits, &value, 4);
      result.push_back(bits);
    }
    return result;
  };
  float inf = INFINITY;
  if (type == "f32")
    return bits32({0.0f, -0.0f,   1.0f,   -1.0f,    0.5f,     1.5f,    2.5f,        -2.5f,         0.1f,
                   3.0f, -127.6f, 255.0f, 1e-45f,   -1e-38f,  3.4e38f, -3.4e38f,    2147483520.0f, 9e18f,
                   inf,  -inf,    NAN,    65519.9f, 65504.0f, 6e-8f,   1.00390625f, 1.01171875f});
  if (type == "f64") {
    std::vector<uint64_t> result;
    for (double value : {0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 0.1, 1e-320, 1.7e308, -1.7e308, 1e300,
                         3.4028235677973366e38, 2147483647.0, 9e18, double(inf), -double(inf), double(NAN)}) {
      uint64_t bits;
      memcpy(&bits, &value, 8);
      result.push_back(bits);
    }
    return result;
  }
  if (type == "f16") return {0, 0x8000, 0x3c00, 0xbc00, 0x7bff, 0x0001, 0x83ff, 0x7c00, 0xfc00, 0x7e00, 0x3555};
  if (type == "bf16") return {0, 0x8000, 0x3f80, 0xbf80, 0x7f7f, 0x0001, 0x7f80, 0xff80, 0x7fc0, 0x3eab};
  if (type == "i1") return {0, 1};
  int64_t width = type == "index" ? 64 : 8 * bytesOf(type);
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1, top = 1ull << (width - 1);
  std::vector<uint64_t> result;
  for (uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{7}, static_cast<uint64_t>(width - 1),
        uint64_t{100}, ~uint64_t{0}, ~uint64_t{1}, ~uint64_t{6}, top, top - 1, top + 1, top / 3})
    result.push_back(value & mask);
  return result;
}

Attribute attribute(mlir::Type type, uint64_t bits) {
  if (auto real = mlir::dyn_cast<mlir::FloatType>(type))
    return mlir::FloatAttr::get(type, llvm::APFloat(real.getFloatSemantics(), llvm::APInt(real.getWidth(), bits)));
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return mlir::IntegerAttr::get(type, llvm::APInt(64, bits).trunc(width));
}

uint64_t bitsOf(Attribute attr) {
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(attr)) return real.getValue().bitcastToAPInt().getZExtValue();
  return mlir::cast<mlir::IntegerAttr>(attr).getValue().getZExtValue();
}

bool isClose(mlir::Type type, uint64_t got, uint64_t want, double tolerance) {
  auto real = mlir::dyn_cast<mlir::FloatType>(type);
  if (!real || got == want) return got == want;
  llvm::APFloat a(real.getFloatSemantics(), llvm::APInt(real.getWidth(), got));
  llvm::APFloat b(real.getFloatSemantics(), llvm::APInt(real.getWidth(), want));
  if (a.isNaN() && b.isNaN()) return true;
  if (tolerance == 0 || a.isNegative() != b.isNegative() || a.isNaN() || b.isNaN()) return false;
  return std::abs(double(int64_t(got - want))) <= tolerance;
}

class Scalars : public ::testing::Test {
 protected:
  Scalars() { loadDialects(context); }

  // As a kernel over memory. Indices lie in memory as i64.
  std::string kernel(const Case& c, const std::string& name, int lanes) {
    static const char* names[] = {"x", "y", "z"};
    auto stored = [](const std::string& type) { return type == "index" ? std::string("i64") : type; };
    auto typed = [&](const std::string& type) {
      return lanes == 1 ? type : "vector<" + std::to_string(lanes) + "x" + type + ">";
    };
    std::string text = "func.func @" + name + "(%out: memref<?x" + stored(c.result) + ">";
    for (size_t i = 0; i < c.operands.size(); ++i)
      text += ", %b" + std::to_string(i) + ": memref<?x" + stored(c.operands[i]) + ">";
    text +=
        ", %n: index) attributes {tcc.block = array<i64: 1, 1, 1>} {\n  %c0 = arith.constant 0 : index\n"
        "  %step = arith.constant " +
        std::to_string(lanes) + " : index\n  scf.for %i = %c0 to %n step %step {\n";
    for (size_t i = 0; i < c.operands.size(); ++i) {
      std::string value = std::string("%") + names[i], buffer = "%b" + std::to_string(i) + "[%i]";
      std::string memref = "memref<?x" + stored(c.operands[i]) + ">",
                  raw = c.operands[i] == "index" ? value + "_i64" : value;
      text += "    " + raw + " = " + (lanes == 1 ? "memref.load " : "vector.load ") + buffer + " : " + memref +
              (lanes == 1 ? "" : ", " + typed(c.operands[i])) + "\n";
      if (raw != value) text += "    " + value + " = arith.index_cast " + raw + " : i64 to index\n";
    }
    text += "    %r = " + c.op + " : ";
    for (size_t at = 0; at < c.type.size();) {
      // Types of the case are element types: each becomes that of the lanes.
      size_t end = c.type.find_first_of(" ,", at);
      std::string word = c.type.substr(at, end == std::string::npos ? std::string::npos : end - at);
      text += word.empty() || word == "to" ? word : typed(word);
      if (end == std::string::npos) break;
      text += c.type[end];
      at = end + 1;
    }
    std::string result = "%r";
    text += "\n";
    if (c.result == "index") {
      text += "    %r_i64 = arith.index_cast %r : index to i64\n";
      result = "%r_i64";
    }
    text += std::string("    ") + (lanes == 1 ? "memref.store " : "vector.store ") + result + ", %out[%i] : memref<?x" +
            stored(c.result) + ">" + (lanes == 1 ? "" : ", " + typed(c.result)) + "\n  }\n  return\n}\n";
    return text;
  }

  // The op under test computes what is stored.
  static mlir::Operation* find(mlir::ModuleOp module, const std::string& name) {
    mlir::Operation* found = nullptr;
    module.lookupSymbol(name)->walk([&](mlir::memref::StoreOp store) { found = store.getValue().getDefiningOp(); });
    if (auto cast = llvm::dyn_cast_or_null<mlir::arith::IndexCastOp>(found)) found = cast.getIn().getDefiningOp();
    return found;
  }

  void check(const std::vector<Case>& cases, int lanes) {
    std::string text;
    for (size_t i = 0; i < cases.size(); ++i) text += kernel(cases[i], "k" + std::to_string(i), lanes);
    // The oracle folds the scalar op.
    std::string scalars;
    for (size_t i = 0; i < cases.size(); ++i) scalars += kernel(cases[i], "k" + std::to_string(i), 1);
    Compiled compiled(context, text);
    mlir::OwningOpRef<mlir::ModuleOp> oracle;
    if (lanes > 1) {
      oracle = mlir::parseSourceString<mlir::ModuleOp>(scalars, &context);
      ASSERT_TRUE(oracle);
    }
    for (size_t i = 0; i < cases.size(); ++i)
      run(cases[i], "k" + std::to_string(i), compiled, lanes > 1 ? *oracle : compiled.module(), lanes);
  }

  void run(const Case& c, const std::string& name, Compiled& compiled, mlir::ModuleOp oracle, int lanes) {
    SCOPED_TRACE(c.op + " : " + c.type);
    Compiled::Kernel function = compiled.kernel(name);
    ASSERT_NE(function, nullptr);
    mlir::Operation* op = find(oracle, name);
    ASSERT_NE(op, nullptr);
    // All combinations of edges that the op is defined for.
    std::vector<std::vector<uint64_t>> inputs(c.operands.size());
    std::vector<uint64_t> wants;
    std::vector<size_t> at(c.operands.size(), 0);
    std::vector<std::vector<uint64_t>> values;
    for (const std::string& type : c.operands) values.push_back(edges(type));
    while (true) {
      llvm::SmallVector<Attribute> attrs;
      for (size_t k = 0; k < at.size(); ++k) attrs.push_back(attribute(op->getOperand(k).getType(), values[k][at[k]]));
      // Where the folder says something of what the op does not define: the remainder of a quotient that does not fit,
      // and where it is wrong: atan2 of zeros.
      bool isKnown = true;
      if (c.op.find("remsi") != std::string::npos) {
        llvm::APInt a = mlir::cast<mlir::IntegerAttr>(attrs[0]).getValue();
        isKnown = !(a.isMinSignedValue() && mlir::cast<mlir::IntegerAttr>(attrs[1]).getValue().isAllOnes());
      } else if (c.op.find("atan2") != std::string::npos) {
        isKnown = !(mlir::cast<mlir::FloatAttr>(attrs[0]).getValue().isZero() &&
                    mlir::cast<mlir::FloatAttr>(attrs[1]).getValue().isZero());
      }
      llvm::SmallVector<mlir::OpFoldResult> folded;
      if (isKnown && mlir::succeeded(op->fold(attrs, folded)) && folded.size() == 1) {
        Attribute result = mlir::dyn_cast<Attribute>(folded[0]);
        if (auto value = mlir::dyn_cast<mlir::Value>(folded[0]))
          for (size_t k = 0; k < at.size(); ++k)
            if (op->getOperand(k) == value) result = attrs[k];
        if (result && mlir::isa<mlir::IntegerAttr, mlir::FloatAttr>(result)) {
          wants.push_back(bitsOf(result));
          for (size_t k = 0; k < at.size(); ++k) inputs[k].push_back(values[k][at[k]]);
        }
      }
      size_t k = 0;
      while (k < at.size() && ++at[k] == values[k].size()) at[k++] = 0;
      if (k == at.size()) break;
    }
    ASSERT_GT(wants.size(), 1u) << "nothing to compare with";
    size_t count = wants.size();
    while (wants.size() % lanes) {
      wants.push_back(wants[0]);
      for (auto& input : inputs) input.push_back(input[0]);
    }
    auto pack = [](const std::vector<uint64_t>& elements, int64_t bytes) {
      std::vector<std::max_align_t> memory((elements.size() * bytes + sizeof(std::max_align_t)) /
                                           sizeof(std::max_align_t));
      for (size_t i = 0; i < elements.size(); ++i)
        memcpy(reinterpret_cast<char*>(memory.data()) + i * bytes, &elements[i], bytes);
      return memory;
    };
    std::vector<std::vector<std::max_align_t>> buffers;
    buffers.push_back(pack(std::vector<uint64_t>(wants.size(), 0), bytesOf(c.result)));
    for (size_t k = 0; k < inputs.size(); ++k) buffers.push_back(pack(inputs[k], bytesOf(c.operands[k])));
    std::vector<void*> pointers, params;
    for (auto& buffer : buffers) pointers.push_back(buffer.data());
    for (void*& pointer : pointers) params.push_back(&pointer);
    long long n = wants.size();
    params.push_back(&n);
    function(params.data());
    mlir::Type type = op->getResult(0).getType();
    int wrong = 0;
    for (size_t i = 0; i < count && wrong < 5; ++i) {
      uint64_t got = 0;
      memcpy(&got, reinterpret_cast<char*>(buffers[0].data()) + i * bytesOf(c.result), bytesOf(c.result));
      if (isClose(type, got, wants[i], c.tolerance)) continue;
      ++wrong;
      std::string given;
      for (auto& input : inputs) given += llvm::utohexstr(input[i]) + " ";
      ADD_FAILURE() << "of " << given << ": " << llvm::utohexstr(got) << ", not " << llvm::utohexstr(wants[i]);
    }
  }

  mlir::MLIRContext context;
};

std::vector<Case> integerCases(const std::vector<std::string>& types, const std::vector<std::string>& ops) {
  std::vector<Case> cases;
  for (const std::string& type : types)
    for (const std::string& op : ops) cases.push_back({"arith." + op + " %x, %y", type, {type, type}, type});
  return cases;
}

const std::vector<std::string> kIntegerOps = {
    "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui",
    "andi", "ori",  "xori", "shli",  "shrsi", "shrui", "minsi", "maxsi",      "minui",     "maxui"};

TEST_F(Scalars, IntegerArithmetic) { check(integerCases({"i8", "i16", "i32", "i64", "index"}, kIntegerOps), 1); }

TEST_F(Scalars, IntegerVectors) {
  check(integerCases({"i8", "i16", "i32"}, kIntegerOps), 4);
  check(integerCases({"i64"}, kIntegerOps), 2);
}

TEST_F(Scalars, Bools) {
  check(integerCases({"i1"}, {"addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui"}), 1);
}

TEST_F(Scalars, IntegerComparisons) {
  std::vector<Case> cases;
  for (std::string type : {"i1", "i8", "i16", "i32", "i64", "index"})
    for (std::string predicate : {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
      cases.push_back({"arith.cmpi " + predicate + ", %x, %y", type, {type, type}, "i1"});
  check(cases, 1);
}

TEST_F(Scalars, IntegerFunctions) {
  std::vector<Case> cases;
  for (std::string type : {"i8", "i16", "i32", "i64"})
    for (std::string op : {"absi", "ctlz", "cttz", "ctpop"})
      cases.push_back({"math." + op + " %x", type, {type}, type});
  check(cases, 1);
}

TEST_F(Scalars, FloatArithmetic) {
  std::vector<Case> cases;
  for (std::string type : {"f32", "f64"}) {
    for (std::string op : {"addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf"})
      cases.push_back({"arith." + op + " %x, %y", type, {type, type}, type});
    cases.push_back({"arith.negf %x", type, {type}, type});
    for (std::string predicate : {"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule",
                                  "une", "uno", "false", "true"})
      cases.push_back({"arith.cmpf " + predicate + ", %x, %y", type, {type, type}, "i1"});
    for (std::string op : {"absf", "ceil", "floor", "round", "roundeven", "trunc", "sqrt"})
      cases.push_back({"math." + op + " %x", type, {type}, type});
    cases.push_back({"math.copysign %x, %y", type, {type, type}, type});
    // The host's functions stand for CUDA's: what is asked is which function is called.
    for (std::string op :
         {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "atan", "tanh", "erf"})
      cases.push_back({"math." + op + " %x", type, {type}, type, 2});
    for (std::string op : {"atan2", "powf"}) cases.push_back({"math." + op + " %x, %y", type, {type, type}, type, 2});
  }
  check(cases, 1);
}

TEST_F(Scalars, FloatVectors) {
  for (auto [type, lanes] : {std::pair("f32", 4), std::pair("f64", 2)}) {
    std::vector<Case> cases;
    for (std::string op : {"addf", "subf", "mulf", "divf", "maximumf", "minimumf"})
      cases.push_back({"arith." + op + " %x, %y", type, {type, type}, type});
    cases.push_back({"arith.negf %x", type, {type}, type});
    check(cases, lanes);
  }
}

TEST_F(Scalars, Conversions) {
  std::vector<Case> cases;
  auto add = [&](std::string op, std::string from, std::string to) {
    cases.push_back({"arith." + op + " %x", from + " to " + to, {from}, to});
  };
  std::vector<std::string> ints = {"i1", "i8", "i16", "i32", "i64"};
  for (size_t from = 0; from < ints.size(); ++from)
    for (size_t to = 0; to < ints.size(); ++to) {
      if (from < to) {
        add("extsi", ints[from], ints[to]);
        add("extui", ints[from], ints[to]);
      } else if (from > to) {
        add("trunci", ints[from], ints[to]);
      }
    }
  for (const std::string& type : ints)
    for (std::string real : {"f32", "f64"}) {
      add("sitofp", type, real);
      add("uitofp", type, real);
      if (type != "i1") {
        add("fptosi", real, type);
        add("fptoui", real, type);
      }
    }
  add("extf", "f32", "f64");
  add("truncf", "f64", "f32");
  for (std::string half : {"f16", "bf16"}) {
    add("extf", half, "f32");
    add("extf", half, "f64");
    add("truncf", "f32", half);
    add("bitcast", half, "i16");
    add("bitcast", "i16", half);
  }
  for (auto [real, type] : {std::pair("f32", "i32"), std::pair("f64", "i64")}) {
    add("bitcast", real, type);
    add("bitcast", type, real);
  }
  check(cases, 1);
}

// Literals denote the number they are printed of, to the last bit.
TEST_F(Scalars, Constants) {
  std::string text;
  std::vector<std::pair<std::string, uint64_t>> constants;
  for (std::string type : {"f32", "f64", "i8", "i16", "i32", "i64", "f16", "bf16"})
    for (uint64_t bits : edges(type)) constants.emplace_back(type, bits);
  for (uint64_t bits : {0x7fc00001ull, 0xffc00000ull, 0x7f800001ull, 0x3dcccccdull, 0x00000001ull, 0x7f7fffffull})
    constants.emplace_back("f32", bits);
  for (size_t i = 0; i < constants.size(); ++i) {
    auto [type, bits] = constants[i];
    int64_t bytes = bytesOf(type);
    std::string literal = "0x" + llvm::utohexstr(bits, true, 2 * bytes);
    if (type[0] == 'i') {
      llvm::APInt value(64, bits);
      literal = llvm::toString(value.trunc(8 * bytes), 10, /*Signed=*/true);
    }
    text +=
        "func.func @k" + std::to_string(i) + "(%out: memref<?x" + type +
        ">) attributes {tcc.block = array<i64: 1, 1, 1>} {\n  %c0 = arith.constant 0 : index\n  %c = arith.constant " +
        literal + " : " + type + "\n  memref.store %c, %out[%c0] : memref<?x" + type + ">\n  return\n}\n";
  }
  Compiled compiled(context, text);
  for (size_t i = 0; i < constants.size(); ++i) {
    auto [type, bits] = constants[i];
    auto function = compiled.kernel("k" + std::to_string(i));
    ASSERT_NE(function, nullptr);
    uint64_t got = 0;
    void *pointer = &got, *params[] = {&pointer};
    function(params);
    bool isHalfNan = (type == "f16" && (bits & 0x7fff) > 0x7c00) || (type == "bf16" && (bits & 0x7fff) > 0x7f80);
    if (!isHalfNan) EXPECT_EQ(got, bits) << type;
  }
}

}  // namespace
}  // namespace tcc
