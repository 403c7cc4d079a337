#include "runtime/reference/pad.h"

#include <optional>

namespace tcc::reference {
namespace {

constexpr int64_t kFill = -1;

// The operand's index that each index of a padded axis takes, or kFill.
absl::StatusOr<std::vector<int64_t>> SourceIndices(int64_t extent, int64_t low, int64_t high, const std::string& mode,
                                                   int axis) {
  TCC_ASSIGN_OR_RETURN(int64_t size, CheckedAdd(extent, low));
  TCC_ASSIGN_OR_RETURN(size, CheckedAdd(size, high));
  if (size < 0) return OutOfRange("pads ", low, " and ", high, " crop more than extent ", extent, " of axis ", axis);
  // Checked before the list is allocated: a hostile pad must not take memory.
  if (size > (int64_t{1} << 40)) return OutOfRange("axis ", axis, " would have ", size, " elements");
  // What is cropped is gone before the rest repeats; neither the edges nor what is reflected reach that far.
  const int64_t first = mode == "wrap" && low < 0 ? -low : 0;
  const int64_t kept = mode == "wrap" && high < 0 ? extent + high - first : extent - first;
  if ((mode == "edge" || mode == "wrap") && kept <= 0 && size > 0) {
    return OutOfRange("axis ", axis, " of extent ", extent, " has no element to pad with",
                      first > 0 || kept < extent ? ", as it is cropped first" : "");
  }
  std::vector<int64_t> sources(size);
  for (int64_t i = 0; i < size; ++i) {
    int64_t s = i - low;
    if (s < first || s >= first + kept) {
      if (mode == "constant") {
        s = kFill;
      } else if (mode == "edge") {
        s = s < 0 ? 0 : extent - 1;
      } else if (mode == "wrap") {
        s = first + (((s - first) % kept) + kept) % kept;
      } else {
        s = s < 0 ? -s : 2 * (extent - 1) - s;
      }
    }
    sources[i] = s;
  }
  return sources;
}

}  // namespace

Results PadTensor(const Tensor& x, const Tensor& fill, Extents low, Extents high, const std::string& mode) {
  const int rank = x.rank();
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return Invalid("mode '", mode, "' is none of constant, reflect, edge, wrap");
  }
  if (static_cast<int>(low.size()) != rank || static_cast<int>(high.size()) != rank) {
    return Invalid("pads must have one entry for each of ", rank, " axes");
  }
  if (fill.valid()) {
    TCC_RETURN_IF_ERROR(CheckDType(fill, x.dtype(), "the fill value"));
    if (fill.num_elements() != 1) return Invalid("the fill value must be one element");
  }
  // The result's extents first (an error where they overflow), then the maps of its axes.
  Dims dims;
  for (int axis = 0; axis < rank; ++axis) {
    TCC_ASSIGN_OR_RETURN(int64_t size, CheckedAdd(x.dim(axis), low[axis]));
    TCC_ASSIGN_OR_RETURN(size, CheckedAdd(size, high[axis]));
    if (size < 0) {
      return OutOfRange("pads ", low[axis], " and ", high[axis], " crop more than extent ", x.dim(axis), " of axis ",
                        axis);
    }
    // Before any memory is taken.
    if (mode == "reflect" && size > 0 && (low[axis] > 0 || high[axis] > 0) &&
        std::max(low[axis], high[axis]) >= x.dim(axis)) {
      return OutOfRange("reflect pads ", low[axis], " and ", high[axis], " of axis ", axis,
                        " exceed extent - 1 = ", x.dim(axis) - 1);
    }
    dims.push_back(size);
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  std::vector<std::vector<int64_t>> sources(rank);
  for (int axis = 0; axis < rank; ++axis) {
    TCC_ASSIGN_OR_RETURN(sources[axis], SourceIndices(x.dim(axis), low[axis], high[axis], mode, axis));
  }
  TCC_RETURN_IF_ERROR(DispatchWidth(x.dtype(), [&]<typename T>() -> absl::Status {
    const T value = fill.valid() ? *fill.data_as<T>() : T{};
    const T* xs = x.data_as<T>();
    T* ys = y.data_as<T>();
    if (rank == 0) {
      *ys = *xs;
      return absl::OkStatus();
    }
    const int last = rank - 1;
    const int64_t n = dims[last], step = x.strides()[last];
    for (Counter row(Extents(dims).first(last)); n > 0 && row.more(); row.Next(), ys += n) {
      int64_t offset = 0;
      bool inside = true;
      for (int axis = 0; axis < last; ++axis) {
        const int64_t s = sources[axis][row[axis]];
        inside = inside && s != kFill;
        offset += s * x.strides()[axis];
      }
      for (int64_t i = 0; i < n; ++i) {
        const int64_t s = sources[last][i];
        ys[i] = inside && s != kFill ? xs[offset + s * step] : value;
      }
    }
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

Results Pad(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> low, call.attributes.Ints("low"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> high, call.attributes.Ints("high"));
  TCC_ASSIGN_OR_RETURN(const std::string mode, call.attributes.String("mode"));
  return PadTensor(call.inputs[0], call.inputs[1], low, high, mode);
}

}  // namespace tcc::reference
