// The backend on hand-written scheduled functions.
#include "codegen/cpu/Backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/Linker.h"
#include "loaded_code.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

namespace tcc::codegen {
namespace {

using ::testing::HasSubstr;

class BackendTest : public ::testing::TestWithParam<const char*> {
 protected:
  BackendTest() {
    Backend::loadDialects(&context);
    auto cpu = describeCpu(GetParam());
    if (!cpu) {
      ADD_FAILURE() << llvm::toString(cpu.takeError());
      return;
    }
    // An AVX2 machine cannot run the other kind.
    auto host = describeCpu("");
    runs = host && host->vectorBits >= cpu->vectorBits;
    backend = std::make_unique<Backend>(&context, *cpu, options());
  }

  virtual BackendOptions options() { return {}; }

  std::string add(const std::string& text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    function->remove();
    return backend->addFunction(function);
  }

  std::string finish() {
    auto code = backend->finish();
    if (code) return *code;
    ADD_FAILURE() << llvm::toString(code.takeError());
    return "";
  }

  mlir::MLIRContext context;
  std::unique_ptr<Backend> backend;
  bool runs = false;
};

constexpr char kAdd[] = R"(
func.func @add(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %scratch: memref<?xi8>, %begin: index, %end: index) {
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c8 {
    %left = arith.subi %end, %i : index
    %mask = vector.create_mask %left : vector<8xi1>
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %v = vector.maskedload %x[%i], %mask, %zero : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    %f = arith.index_cast %n : index to i64
    %s = arith.sitofp %f : i64 to f32
    %b = vector.broadcast %s : f32 to vector<8xf32>
    %r = arith.addf %v, %b : vector<8xf32>
    vector.maskedstore %y[%i], %mask, %r : memref<?xf32>, vector<8xi1>, vector<8xf32>
  }
  return
})";

TEST_P(BackendTest, RunsWithBuffersScalarsAndRange) {
  std::string symbol = add(kAdd);
  std::string bytes = finish();
  if (!runs) GTEST_SKIP() << "needs wider vectors than this machine has";
  LoadedCode code(bytes);
  std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, y(11, -1);
  EXPECT_EQ(code.call(symbol, {x.data(), y.data()}, {100}, 1, 10), 0);
  EXPECT_THAT(y, ::testing::ElementsAre(-1, 101, 102, 103, 104, 105, 106, 107, 108, 109, -1));
}

TEST_P(BackendTest, EqualFunctionsAreCompiledOnce) {
  std::string other = kAdd;
  other.replace(other.find("@add"), 4, "@sum");
  EXPECT_EQ(add(kAdd), add(other));
  other.replace(other.find("addf"), 4, "subf");
  EXPECT_NE(add(kAdd), add(other));
  finish();
  EXPECT_EQ(backend->statistics().functions, 2);
  EXPECT_EQ(backend->statistics().sharedFunctions, 2);
}

TEST_P(BackendTest, WritesScratchAndErrorWord) {
  std::string symbol = add(R"(
    func.func @f(%y: memref<?xf32>, %scratch: memref<?xi8>, %begin: index, %end: index, %error: memref<?xi64>) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c2 = arith.constant 2 : i64
      %t = memref.view %scratch[%c64][%end] : memref<?xi8> to memref<?xf32>
      %v = arith.constant 3.0 : f32
      memref.store %v, %t[%c0] : memref<?xf32>
      %w = memref.load %t[%c0] : memref<?xf32>
      memref.store %w, %y[%begin] : memref<?xf32>
      memref.store %c2, %error[%c0] : memref<?xi64>
      return
    })");
  std::string bytes = finish();
  if (!runs) GTEST_SKIP();
  LoadedCode code(bytes);
  std::vector<float> y(4, 0);
  EXPECT_EQ(code.call(symbol, {y.data()}, {}, 2, 4, 128), kTccDivisionByZero);
  EXPECT_THAT(y, ::testing::ElementsAre(0, 0, 3, 0));
}

// On AVX2 LLVM calls __truncsfbf2 for this, and memset for the loop if it is let.
TEST_P(BackendTest, NothingIsLeftUndefined) {
  std::string symbol = add(R"(
    func.func @f(%x: memref<?xf32>, %y: memref<?xbf16>, %z: memref<?xi8>, %scratch: memref<?xi8>, %begin: index, %end: index) {
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i8
      scf.for %i = %begin to %end step %c1 {
        %v = memref.load %x[%i] : memref<?xf32>
        %t = arith.truncf %v : f32 to bf16
        memref.store %t, %y[%i] : memref<?xbf16>
      }
      scf.for %i = %begin to %end step %c1 {
        memref.store %zero, %z[%i] : memref<?xi8>
      }
      return
    })");
  std::string bytes = finish();
  EXPECT_FALSE(checkFreestanding(bytes));
  if (!runs) GTEST_SKIP();
  LoadedCode code(bytes);
  std::vector<float> x = {1.0f, 1.00390625f, 1.01171875f,
                          NAN};  // the second and third lie between two bfloats: to even
  std::vector<uint16_t> y(4);
  std::vector<int8_t> z(4, 1);
  code.call(symbol, {x.data(), y.data(), z.data()}, {}, 0, 4);
  EXPECT_EQ(y[0], 0x3f80);
  EXPECT_EQ(y[1], 0x3f80);
  EXPECT_EQ(y[2], 0x3f82);
  EXPECT_EQ(y[3] & 0x7fc0, 0x7fc0);
  EXPECT_THAT(z, ::testing::Each(0));
}

TEST_P(BackendTest, ManyFunctionsCompileInShards) {
  std::vector<std::string> symbols;
  for (int i = 0; i < 300; ++i) {
    std::string text = kAdd;
    std::string value = std::to_string(i) + ".0";
    text.replace(text.find("dense<0.0>"), 10, "dense<" + value + ">");
    symbols.push_back(add(text));
  }
  std::string bytes = finish();
  if (!runs) GTEST_SKIP();
  LoadedCode code(bytes);
  for (const std::string& symbol : symbols) EXPECT_NE(code.get(symbol), nullptr);
}

TEST_P(BackendTest, ReportsAFunctionOfAnotherForm) {
  add("func.func @f(%x: memref<4xf32>, %begin: index, %end: index) { return }");
  auto code = backend->finish();
  ASSERT_FALSE(code);
  EXPECT_THAT(llvm::toString(code.takeError()), HasSubstr("lowering"));
}

INSTANTIATE_TEST_SUITE_P(Cpus, BackendTest, ::testing::Values("", "x86-64-v3"),
                         [](const auto& info) { return *info.param ? "v3" : "host"; });

TEST(CpuDescription, NamedProcessors) {
  auto v3 = describeCpu("x86-64-v3");
  ASSERT_TRUE(bool(v3));
  EXPECT_EQ(v3->vectorBits, 256);
  EXPECT_FALSE(v3->has("avx512f"));
  auto zen5 = describeCpu("znver5");
  ASSERT_TRUE(bool(zen5));
  EXPECT_EQ(zen5->vectorBits, 512);
  EXPECT_TRUE(zen5->hasAvx512Bf16);
  EXPECT_THAT(llvm::toString(describeCpu("x86-64").takeError()), HasSubstr("avx2"));
  EXPECT_THAT(llvm::toString(describeCpu("z80").takeError()), HasSubstr("unknown CPU 'z80'"));
}

}  // namespace
}  // namespace tcc::codegen
