// Random numbers. The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): block i of a call is philox(key = seed, counter = i), so element values depend on the seed and their index
// only, on every machine. Without a seed attribute the seed is 0: a call is repeatable unless the caller asks
// otherwise.
#include <cmath>
#include <cstring>
#include <numbers>

#include "runtime/reference/convert.h"
#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

class Philox {
 public:
  explicit Philox(uint64_t seed) : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  uint32_t Next() {
    if (used_ == 4) Refill();
    return block_[used_++];
  }
  // In [0, 1) with 53 bits.
  double Uniform() {
    const uint64_t high = Next(), low = Next();
    return static_cast<double>((high << 21) ^ (low >> 11)) * 0x1p-53;
  }

 private:
  void Refill() {
    uint32_t c[4] = {static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0};
    uint32_t k[2] = {key_[0], key_[1]};
    for (int round = 0; round < 10; ++round) {
      const uint64_t p = uint64_t{0xD2511F53} * c[0], q = uint64_t{0xCD9E8D57} * c[2];
      const uint32_t next[4] = {static_cast<uint32_t>(q >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(q),
                                static_cast<uint32_t>(p >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p)};
      std::copy(next, next + 4, c);
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    std::copy(c, c + 4, block_);
    ++counter_;
    used_ = 0;
  }

  uint32_t key_[2];
  uint32_t block_[4] = {};
  uint64_t counter_ = 0;
  int used_ = 4;
};

// The attribute `seed`: an integer as it is, a float (as ONNX has it) by its bits.
Philox Generator(const Call& call) {
  if (const double seed = call.attributes.FloatOr("seed", 0); seed != 0) {
    uint64_t bits;
    std::memcpy(&bits, &seed, sizeof(bits));
    return Philox(bits);
  }
  return Philox(static_cast<uint64_t>(call.attributes.IntOr("seed", 0)));
}

// Extents of the result: of the operand ("like"), or the expected ones.
absl::StatusOr<Tensor> Destination(const Call& call) {
  if (call.inputs[0].valid()) return Tensor::Allocate(DType::kF64, call.inputs[0].dims());
  TCC_ASSIGN_OR_RETURN(const TensorType type, KnownResultType(call));
  return Tensor::Allocate(DType::kF64, type.dims);
}

DType Fallback(const Call& call) { return call.inputs[0].valid() ? call.inputs[0].dtype() : DType::kF32; }

}  // namespace

// random_uniform(like?; low 0, high 1, seed) and random_normal(like?; mean 0, scale 1, seed); normal by Box and Muller.
Results RandomUniform(const Call& call) {
  TCC_ASSIGN_OR_RETURN(Tensor y, Destination(call));
  const double low = call.attributes.FloatOr("low", 0), high = call.attributes.FloatOr("high", 1);
  Philox generator = Generator(call);
  for (int64_t i = 0; i < y.num_elements(); ++i) y.data_as<double>()[i] = low + (high - low) * generator.Uniform();
  return One(ConvertDType(y, ResultDType(call, 0, Fallback(call))));
}
Results RandomNormal(const Call& call) {
  TCC_ASSIGN_OR_RETURN(Tensor y, Destination(call));
  const double mean = call.attributes.FloatOr("mean", 0), scale = call.attributes.FloatOr("scale", 1);
  Philox generator = Generator(call);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - generator.Uniform()));
    y.data_as<double>()[i] = mean + scale * radius * std::cos(2 * std::numbers::pi * generator.Uniform());
  }
  return One(ConvertDType(y, ResultDType(call, 0, Fallback(call))));
}

// bernoulli(p; seed): 1 with probability p[i].
Results Bernoulli(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const Tensor p, ConvertDType(call.inputs[0], DType::kF64));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, p.dims()));
  Philox generator = Generator(call);
  for (int64_t i = 0; i < p.num_elements(); ++i) {
    y.data_as<double>()[i] = generator.Uniform() < p.data_as<double>()[i] ? 1 : 0;
  }
  return One(ConvertDType(y, ResultDType(call, 0, call.inputs[0].dtype())));
}

// multinomial(log_probabilities [B, C]; sample_size, seed) -> [B, sample_size] of class indices, i32 unless expected
// otherwise.
Results Multinomial(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckRank(call.inputs[0], 2, "the operand"));
  const int64_t batch = call.inputs[0].dim(0), classes = call.inputs[0].dim(1);
  const int64_t samples = call.attributes.IntOr("sample_size", 1);
  TCC_ASSIGN_OR_RETURN(const std::vector<double> logs, ToVector<double>(call.inputs[0]));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kI64, {batch, samples}));
  if (classes == 0 && y.num_elements() != 0) return Invalid("there are no classes to sample");
  Philox generator = Generator(call);
  std::vector<double> cumulative(classes);
  for (int64_t b = 0; b < batch; ++b) {
    double max = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t c = 0; c < classes; ++c) max = std::max(max, logs[b * classes + c]);
    for (int64_t c = 0; c < classes; ++c) cumulative[c] = total += std::exp(logs[b * classes + c] - max);
    for (int64_t s = 0; s < samples; ++s) {
      const double point = generator.Uniform() * total;
      const auto it = std::upper_bound(cumulative.begin(), cumulative.end(), point);
      y.data_as<int64_t>()[b * samples + s] = std::min<int64_t>(it - cumulative.begin(), classes - 1);
    }
  }
  return One(ConvertDType(y, ResultDType(call, 0, DType::kI32)));
}

}  // namespace tcc::reference
