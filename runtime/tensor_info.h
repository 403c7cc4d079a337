// What a model or package takes and returns.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace tcc {

// The extents that an axis may have: from `min` to `max`, multiples of `multiple_of`.
struct ExtentRange {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
  int64_t multiple_of = 1;
  bool operator==(const ExtentRange&) const = default;
};

// An input or output, as the model declares it, or as all specialisations of a package together have it.
struct TensorInfo {
  std::string name;
  TensorType type;                     // dtype kInvalid: not declared; an extent of -1 may vary
  std::vector<std::string> dim_names;  // "" where an extent has no name; extents of one name are equal
  bool optional = false;               // may be left out: an invalid tensor
  // Of a package, one for each axis. Specialisations may leave gaps between them, and an output's extent that depends
  // on data has no bounds. Empty for a model: its ranges are those of the options.
  std::vector<ExtentRange> ranges = {};
  // Of a package: false where its specialisations take tensors of different ranks, or none takes the input at all; then
  // the type has no extents.
  bool has_rank = true;
};

}  // namespace tcc
