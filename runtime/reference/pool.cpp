#include "runtime/reference/window.h"

namespace tcc::reference {
namespace {

struct Pool {
  Window window;
  Tensor x;   // channels first
  Dims dims;  // of the result, channels first
  bool channels_last = false;
  Extents in() const { return Extents(x.dims()).subspan(2); }
  Extents x_strides() const { return Extents(x.strides()).subspan(2); }
};

absl::StatusOr<Pool> ReadPool(const Call& call) {
  Pool pool;
  const Tensor& x = call.inputs[0];
  if (x.rank() < 3) return Invalid("x must have rank 3 or more, got extents ", DimsText(x.dims()));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, call.attributes.Ints("kernel"));
  if (static_cast<int>(kernel.size()) != x.rank() - 2) return Invalid("kernel must have ", x.rank() - 2, " entries");
  TCC_ASSIGN_OR_RETURN(pool.window, ReadWindow(call, std::move(kernel)));
  TCC_ASSIGN_OR_RETURN(const bool ceil_mode, Flag(call, "ceil_mode"));
  pool.channels_last = call.attributes.IntOr("channels_last", 0) != 0;
  pool.x = ChannelsFirst(x, pool.channels_last);
  pool.dims = {pool.x.dim(0), pool.x.dim(1)};
  for (int axis = 0; axis < pool.window.axes(); ++axis) {
    TCC_ASSIGN_OR_RETURN(int64_t count, WindowCount(pool.x.dim(axis + 2), pool.window, axis, ceil_mode));
    pool.dims.push_back(count);
  }
  return pool;
}

// Calls f(y offset, window) for each output of one channel plane, where window(g) calls g(element offset in the plane,
// spatial index) for every element of the window inside the input, row-major.
template <typename F>
void ForEachWindow(const Pool& pool, Extents y_strides, F f) {
  const int axes = pool.window.axes();
  const Extents in = pool.in(), strides = pool.x_strides();
  const Window& w = pool.window;
  Dims low(axes), count(axes), index(axes);
  for (Counter at(Extents(pool.dims).subspan(2)); at.more(); at.Next()) {
    for (int axis = 0; axis < axes; ++axis) {
      const int64_t base = at[axis] * w.strides[axis] - w.padding_low[axis];
      const int64_t d = w.dilations[axis];
      // Kernel positions whose element lies inside the input.
      const int64_t first = base < 0 ? (-base + d - 1) / d : 0;
      const int64_t end = std::min(w.kernel[axis], base >= in[axis] ? 0 : (in[axis] - base + d - 1) / d);
      low[axis] = base + first * d;
      count[axis] = std::max<int64_t>(end - first, 0);
    }
    f(at, at.Offset(y_strides), [&](auto g) {
      for (Counter tap(count); tap.more(); tap.Next()) {
        int64_t offset = 0;
        for (int axis = 0; axis < axes; ++axis) {
          index[axis] = low[axis] + tap[axis] * w.dilations[axis];
          offset += index[axis] * strides[axis];
        }
        g(offset, index);
      }
    });
  }
}

template <typename F>
void ForEachPlane(const Pool& pool, const Tensor& y, F f) {
  for (int64_t n = 0; n < pool.dims[0]; ++n) {
    for (int64_t c = 0; c < pool.dims[1]; ++c) {
      f(n * pool.x.strides()[0] + c * pool.x.strides()[1], n * y.strides()[0] + c * y.strides()[1],
        n * pool.dims[1] + c);
    }
  }
}

}  // namespace

Results MaxPool(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const Pool pool, ReadPool(call));
  TCC_ASSIGN_OR_RETURN(LaidOut y, AllocateLaidOut(pool.x.dtype(), pool.dims, pool.channels_last));
  TCC_RETURN_IF_ERROR(Dispatch(Numbers(), pool.x.dtype(), [&]<typename T>() -> absl::Status {
    ForEachPlane(pool, y.channels_first, [&](int64_t from, int64_t to, int64_t) {
      const T* xs = pool.x.data_as<T>() + from;
      T* ys = y.channels_first.data_as<T>() + to;
      ForEachWindow(pool, Extents(y.channels_first.strides()).subspan(2), [&](const Counter&, int64_t at, auto window) {
        T best = LowestValue<T>();
        window([&](int64_t offset, const Dims&) { best = MaxOf(best, xs[offset]); });
        ys[at] = best;
      });
    });
    return absl::OkStatus();
  }));
  return One(std::move(y.stored));
}

