//===- ValueFile.cpp - .pb files with a tensor, sequence or optional ------===//
#include "frontend/onnx/program/ValueFile.h"

#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/FileMapping.h"
#include "frontend/onnx/program/Sniff.h"
#include "frontend/onnx/program/TensorData.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "onnx/onnx-data.pb.h"
#include "runtime/status.h"

namespace tcc::onnx {

namespace {

absl::StatusOr<Value> convert(const ::onnx::TensorProto &proto) {
  Value value;
  value.name = proto.name();
  TCC_ASSIGN_OR_RETURN(value.tensor, toTensor(proto, std::nullopt, nullptr));
  return value;
}

absl::StatusOr<Value> convert(const ::onnx::OptionalProto &proto);

absl::StatusOr<Value> convert(const ::onnx::SequenceProto &proto) {
  Value value;
  value.kind = ValueInfo::Kind::Sequence;
  value.name = proto.name();
  if (proto.sparse_tensor_values_size() || proto.map_values_size())
    return absl::UnimplementedError("sequences of maps or sparse tensors are not supported");
  for (const auto &element : proto.tensor_values()) {
    TCC_ASSIGN_OR_RETURN(value.elements.emplace_back(), convert(element));
  }
  for (const auto &element : proto.sequence_values()) {
    TCC_ASSIGN_OR_RETURN(value.elements.emplace_back(), convert(element));
  }
  for (const auto &element : proto.optional_values()) {
    TCC_ASSIGN_OR_RETURN(value.elements.emplace_back(), convert(element));
  }
  return value;
}

absl::StatusOr<Value> convert(const ::onnx::OptionalProto &proto) {
  Value value;
  value.kind = ValueInfo::Kind::Optional;
  value.name = proto.name();
  if (proto.has_tensor_value()) {
    TCC_ASSIGN_OR_RETURN(value.elements.emplace_back(), convert(proto.tensor_value()));
  } else if (proto.has_sequence_value()) {
    TCC_ASSIGN_OR_RETURN(value.elements.emplace_back(), convert(proto.sequence_value()));
  } else if (proto.has_optional_value()) {
    TCC_ASSIGN_OR_RETURN(value.elements.emplace_back(), convert(proto.optional_value()));
  } else if (proto.has_sparse_tensor_value() || proto.has_map_value()) {
    return absl::UnimplementedError("optional maps and sparse tensors are not supported");
  }
  return value;
}

template <typename Proto> absl::StatusOr<Value> load(const File &file) {
  Proto proto;
  google::protobuf::io::FileInputStream stream(file.descriptor());
  if (!proto.ParseFromZeroCopyStream(&stream)) {
    char first[512];
    TCC_ASSIGN_OR_RETURN(int64_t size, file.read(first, sizeof(first), 0));
    std::string what = sniff({first, static_cast<size_t>(size)});
    return absl::InvalidArgumentError(absl::StrCat("is not a serialised ONNX value", what.empty() ? "" : ": ", what));
  }
  return convert(proto);
}

} // namespace

absl::StatusOr<Value> loadValueFile(const std::string &path, ValueInfo::Kind kind) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const File> file, File::open(path));
  absl::StatusOr<Value> value = absl::UnimplementedError("only tensors, sequences and optionals are supported");
  if (kind == ValueInfo::Kind::Tensor)
    value = load<::onnx::TensorProto>(*file);
  else if (kind == ValueInfo::Kind::Sequence)
    value = load<::onnx::SequenceProto>(*file);
  else if (kind == ValueInfo::Kind::Optional)
    value = load<::onnx::OptionalProto>(*file);
  if (!value.ok())
    return WithContext(path, value.status());
  return value;
}

static int32_t onnxTypeOf(DType dtype) {
  for (int32_t type = 1; ::onnx::TensorProto::DataType_IsValid(type); ++type)
    if (dtypeOf(type) == dtype)
      return type;
  return ::onnx::TensorProto::UNDEFINED;
}

absl::StatusOr<std::string> serializeTensor(const Tensor &tensor, const std::string &name) {
  TCC_ASSIGN_OR_RETURN(Tensor contiguous, tensor.Contiguous());
  ::onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnxTypeOf(tensor.dtype()));
  for (int64_t dim : tensor.dims())
    proto.add_dims(dim);
  if (tensor.dtype() == DType::kString) {
    for (int64_t i = 0; i < tensor.num_elements(); ++i)
      proto.add_string_data(contiguous.data_as<std::string>()[i]);
  } else {
    proto.set_raw_data(contiguous.data(), contiguous.bytes());
  }
  return proto.SerializeAsString();
}

} // namespace tcc::onnx
