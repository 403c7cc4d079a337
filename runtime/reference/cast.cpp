#include "runtime/reference/convert.h"
#include "runtime/reference/support.h"

namespace tcc::reference {

// Attributes: saturate (default 1), and for f8e8m0 `round_mode` "up" (default), "down" or "nearest" as ONNX Cast has
// it.
Results Cast(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const TensorType type, ResultType(call));
  const std::string mode = call.attributes.StringOr("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest") {
    return Invalid("round_mode '", mode, "' is none of up, down, nearest");
  }
  ConvertOptions options;
  options.saturate = call.attributes.IntOr("saturate", 1) != 0;
  options.scale_rounding = mode == "up"     ? ScaleRounding::kUp
                           : mode == "down" ? ScaleRounding::kDown
                                            : ScaleRounding::kNearest;
  return One(ConvertDType(call.inputs[0], type.dtype, options));
}

Results Bitcast(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const TensorType type, ResultType(call));
  if (x.dtype() == DType::kString || DTypeBits(type.dtype) != DTypeBits(x.dtype()) || DTypeBits(type.dtype) == 0) {
    return Invalid(DTypeText(x.dtype()), " and ", DTypeText(type.dtype), " are not of the same width");
  }
  TCC_ASSIGN_OR_RETURN(const Tensor packed, x.Contiguous());
  // The view keeps the memory alive through its deleter.
  return One(Tensor::Wrap(packed.data(), type.dtype, packed.dims(), {}, [packed] {}, packed.device()));
}

}  // namespace tcc::reference
