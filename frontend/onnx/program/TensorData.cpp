//===- TensorData.cpp - TensorProto -> Tensor -----------------------------===//
#include "frontend/onnx/program/TensorData.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/Program.h"
#include "onnx/onnx-ml.pb.h"
#include "runtime/status.h"

namespace tcc::onnx {

using Proto = ::onnx::TensorProto;

DType dtypeOf(int32_t onnxDataType) {
  switch (onnxDataType) {
  case Proto::FLOAT:
    return DType::kF32;
  case Proto::UINT8:
    return DType::kU8;
  case Proto::INT8:
    return DType::kI8;
  case Proto::UINT16:
    return DType::kU16;
  case Proto::INT16:
    return DType::kI16;
  case Proto::INT32:
    return DType::kI32;
  case Proto::INT64:
    return DType::kI64;
  case Proto::STRING:
    return DType::kString;
  case Proto::BOOL:
    return DType::kBool;
  case Proto::FLOAT16:
    return DType::kF16;
  case Proto::DOUBLE:
    return DType::kF64;
  case Proto::UINT32:
    return DType::kU32;
  case Proto::UINT64:
    return DType::kU64;
  case Proto::COMPLEX64:
    return DType::kC64;
  case Proto::COMPLEX128:
    return DType::kC128;
  case Proto::BFLOAT16:
    return DType::kBF16;
  case Proto::FLOAT8E4M3FN:
    return DType::kF8E4M3FN;
  case Proto::FLOAT8E4M3FNUZ:
    return DType::kF8E4M3FNUZ;
  case Proto::FLOAT8E5M2:
    return DType::kF8E5M2;
  case Proto::FLOAT8E5M2FNUZ:
    return DType::kF8E5M2FNUZ;
  case Proto::UINT4:
    return DType::kU4;
  case Proto::INT4:
    return DType::kI4;
  case Proto::FLOAT4E2M1:
    return DType::kF4E2M1;
  case Proto::FLOAT8E8M0:
    return DType::kF8E8M0;
  case Proto::UINT2:
    return DType::kU2;
  case Proto::INT2:
    return DType::kI2;
  default:
    return DType::kInvalid;
  }
}

namespace {

// Which typed field holds a dtype's elements, and how many entries of it a tensor takes.
enum class Field { Float, Int32, Int64, Double, UInt64, String };

Field fieldOf(DType dtype) {
  switch (dtype) {
  case DType::kF32:
  case DType::kC64:
    return Field::Float;
  case DType::kF64:
  case DType::kC128:
    return Field::Double;
  case DType::kI64:
    return Field::Int64;
  case DType::kU32:
  case DType::kU64:
    return Field::UInt64;
  case DType::kString:
    return Field::String;
  default:
    return Field::Int32;
  }
}

int64_t entryCount(const Proto &proto, Field field) {
  switch (field) {
  case Field::Float:
    return proto.float_data_size();
  case Field::Int32:
    return proto.int32_data_size();
  case Field::Int64:
    return proto.int64_data_size();
  case Field::Double:
    return proto.double_data_size();
  case Field::UInt64:
    return proto.uint64_data_size();
  case Field::String:
    return proto.string_data_size();
  }
  return 0;
}

int64_t expectedEntries(DType dtype, int64_t elements) {
  if (IsPacked(dtype))
    return static_cast<int64_t>(DTypeBytes(dtype, elements)); // an entry holds one byte
  if (dtype == DType::kC64 || dtype == DType::kC128)
    return 2 * elements;
  return elements;
}

bool isExternal(const Proto &proto) { return proto.data_location() == Proto::EXTERNAL; }

std::string typeText(const Proto &proto, DType dtype) {
  TensorType type{dtype, Dims(proto.dims().begin(), proto.dims().end())};
  return type.ToString();
}

template <typename To, typename Entries> void copyEntries(const Entries &entries, void *to) {
  std::transform(entries.begin(), entries.end(), static_cast<To *>(to), [](auto v) { return static_cast<To>(v); });
}

void copyTyped(const Proto &proto, Tensor &tensor) {
  switch (fieldOf(tensor.dtype())) {
  case Field::Float:
    copyEntries<float>(proto.float_data(), tensor.data());
    return;
  case Field::Double:
    copyEntries<double>(proto.double_data(), tensor.data());
    return;
  case Field::Int64:
    copyEntries<int64_t>(proto.int64_data(), tensor.data());
    return;
  case Field::UInt64:
    if (tensor.dtype() == DType::kU32)
      copyEntries<uint32_t>(proto.uint64_data(), tensor.data());
    else
      copyEntries<uint64_t>(proto.uint64_data(), tensor.data());
    return;
  case Field::String:
    std::copy(proto.string_data().begin(), proto.string_data().end(), tensor.data_as<std::string>());
    return;
  case Field::Int32:
    if (tensor.dtype() == DType::kBool)
      std::transform(proto.int32_data().begin(), proto.int32_data().end(), tensor.data_as<uint8_t>(),
                     [](int32_t v) { return v != 0; });
    else if (IsPacked(tensor.dtype()) || DTypeBits(tensor.dtype()) == 8)
      copyEntries<uint8_t>(proto.int32_data(), tensor.data());
    else if (DTypeBits(tensor.dtype()) == 16)
      copyEntries<uint16_t>(proto.int32_data(), tensor.data());
    else
      copyEntries<int32_t>(proto.int32_data(), tensor.data());
    return;
  }
}

} // namespace

absl::Status checkTensor(const Proto &proto, std::optional<std::string_view> external) {
  DType dtype = dtypeOf(proto.data_type());
  if (dtype == DType::kInvalid)
    return absl::InvalidArgumentError(
        absl::StrCat("element type ", proto.data_type(), " does not exist or is not supported"));
  if (proto.has_segment())
    return absl::UnimplementedError("tensors stored in segments are not supported");
  absl::StatusOr<int64_t> elements = NumElements(absl::Span<const int64_t>(proto.dims().data(), proto.dims().size()));
  if (!elements.ok())
    return elements.status();
  // Divided, so that nothing wraps: the count of bytes below is then exact.
  if (*elements > std::numeric_limits<int64_t>::max() / 64)
    return absl::InvalidArgumentError(absl::StrCat(typeText(proto, dtype), " is too large"));

  if (isExternal(proto)) {
    if (dtype == DType::kString)
      return absl::InvalidArgumentError("strings cannot be external data");
    if (!external)
      return absl::InvalidArgumentError("its data is in another file, which is not allowed here");
    size_t needed = DTypeBytes(dtype, *elements);
    if (external->size() != needed)
      return absl::InvalidArgumentError(absl::StrCat(typeText(proto, dtype), " needs ", needed,
                                                     " bytes, but its external data has ", external->size()));
    return absl::OkStatus();
  }

  Field field = fieldOf(dtype);
  int64_t present = 0;
  for (Field other : {Field::Float, Field::Int32, Field::Int64, Field::Double, Field::UInt64, Field::String})
    if (other != field && entryCount(proto, other) > 0)
      return absl::InvalidArgumentError(absl::StrCat(typeText(proto, dtype), " has data of another element type"));
  if (proto.has_raw_data() && (!proto.raw_data().empty() || entryCount(proto, field) == 0)) {
    if (dtype == DType::kString)
      return absl::InvalidArgumentError("strings cannot be raw data");
    if (entryCount(proto, field) > 0)
      return absl::InvalidArgumentError(absl::StrCat(typeText(proto, dtype), " has its data twice, raw and typed"));
    size_t needed = DTypeBytes(dtype, *elements);
    if (proto.raw_data().size() != needed)
      return absl::InvalidArgumentError(
          absl::StrCat(typeText(proto, dtype), " needs ", needed, " bytes, but has ", proto.raw_data().size()));
    return absl::OkStatus();
  }
  present = entryCount(proto, field);
  if (present != expectedEntries(dtype, *elements))
    return absl::InvalidArgumentError(absl::StrCat(typeText(proto, dtype), " needs ", expectedEntries(dtype, *elements),
                                                   " values, but has ", present));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> toTensor(const Proto &proto, std::optional<std::string_view> external,
                                std::shared_ptr<const void> owner) {
  TCC_RETURN_IF_ERROR(checkTensor(proto, external));
  DType dtype = dtypeOf(proto.data_type());
  absl::Span<const int64_t> dims(proto.dims().data(), proto.dims().size());
  std::optional<std::string_view> bytes;
  if (isExternal(proto))
    bytes = external;
  else if (proto.has_raw_data() && !proto.raw_data().empty())
    bytes = proto.raw_data();
  if (!bytes) {
    TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, dims));
    copyTyped(proto, tensor);
    return tensor;
  }
  size_t alignment = std::max(1, std::min(DTypeBits(dtype), 64) / 8);
  bool aligned = reinterpret_cast<uintptr_t>(bytes->data()) % alignment == 0;
  // A bool other than 0 and 1 would be undefined behaviour wherever it is read.
  bool clean =
      dtype != DType::kBool || std::all_of(bytes->begin(), bytes->end(), [](unsigned char c) { return c <= 1; });
  if (owner && aligned && clean)
    return Tensor::Wrap(const_cast<char *>(bytes->data()), dtype, dims, {}, [owner = std::move(owner)] {});
  TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, dims));
  if (dtype == DType::kBool)
    std::transform(bytes->begin(), bytes->end(), tensor.data_as<uint8_t>(), [](char c) { return c != 0; });
  else if (!bytes->empty())
    std::memcpy(tensor.data(), bytes->data(), bytes->size());
  return tensor;
}

