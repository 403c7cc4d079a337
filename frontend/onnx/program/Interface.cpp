//===- Interface.cpp - inputs and outputs of a model, quickly -------------===//
#include "frontend/onnx/program/Interface.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/FileMapping.h"
#include "frontend/onnx/program/Passes.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/wire_format_lite.h"
#include "onnx/onnx-ml.pb.h"
#include "runtime/status.h"

namespace tcc::onnx {

using google::protobuf::internal::WireFormatLite;
using CodedInputStream = google::protobuf::io::CodedInputStream;

namespace {

// Walks the wire format; false where it is damaged.
class InterfaceReader {
public:
  explicit InterfaceReader(CodedInputStream &stream) : in(stream) {}

  bool readModel() {
    return fields([&](int field, uint32_t tag) {
      if (field == ::onnx::ModelProto::kGraphFieldNumber)
        return nested([&] { return readGraph(); });
      if (field == ::onnx::ModelProto::kIrVersionFieldNumber) {
        uint64_t value;
        if (!in.ReadVarint64(&value))
          return false;
        irVersion = static_cast<int64_t>(value);
        return true;
      }
      return WireFormatLite::SkipField(&in, tag);
    });
  }

  int64_t irVersion = 0;
  std::vector<::onnx::ValueInfoProto> inputs, outputs;
  std::set<std::string> initializers;

private:
  template <typename Handle> bool fields(Handle handle) {
    while (uint32_t tag = in.ReadTag())
      if (!handle(WireFormatLite::GetTagFieldNumber(tag), tag))
        return false;
    return true;
  }

  template <typename Read> bool nested(Read read) {
    uint32_t size;
    if (!in.ReadVarint32(&size) || size > static_cast<uint32_t>(INT32_MAX))
      return false;
    CodedInputStream::Limit limit = in.PushLimit(static_cast<int>(size));
    bool good = read() && in.BytesUntilLimit() == 0;
    in.PopLimit(limit);
    return good;
  }

  bool readGraph() {
    using Graph = ::onnx::GraphProto;
    return fields([&](int field, uint32_t tag) {
      if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
        return WireFormatLite::SkipField(&in, tag);
      switch (field) {
      case Graph::kInputFieldNumber:
        return readValue(inputs.emplace_back());
      case Graph::kOutputFieldNumber:
        return readValue(outputs.emplace_back());
      case Graph::kInitializerFieldNumber:
        return nested([&] { return readTensorName(); });
      case Graph::kSparseInitializerFieldNumber:
        return nested([&] {
          return fields([&](int inner, uint32_t innerTag) {
            if (inner == ::onnx::SparseTensorProto::kValuesFieldNumber)
              return nested([&] { return readTensorName(); });
            return WireFormatLite::SkipField(&in, innerTag);
          });
        });
      default:
        return WireFormatLite::SkipField(&in, tag);
      }
    });
  }

  bool readValue(::onnx::ValueInfoProto &value) {
    return nested([&] { return value.MergeFromCodedStream(&in); });
  }

  bool readTensorName() {
    return fields([&](int field, uint32_t tag) {
      if (field != ::onnx::TensorProto::kNameFieldNumber)
        return WireFormatLite::SkipField(&in, tag);
      std::string name;
      if (!WireFormatLite::ReadBytes(&in, &name))
        return false;
      initializers.insert(std::move(name));
      return true;
    });
  }

  CodedInputStream &in;
};

} // namespace

absl::StatusOr<Interface> readInterface(const std::string &path) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const File> file, File::open(path));
  google::protobuf::io::FileInputStream raw(file->descriptor(), 1 << 16);
  CodedInputStream coded(&raw);
  InterfaceReader reader(coded);
  if (!reader.readModel())
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a valid ONNX file"));
  Interface result;
  for (const auto &input : reader.inputs) {
    bool hasDefault = reader.initializers.count(input.name()) != 0;
    if (hasDefault && reader.irVersion < 4)
      continue;
    result.inputs.push_back(toValueInfo(input));
    result.inputs.back().hasDefault = hasDefault;
  }
  for (const auto &output : reader.outputs)
    result.outputs.push_back(toValueInfo(output));
  return result;
}

} // namespace tcc::onnx
