// What a specialisation of a model accepts: the guards on its inputs, and what it returns.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/tensor.h"

namespace tcc {

inline constexpr int64_t kMaxExtent = std::numeric_limits<int64_t>::max();

// A symbol stands for an extent that may differ from call to call. Its index is its position in Signature::symbols: s0,
// s1, ...
struct Symbol {
  std::string name;  // the model's own name of the dimension ("batch"), or "s0"
  int64_t min = 2;   // 0 and 1 are specialised unless the user marked the extent dynamic
  int64_t max = kMaxExtent;
  int64_t multiple_of = 1;
  bool operator==(const Symbol&) const = default;
};

// One extent of an input or output: a constant, or a symbol, or (outputs only) not known before the run (-1).
struct Extent {
  int32_t symbol = -1;
  int64_t value = -1;  // where symbol < 0
  static Extent Constant(int64_t v) { return {-1, v}; }
  static Extent Of(int32_t symbol) { return {symbol, -1}; }
  bool operator==(const Extent&) const = default;
};

struct InputSpec {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<Extent> dims;
  bool optional = false;  // has a default (an initializer of the same name): may be left out
  bool absent = false;    // specialised on the input being left out
  // Specialised on the values too (an input that decides shapes or branches): small integer or bool tensors, row-major.
  std::optional<std::vector<int64_t>> values = std::nullopt;
};

struct OutputSpec {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<Extent> dims;
};

struct Signature {
  std::vector<Symbol> symbols;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
};

// Checks the guards in order. On success `symbols` holds the value of each symbol (bound by its first occurrence among
// the inputs). Otherwise an InvalidArgument error that names the input, the axis, what was expected and what came.
absl::Status CheckGuards(const Signature& signature, absl::Span<const Tensor> inputs, std::vector<int64_t>* symbols);
// The same before there are tensors: types (an invalid dtype is an absent input), and elements of inputs by name.
absl::Status CheckGuards(const Signature& signature, absl::Span<const TensorType> types,
                         const std::map<std::string, std::vector<int64_t>>& values);

}  // namespace tcc