absl::StatusOr<Tensor> toTensor(const ::onnx::SparseTensorProto &proto, int64_t maxBytes) {
  if (isExternal(proto.values()) || isExternal(proto.indices()))
    return absl::UnimplementedError("sparse tensors with external data are not supported; store it in the model file");
  TCC_RETURN_IF_ERROR(checkTensor(proto.values()));
  TCC_RETURN_IF_ERROR(checkTensor(proto.indices()));
  DType dtype = dtypeOf(proto.values().data_type());
  if (dtype == DType::kString || IsPacked(dtype))
    return absl::UnimplementedError(absl::StrCat("sparse tensors of this element type are not supported"));
  absl::Span<const int64_t> dims(proto.dims().data(), proto.dims().size());
  TCC_ASSIGN_OR_RETURN(int64_t elements, NumElements(dims));
  int64_t width = DTypeBits(dtype) / 8;
  if (elements > maxBytes / width)
    return absl::ResourceExhaustedError(absl::StrCat("a sparse tensor of ", elements, " elements is over the limit of ",
                                                     maxBytes, " bytes for its dense form"));
  int64_t count = proto.values().dims_size() == 1 ? proto.values().dims(0) : -1;
  if (count < 0 || proto.indices().data_type() != Proto::INT64)
    return absl::InvalidArgumentError("a sparse tensor needs a list of values, and int64 indices");
  int rank = dims.size();
  bool linear = proto.indices().dims_size() == 1 && proto.indices().dims(0) == count;
  bool perAxis =
      proto.indices().dims_size() == 2 && proto.indices().dims(0) == count && proto.indices().dims(1) == rank;
  if (!linear && !perAxis)
    return absl::InvalidArgumentError("the indices of a sparse tensor do not fit its values");
  // (Positions in a tensor without elements could not even be computed: its other extents may be anything.)
  if (elements == 0 && count > 0)
    return absl::InvalidArgumentError("a sparse tensor without elements has values");

  TCC_ASSIGN_OR_RETURN(Tensor values, toTensor(proto.values(), std::nullopt, nullptr));
  TCC_ASSIGN_OR_RETURN(Tensor indices, toTensor(proto.indices(), std::nullopt, nullptr));
  TCC_ASSIGN_OR_RETURN(Tensor dense, Tensor::Allocate(dtype, dims));
  std::memset(dense.data(), 0, dense.bytes());
  const int64_t *index = indices.data_as<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    if (linear) {
      position = index[i];
    } else {
      for (int axis = 0; axis < rank; ++axis) {
        int64_t at = index[i * rank + axis];
        if (at < 0 || at >= dims[axis])
          return absl::InvalidArgumentError(absl::StrCat("index ", at, " of a sparse tensor is out of range"));
        position = position * dims[axis] + at;
      }
    }
    if (position < 0 || position >= elements)
      return absl::InvalidArgumentError(absl::StrCat("index ", position, " of a sparse tensor is out of range"));
    std::memcpy(dense.data_as<char>() + position * width, values.data_as<char>() + i * width, width);
  }
  return dense;
}

} // namespace tcc::onnx