// The first of equal maxima; -1 for a window wholly in padding. column_major counts the spatial axes from the first as
// fastest, as ONNX's storage_order 1.
Results MaxPoolIndices(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const Pool pool, ReadPool(call));
  TCC_ASSIGN_OR_RETURN(const bool column_major, Flag(call, "column_major"));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(pool.x.dtype(), pool.dims));
  TCC_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kI64, pool.dims));
  const Extents in = pool.in();
  const int axes = pool.window.axes();
  Dims places(axes, 1);  // what a step along each axis adds to a flat index
  for (int i = 1; i < axes; ++i) {
    if (column_major) {
      places[i] = places[i - 1] * in[i - 1];
    } else {
      places[axes - 1 - i] = places[axes - i] * in[axes - i];
    }
  }
  TCC_RETURN_IF_ERROR(Dispatch(Numbers(), pool.x.dtype(), [&]<typename T>() -> absl::Status {
    ForEachPlane(pool, y, [&](int64_t from, int64_t to, int64_t plane) {
      const T* xs = pool.x.data_as<T>() + from;
      ForEachWindow(pool, Extents(y.strides()).subspan(2), [&](const Counter&, int64_t at, auto window) {
        T best = LowestValue<T>();
        int64_t best_index = -1;
        window([&](int64_t offset, const Dims& index) {
          const T value = xs[offset];
          if (best_index >= 0 && !(value > best) && !(IsNanValue(value) && !IsNanValue(best))) return;
          best = value;
          best_index = plane * Product(in);
          for (int axis = 0; axis < axes; ++axis) best_index += index[axis] * places[axis];
        });
        y.data_as<T>()[to + at] = best;
        indices.data_as<int64_t>()[to + at] = best_index;
      });
    });
    return absl::OkStatus();
  }));
  return std::vector<Tensor>{std::move(y), std::move(indices)};
}

Results AvgPool(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const Pool pool, ReadPool(call));
  TCC_ASSIGN_OR_RETURN(const bool include_pad, Flag(call, "count_include_pad"));
  TCC_ASSIGN_OR_RETURN(LaidOut y, AllocateLaidOut(pool.x.dtype(), pool.dims, pool.channels_last));
  const Window& w = pool.window;
  // Elements of the window at `at` inside input and padding.
  const auto padded_count = [&](const Counter& at) {
    int64_t count = 1;
    for (int axis = 0; axis < w.axes(); ++axis) {
      const int64_t base = at[axis] * w.strides[axis];  // from the start of the low padding
      const int64_t room = pool.in()[axis] + w.padding_low[axis] + w.padding_high[axis] - base;
      count *= std::clamp<int64_t>((room + w.dilations[axis] - 1) / w.dilations[axis], 0, w.kernel[axis]);
    }
    return count;
  };
  TCC_RETURN_IF_ERROR(Dispatch(Floats(), pool.x.dtype(), [&]<typename T>() -> absl::Status {
    ForEachPlane(pool, y.channels_first, [&](int64_t from, int64_t to, int64_t) {
      const T* xs = pool.x.data_as<T>() + from;
      T* ys = y.channels_first.data_as<T>() + to;
      ForEachWindow(pool, Extents(y.channels_first.strides()).subspan(2),
                    [&](const Counter& position, int64_t at, auto window) {
                      double sum = 0;
                      int64_t count = 0;
                      window([&](int64_t offset, const Dims&) {
                        sum += xs[offset];
                        ++count;
                      });
                      if (include_pad) count = padded_count(position);
                      ys[at] = count == 0 ? T(0) : static_cast<T>(sum / static_cast<double>(count));
                    });
    });
    return absl::OkStatus();
  }));
  return One(std::move(y.stored));
}

}  // namespace tcc::reference
