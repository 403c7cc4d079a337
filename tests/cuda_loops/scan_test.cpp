// Running reductions on the simulated CUDA device: every kind, dtype and direction; lines by a thread, a block, and
// several blocks.
#include "absl/strings/substitute.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

std::string Scan(const std::string& type, const char* kind, int axis, bool exclusive, bool reverse,
                 const std::string& symbols = "") {
  return absl::Substitute(R"(
    func.func @f(%x: $0) -> $0 $5 {
      %y = tcc.scan %x {kind = #tcc.reduce_kind<$1>, axis = $2 : i64, exclusive = $3, reverse = $4} : ($0) -> $0
      return %y : $0
    })",
                          type, kind, axis, exclusive ? "true" : "false", reverse ? "true" : "false",
                          symbols.empty() ? "" : "attributes {tcc.symbols = [" + symbols + "]}");
}

std::string Type(const std::string& element, const std::vector<int64_t>& dims) {
  std::string text = "tensor<";
  for (int64_t dim : dims) text += std::to_string(dim) + "x";
  return text + element + ">";
}

TEST(CudaScan, EveryTypeAndKind) {
  SimRunner runner;
  const std::pair<const char*, DType> types[] = {{"f32", DType::kF32},   {"f64", DType::kF64},  {"f16", DType::kF16},
                                                 {"bf16", DType::kBF16}, {"i8", DType::kI8},    {"i16", DType::kI16},
                                                 {"i32", DType::kI32},   {"i64", DType::kI64},  {"ui8", DType::kU8},
                                                 {"ui16", DType::kU16},  {"ui32", DType::kU32}, {"ui64", DType::kU64}};
  const char* kinds[] = {"sum", "prod", "max", "min"};
  int number = 0;
  for (auto [name, dtype] : types)
    for (int i = 0; i < 2; ++i, ++number) {
      // By a thread for each line, and by a block.
      const std::vector<int64_t> dims = i == 0 ? std::vector<int64_t>{3, 7, 5} : std::vector<int64_t>{2, 131};
      runner.Add(Scan(Type(name, dims), kinds[(number / 2 + i) % 4], 1, number % 3 == 0, number % 2 == 0),
                 {{.inputs = {RandomTensor(dtype, dims, 1, dtype == DType::kU8 ? 0 : -1.5, 1.5)},
                   .tolerance = dtype == DType::kBF16  ? 0.02
                                : dtype == DType::kF16 ? 2e-3
                                                       : 1e-6}});
    }
  runner.Check();
}

TEST(CudaScan, Lengths) {
  SimRunner runner;
  for (auto [dims, axis] :
       {std::pair<std::vector<int64_t>, int>{{1}, 0}, {{1024}, 0}, {{1025, 3}, 0}, {{2, 40009}, 1}, {{0, 70}, 1}})
    for (bool exclusive : {true, false})
      runner.Add(Scan(Type("f32", dims), "sum", axis, exclusive, !exclusive),
                 {{.inputs = {RandomTensor(DType::kF32, dims, 1)}, .tolerance = 1e-6}});
  EXPECT_EQ(runner.codes()[6].launches.size(), 3u);
  std::vector<SimRunner::Run> runs;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 5}, {3, 0}, {1, 1}, {2, 1023}, {1, 2050}})
    runs.push_back({.inputs = {RandomTensor(DType::kI32, {m, n}, 1)}, .symbols = {m, n}});
  runner.Add(Scan("tensor<?x?xi32, #tcc.extents<s0, s1>>", "max", 1, false, true,
                  "#tcc.symbol<\"m\", 0, 100000000, 1>, #tcc.symbol<\"n\", 0, 100000000, 1>"),
             runs);
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
