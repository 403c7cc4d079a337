// Conversions to and from the element types that are only stored, on the simulated CUDA device against the reference:
// all bit patterns of the narrow ones (tests/cuda_device has every pair).
#include "absl/strings/substitute.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

const std::pair<const char*, DType> kNarrow[] = {
    {"f8E4M3FN", DType::kF8E4M3FN},
    {"f8E4M3FNUZ", DType::kF8E4M3FNUZ},
    {"f8E5M2", DType::kF8E5M2},
    {"f8E5M2FNUZ", DType::kF8E5M2FNUZ},
    {"!tcc.f8E8M0", DType::kF8E8M0},
    {"!tcc.f4E2M1", DType::kF4E2M1},
    {"i4", DType::kI4},
    {"ui4", DType::kU4},
    {"i2", DType::kI2},
    {"ui2", DType::kU2},
};
const std::pair<const char*, DType> kWide[] = {
    {"f32", DType::kF32},  {"f64", DType::kF64},  {"f16", DType::kF16}, {"bf16", DType::kBF16}, {"i8", DType::kI8},
    {"i16", DType::kI16},  {"i32", DType::kI32},  {"i64", DType::kI64}, {"ui8", DType::kU8},    {"ui16", DType::kU16},
    {"ui32", DType::kU32}, {"ui64", DType::kU64}, {"i1", DType::kBool}};

std::string Cast(const char* from, const char* to, int64_t count, bool saturate) {
  return absl::Substitute(R"(
    func.func @f(%x: tensor<$2x$0>) -> tensor<$2x$1> {
      %y = tcc.cast %x {saturate = $3} : (tensor<$2x$0>) -> tensor<$2x$1>
      return %y : tensor<$2x$1>
    })",
                          from, to, count, saturate ? "true" : "false");
}

// Every number of the type.
Tensor AllBits(DType dtype, int64_t count) {
  Tensor x = *Tensor::Allocate(dtype, {count});
  const int64_t bytes = static_cast<int64_t>(DTypeBytes(dtype, count));
  for (int64_t i = 0; i < bytes; ++i) {
    x.data_as<uint8_t>()[i] = static_cast<uint8_t>(DTypeBits(dtype) == 8   ? i
                                                   : DTypeBits(dtype) == 4 ? (2 * i + 1) << 4 | (2 * i & 15)
                                                                           : 0xe4);
  }
  return x;
}

TEST(CudaCast, EveryNarrowType) {
  SimRunner runner;
  size_t number = 0;
  for (auto [narrow, dtype] : kNarrow) {
    const auto [wide, other] = kWide[number++];
    const int64_t count = (int64_t{1} << DTypeBits(dtype)) - 1;
    runner.Add(Cast(narrow, wide, count, true), {{.inputs = {AllBits(dtype, count)}, .tolerance = 0}});
    runner.Add(Cast(wide, narrow, 1027, number % 2 == 0),
               {{.inputs = {RandomTensor(other, {1027}, 1, -9, 9)}, .tolerance = 0}});
  }
  runner.Add(Cast("f8E5M2", "!tcc.f4E2M1", 255, true), {{.inputs = {AllBits(DType::kF8E5M2, 255)}, .tolerance = 0}});
  runner.Add(Cast("f32", "i4", 0, true), {{.inputs = {RandomTensor(DType::kF32, {0}, 1)}}});
  runner.Check();
}

TEST(CudaCast, VaryingExtents) {
  SimRunner runner;
  std::vector<SimRunner::Run> runs;
  for (int64_t n : {0, 1, 2, 513})
    runs.push_back({.inputs = {RandomTensor(DType::kF16, {3, n}, 1, -9, 9)}, .symbols = {n}, .tolerance = 0});
  const char* from = "tensor<3x?xf16, #tcc.extents<3, s0>>";
  const char* to = "tensor<3x?x!tcc.f4E2M1, #tcc.extents<3, s0>>";
  runner.Add(
      absl::Substitute("func.func @f(%x: $0) -> $1 attributes {tcc.symbols = [#tcc.symbol<\"n\", 0, 9000, 1>]} {\n"
                       "%y = tcc.cast %x {saturate = true} : ($0) -> $1\nreturn %y : $1\n}",
                       from, to),
      runs);
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
