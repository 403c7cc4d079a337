// Scatters on the simulated CUDA device, by each of the ways to do them in parallel: an element that several points
// update ends up as if they had come one after the other.
#include <array>

#include "absl/strings/substitute.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

std::string Type(const std::string& element, const std::vector<int64_t>& dims) {
  std::string text = "tensor<";
  for (int64_t dim : dims) text += std::to_string(dim) + "x";
  return text + element + ">";
}

struct Element {
  const char* name;
  DType dtype;
};
constexpr Element kElements[] = {
    {"f32", DType::kF32}, {"f16", DType::kF16},  {"bf16", DType::kBF16}, {"f64", DType::kF64}, {"i8", DType::kI8},
    {"ui8", DType::kU8},  {"i16", DType::kI16},  {"ui16", DType::kU16},  {"i32", DType::kI32}, {"ui32", DType::kU32},
    {"i64", DType::kI64}, {"ui64", DType::kU64}, {"i1", DType::kBool}};

// Rows at computed places: columns never meet, and are sorted alike.
std::string Rows(const Element& element, int64_t rows, int64_t updates, int64_t columns, const char* kind) {
  return absl::Substitute(R"(
    func.func @f(%x: $0, %i: $1, %u: $2) -> $0 {
      %y = tcc.scatter_nd %x, %i, %u {kind = #tcc.scatter_kind<$3>} : ($0, $1, $2) -> $0
      return %y : $0
    })",
                          Type(element.name, {rows, columns}), Type("i64", {updates, 1}),
                          Type(element.name, {updates, columns}), kind);
}

TEST(CudaScatter, EveryTypeAndKind) {
  SimRunner runner;
  const char* kinds[] = {"assign", "add", "mul", "max", "min"};
  const auto add = [&](const Element& element, const char* kind) {
    const auto values = [&](std::vector<int64_t> dims, unsigned seed) {
      return RandomTensor(element.dtype, dims, seed, 0, 4);
    };
    // (In the same order as the reference.)
    runner.Add(Rows(element, 7, 53, 3, kind),
               {{.inputs = {values({7, 3}, 1), RandomTensor(DType::kI64, {53, 1}, 2, -7, 7), values({53, 3}, 3)},
                 .tolerance = 1e-6}});
  };
  int number = 0;
  for (const Element& element : kElements) add(element, kinds[number++ % 5]);
  for (const char* kind : kinds)
    for (const Element& element : {kElements[0], kElements[8], kElements[12]}) add(element, kind);
  runner.Check();
}

TEST(CudaScatter, SizesOfSums) {
  SimRunner runner;
  const Element element = kElements[0];
  for (auto [rows, updates, columns] :
       {std::array<int64_t, 3>{1, 9, 1}, {5, 127, 1}, {3, 2049, 2}, {4, 0, 3}, {1, 2048, 1}})
    for (const char* kind : {"add", "assign"})
      runner.Add(Rows(element, rows, updates, columns, kind),
                 {{.inputs = {RandomTensor(DType::kF32, {rows, columns}, 1),
                              RandomTensor(DType::kI64, {updates, 1}, 2, 0, static_cast<double>(rows)),
                              RandomTensor(DType::kF32, {updates, columns}, 3)},
                   .tolerance = 1e-5}});
  // Places that differ along the columns too.
  for (const char* kind : {"add", "assign"})
    runner.Add(absl::Substitute(R"(
      func.func @f(%x: $0, %i: $1, %u: $2) -> $0 {
        %y = tcc.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #tcc.scatter_kind<$3>} : ($0, $1, $2) -> $0
        return %y : $0
      })",
                                Type("f32", {5, 11}), Type("i64", {61, 11}), Type("f32", {61, 11}), kind),
               {{.inputs = {RandomTensor(DType::kF32, {5, 11}, 1), RandomTensor(DType::kI64, {61, 11}, 2, -5, 5),
                            RandomTensor(DType::kF32, {61, 11}, 3)},
                 .tolerance = 1e-6}});
  runner.Check();
}

TEST(CudaScatter, DynamicExtents) {
  SimRunner runner;
  for (const char* kind : {"add", "assign", "max"}) {
    std::vector<SimRunner::Run> runs;
    for (int64_t n : {0, 1, 9, 2500})
      runs.push_back({.inputs = {RandomTensor(DType::kF32, {6}, 1), RandomTensor(DType::kI64, {n, 1}, 2, 0, 6),
                                 RandomTensor(DType::kF32, {n}, 3)},
                      .symbols = {n},
                      .tolerance = 1e-5});
    runner.Add(absl::Substitute(R"(
      func.func @f(%x: tensor<6xf32>, %i: $0, %u: $1) -> tensor<6xf32>
          attributes {tcc.symbols = [#tcc.symbol<"n", 0, 5000, 1>]} {
        %y = tcc.scatter_nd %x, %i, %u {kind = #tcc.scatter_kind<$2>} : (tensor<6xf32>, $0, $1) -> tensor<6xf32>
        return %y : tensor<6xf32>
      })",
                                "tensor<?x1xi64, #tcc.extents<s0, 1>>", "tensor<?xf32, #tcc.extents<s0>>", kind),
               runs);
  }
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
