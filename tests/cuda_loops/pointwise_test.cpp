// Kernels without reductions on the simulated CUDA device: vectors and what is left of them, broadcasts, transposes
// through shared memory, indices from data, every dtype.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "runtime/kernel_abi.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

using absl::Substitute;

std::string Type(const std::string& element, const std::vector<int64_t>& dims) {
  std::string text = "tensor<";
  for (int64_t dim : dims) absl::StrAppend(&text, dim, "x");
  return text + element + ">";
}

TEST(CudaPointwise, SizesAndAlignments) {
  SimRunner runner;
  // One text for all sizes: the last thread has fewer elements. Views begin anywhere.
  std::vector<SimRunner::Run> runs;
  for (int64_t n : {0, 1, 3, 4, 5, 255, 256, 1025})
    for (int offset : {0, 1})
      runs.push_back({.inputs = {RandomTensor(DType::kF32, {n}, 1), RandomTensor(DType::kF32, {n}, 2)},
                      .symbols = {n},
                      .offset = offset});
  runner.Add(Substitute(R"(
    func.func @f(%x: $0, %y: $0) -> $0 attributes {tcc.symbols = [#tcc.symbol<"n", 0, 100000000, 1>]} {
      %s = tcc.add %x, %y : $0
      %r = tcc.abs %s : $0
      return %r : $0
    })",
                        "tensor<?xf32, #tcc.extents<s0>>"),
             runs);
  // Enough elements for vectors: static, with a multiple of them in the rows or not.
  for (int64_t n : {int64_t{4096 * 20}, int64_t{4096 * 20 + 3}})
    runner.Add(Substitute("func.func @f(%x: $0) -> $0 {\n%s = tcc.exp %x : $0\nreturn %s : $0\n}", Type("f32", {n})),
               {{.inputs = {RandomTensor(DType::kF32, {n}, 1)}, .offset = n % 2 ? 1 : 0}});
  runner.Check();
}

TEST(CudaPointwise, Broadcast) {
  SimRunner runner;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{3, 5}, {64, 33}, {1, 7}, {40, 512}})
    runner.Add(Substitute(R"(
      func.func @f(%x: $0, %r: $1, %c: $2) -> $0 {
        %br = tcc.broadcast %r : ($1) -> $0
        %bc = tcc.broadcast %c : ($2) -> $0
        %a = tcc.add %x, %br : $0
        %b = tcc.mul %a, %bc : $0
        return %b : $0
      })",
                          Type("f32", {m, n}), Type("f32", {1, n}), Type("f32", {m, 1})),
               {{.inputs = {RandomTensor(DType::kF32, {m, n}, 1), RandomTensor(DType::kF32, {1, n}, 2),
                            RandomTensor(DType::kF32, {m, 1}, 3)}}});
  runner.Check();
}

TEST(CudaPointwise, EveryType) {
  SimRunner runner;
  const std::pair<const char*, DType> types[] = {{"f64", DType::kF64}, {"f16", DType::kF16}, {"bf16", DType::kBF16},
                                                 {"i8", DType::kI8},   {"i16", DType::kI16}, {"i32", DType::kI32},
                                                 {"i64", DType::kI64}, {"ui8", DType::kU8}};
  for (auto [name, dtype] : types)
    runner.Add(Substitute(R"(
      func.func @f(%x: $0, %y: $0) -> ($0, $1, $2) {
        %l = tcc.compare %x, %y {predicate = #tcc.predicate<lt>} : ($0, $0) -> $1
        %a = tcc.add %x, %y : $0
        %m = tcc.max %a, %x : $0
        %f = tcc.cast %m : ($0) -> $2
        return %m, %l, %f : $0, $1, $2
      })",
                          Type(name, {77}), Type("i1", {77}), Type("f32", {77})),
               {{.inputs = {RandomTensor(dtype, {77}, 1, 0, 50), RandomTensor(dtype, {77}, 2, 0, 50)},
                 .tolerance = dtype == DType::kBF16  ? 0.02
                              : dtype == DType::kF16 ? 0.003
                                                     : 1e-6}});
  runner.Check();
}

TEST(CudaPointwise, Transposes) {
  SimRunner runner;
  for (const auto& [element, dtype] : {std::pair<std::string, DType>{"f32", DType::kF32}, {"f16", DType::kF16}})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 5}, {33, 65}, {64, 32}, {100, 3}})
      runner.Add(Substitute(R"(
        func.func @f(%x: $0, %y: $1) -> $1 {
          %t = tcc.transpose %x {permutation = array<i64: 0, 2, 1>} : ($0) -> $1
          %s = tcc.sub %t, %y : $1
          return %s : $1
        })",
                            Type(element, {2, m, n}), Type(element, {2, n, m})),
                 {{.inputs = {RandomTensor(dtype, {2, m, n}, 1), RandomTensor(dtype, {2, n, m}, 2)},
                   .tolerance = dtype == DType::kF16 ? 2e-3 : 1e-6}});
  runner.Check();
}

TEST(CudaPointwise, GathersAndWhatIsOutOfRange) {
  SimRunner runner;
  Tensor bad = RandomTensor(DType::kI64, {7}, 2, -11, 11);
  static_cast<int64_t*>(bad.data())[3] = (int64_t{1} << 32) + 2;  // not to be cut to 32 bits
  runner.Add(Substitute(R"(
    func.func @f(%x: $0, %i: $1) -> $2 {
      %y = tcc.gather %x, %i {axis = 0 : i64} : ($0, $1) -> $2
      return %y : $2
    })",
                        Type("f32", {11, 9}), Type("i64", {7}), Type("f32", {7, 9})),
             {{.inputs = {RandomTensor(DType::kF32, {11, 9}, 1), RandomTensor(DType::kI64, {7}, 2, -11, 11)}},
              {.inputs = {RandomTensor(DType::kF32, {11, 9}, 1), bad}, .error = kTccIndexOutOfRange}});
  runner.Check();
}

// Updates of one element come in their order: the last one stays.
TEST(CudaPointwise, Scatters) {
  SimRunner runner;
  for (const char* kind : {"assign", "add", "max"})
    for (const auto& [element, dtype] :
         {std::pair<std::string, DType>{"f32", DType::kF32}, {"i64", DType::kI64}, {"i8", DType::kI8}})
      runner.Add(Substitute(R"(
        func.func @f(%x: $0, %i: $1, %u: $2) -> $0 {
          %y = tcc.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #tcc.scatter_kind<$3>} : ($0, $1, $2) -> $0
          return %y : $0
        })",
                            Type(element, {5, 33}), Type("i64", {40, 33}), Type(element, {40, 33}), kind),
                 {{.inputs = {RandomTensor(dtype, {5, 33}, 1), RandomTensor(DType::kI64, {40, 33}, 2, -5, 5),
                              RandomTensor(dtype, {40, 33}, 3)}}});
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
