#include <algorithm>
#include <limits>

#include "runtime/dispatch.h"
#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// Stacks what the iterations of a loop leave in one value.
class Stack {
 public:
  explicit Stack(const plan::Loop::ScanOutput& scan) : scan_(scan) {}

  absl::Status Push(const Tensor& element, int64_t remaining) {
    if (element.dtype() != scan_.dtype) {
      return absl::InternalError(absl::StrCat("a scan output collects ", element.type().ToString()));
    }
    if (rows_ == 0) {
      dims_ = element.dims();
      TCC_RETURN_IF_ERROR(Reserve(std::clamp<int64_t>(remaining, 1, 16)));
    } else if (dims_ != element.dims()) {
      return absl::InvalidArgumentError(absl::StrCat("a loop stacks ", element.type().ToString(), " onto elements ",
                                                     TensorType{scan_.dtype, dims_}.ToString()));
    }
    if (rows_ == capacity_) TCC_RETURN_IF_ERROR(Reserve(capacity_ * 2));
    TCC_RETURN_IF_ERROR(CopyElements(element, Row(rows_)));
    ++rows_;
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Take(const Dims& empty_dims) {
    if (rows_ == 0) {
      dims_ = empty_dims;
      TCC_RETURN_IF_ERROR(Reserve(0));
    }
    Dims dims = dims_;
    dims.insert(dims.begin(), rows_);
    return buffer_.View(dims, ContiguousStrides(dims), 0);
  }

 private:
  Tensor Row(int64_t row) const {
    return buffer_.View(dims_, ContiguousStrides(dims_),
                        row * (buffer_.num_elements() / std::max<int64_t>(capacity_, 1)));
  }
  absl::Status Reserve(int64_t capacity) {
    Dims dims = dims_;
    dims.insert(dims.begin(), capacity);
    Tensor old = std::move(buffer_);
    TCC_ASSIGN_OR_RETURN(buffer_, Tensor::Allocate(scan_.dtype, dims));
    capacity_ = capacity;
    if (rows_ == 0) return absl::OkStatus();
    dims[0] = rows_;
    return CopyElements(old.View(dims, ContiguousStrides(dims), 0), buffer_.View(dims, ContiguousStrides(dims), 0));
  }

  const plan::Loop::ScanOutput& scan_;
  Dims dims_;
  Tensor buffer_;
  int64_t rows_ = 0, capacity_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> ExecutionContext::Runner::Scalar(ValueId value) {
  if (!f_.IsSet(value)) return NotSet(value);
  TCC_RETURN_IF_ERROR(HostIsReady());
  const Tensor& tensor = f_.Get(value);
  if (tensor.num_elements() != 1 || !(IsInteger(tensor.dtype()) || tensor.dtype() == DType::kBool)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a single integer or bool to decide control flow, got ", tensor.type().ToString()));
  }
  return LoadInt(tensor.data(), tensor.dtype(), 0);
}

absl::Status ExecutionContext::Runner::Do(const plan::If& i, const Step& step) {
  TCC_ASSIGN_OR_RETURN(const int64_t condition, Scalar(i.condition));
  return Execute(*step.blocks[condition != 0 ? 0 : 1]);
}

absl::Status ExecutionContext::Runner::Do(const plan::Loop& i, const Program& body) {
  int64_t trips = std::numeric_limits<int64_t>::max();
  if (i.trip_count != kNoValue) {
    TCC_ASSIGN_OR_RETURN(trips, Scalar(i.trip_count));
  }
  std::vector<Stack> stacks(i.scan_outputs.begin(), i.scan_outputs.end());
  ++loop_depth_;
  for (int64_t iteration = 0; iteration < trips; ++iteration) {
    if (i.condition != kNoValue) {
      TCC_ASSIGN_OR_RETURN(const int64_t condition, Scalar(i.condition));
      if (condition == 0) break;
    }
    if (i.iteration != kNoValue) f_.Set(i.iteration, Tensor::Scalar<int64_t>(iteration), kContiguous);
    TCC_RETURN_IF_ERROR(Execute(body));
    if (!stacks.empty()) TCC_RETURN_IF_ERROR(HostIsReady());
    for (size_t j = 0; j < stacks.size(); ++j) {
      const ValueId element = i.scan_outputs[j].element;
      if (!f_.IsSet(element)) return NotSet(element);
      TCC_RETURN_IF_ERROR(stacks[j].Push(f_.Get(element), trips - iteration));
    }
  }
  --loop_depth_;
  for (size_t j = 0; j < stacks.size(); ++j) {
    TCC_ASSIGN_OR_RETURN(Tensor stacked, stacks[j].Take(f_.Eval(i.scan_outputs[j].dims)));
    f_.Set(i.scan_outputs[j].result, std::move(stacked), kContiguous);
  }
  return absl::OkStatus();
}

}  // namespace tcc
