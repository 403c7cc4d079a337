//===- Program.cpp - an ONNX model, read, checked and normalised ----------===//
#include "frontend/onnx/program/Program.h"

#include <charconv>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/program/ContentHash.h"
#include "frontend/onnx/program/Passes.h"
#include "frontend/onnx/program/Sniff.h"
#include "frontend/onnx/program/TensorData.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "onnx/onnx-ml.pb.h"
#include "runtime/status.h"

namespace tcc::onnx {

namespace pb = google::protobuf;

// The newest that the protos and schemas of the wheel know.
static constexpr int64_t kMaxIrVersion = ::onnx::Version::IR_VERSION;
static constexpr int64_t kMaxOpset = 28;

Program::Program() : proto(std::make_unique<::onnx::ModelProto>()) {}
Program::~Program() = default;

const ::onnx::GraphProto &Program::graph() const { return proto->graph(); }
int64_t Program::irVersion() const { return proto->ir_version(); }

static bool parseStream(pb::io::ZeroCopyInputStream &stream, const Limits &limits, ::onnx::ModelProto &model) {
  pb::io::CodedInputStream coded(&stream);
  // A subgraph is a graph in an attribute in a node; 40 covers what else there is to nest.
  coded.SetRecursionLimit(3 * limits.graphDepth + 40);
  return model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

static absl::Status notOnnx(std::string_view firstBytes, bool empty) {
  if (empty)
    return absl::InvalidArgumentError("is not an ONNX file: it is empty");
  std::string what = sniff(firstBytes);
  if (!what.empty())
    return absl::InvalidArgumentError(absl::StrCat("is not an ONNX file: ", what));
  return absl::InvalidArgumentError(
      "is not a valid ONNX file: its protobuf encoding is damaged, cut off, or nested too deep");
}

absl::StatusOr<std::shared_ptr<const Program>> Program::load(const std::string &path, const LoadOptions &options) {
  std::shared_ptr<Program> program(new Program);
  program->filePath = path;
  TCC_ASSIGN_OR_RETURN(program->file, File::open(path));
  const File &file = *program->file;
  auto folderOf = [](const std::string &path) {
    std::string parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? std::string(".") : parent;
  };
  program->external =
      std::make_unique<ExternalFiles>(folderOf(path), folderOf(file.resolvedPath()), options.externalDataRoots);
  auto status = [&]() -> absl::Status {
    char first[512];
    TCC_ASSIGN_OR_RETURN(int64_t firstSize, file.read(first, sizeof(first), 0));
    if (file.size() >= int64_t{1} << 31)
      return absl::InvalidArgumentError(
          "is not a valid ONNX file: it is larger than 2 GB, the limit of protobuf; large "
          "models keep their weights as external data");
    pb::io::FileInputStream stream(file.descriptor(), 1 << 20);
    if (!parseStream(stream, options.limits, *program->proto) || !program->proto->has_graph())
      return notOnnx({first, static_cast<size_t>(firstSize)}, file.size() == 0);
    return program->initialize(options);
  }();
  if (!status.ok())
    return WithContext(path, status);
  return std::shared_ptr<const Program>(std::move(program));
}

absl::StatusOr<std::shared_ptr<const Program>> Program::parse(std::string_view bytes, const std::string &folder,
                                                              const LoadOptions &options) {
  std::shared_ptr<Program> program(new Program);
  program->external = std::make_unique<ExternalFiles>(folder, "", options.externalDataRoots);
  program->memoryHash = hashBytes(bytes);
  if (bytes.size() >= size_t{1} << 31)
    return absl::InvalidArgumentError("the model is larger than 2 GB, the limit of protobuf");
  pb::io::ArrayInputStream stream(bytes.data(), bytes.size());
  if (!parseStream(stream, options.limits, *program->proto) || !program->proto->has_graph())
    return WithContext("the model", notOnnx(bytes.substr(0, 512), bytes.empty()));
  TCC_RETURN_IF_ERROR(program->initialize(options));
  return std::shared_ptr<const Program>(std::move(program));
}

static ValueInfo::Kind kindOf(const ::onnx::TypeProto &type) {
  switch (type.value_case()) {
  case ::onnx::TypeProto::kTensorType:
    return ValueInfo::Kind::Tensor;
  case ::onnx::TypeProto::kSequenceType:
    return ValueInfo::Kind::Sequence;
  case ::onnx::TypeProto::kOptionalType:
    return ValueInfo::Kind::Optional;
  case ::onnx::TypeProto::kMapType:
    return ValueInfo::Kind::Map;
  case ::onnx::TypeProto::kSparseTensorType:
    return ValueInfo::Kind::SparseTensor;
  case ::onnx::TypeProto::kOpaqueType:
    return ValueInfo::Kind::Opaque;
  default:
    return ValueInfo::Kind::Unknown;
  }
}

ValueInfo toValueInfo(const ::onnx::ValueInfoProto &proto) {
  ValueInfo info;
  info.name = proto.name();
  info.kind = kindOf(proto.type());
  const ::onnx::TypeProto *type = &proto.type();
  while (type->has_sequence_type() || type->has_optional_type())
    type = type->has_sequence_type() ? &type->sequence_type().elem_type() : &type->optional_type().elem_type();
  if (!type->has_tensor_type())
    return info;
  info.dtype = dtypeOf(type->tensor_type().elem_type());
  info.hasShape = type->tensor_type().has_shape();
  for (const auto &dim : type->tensor_type().shape().dim()) {
    Dim d;
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      d.value = dim.dim_value();
    else
      d.param = dim.dim_param();
    info.dims.push_back(std::move(d));
  }
  return info;
}

absl::Status Program::initialize(const LoadOptions &options) {
  loadLimits = options.limits;
  ::onnx::ModelProto &model = *proto;
  if (model.ir_version() < 3)
    return absl::InvalidArgumentError(
        absl::StrCat("has ONNX IR version ", model.ir_version(),
                     "; 3 is the oldest supported: convert it with a newer onnx package"));
  if (model.ir_version() > kMaxIrVersion)
    return absl::UnimplementedError(absl::StrCat("has ONNX IR version ", model.ir_version(),
                                                 ", newer than the newest supported, ", kMaxIrVersion,
                                                 "; export it for an older version, or use a newer tcc"));
  for (const auto &import : model.opset_import())
    opsets[std::string(canonicalDomain(import.domain()))] = import.version();
  if (opsets.empty())
    return absl::InvalidArgumentError("imports no op set; IR version 3 and newer must");
  if (opsetVersion("") > kMaxOpset)
    return absl::UnimplementedError(absl::StrCat("uses ONNX op set ", opsetVersion(""),
                                                 ", newer than the newest supported, ", kMaxOpset,
                                                 "; export it for an older op set, or use a newer tcc"));
  TCC_RETURN_IF_ERROR(sortNodes(model));
  if (options.check)
    TCC_RETURN_IF_ERROR(options.check(model));
  TCC_RETURN_IF_ERROR(validateModel(model, loadLimits, *external));
  TCC_RETURN_IF_ERROR(inlineFunctions(model, opsets, loadLimits));
  nameNodes(*model.mutable_graph());

  std::map<std::string_view, int> initializers;
  for (const auto &tensor : model.graph().initializer())
    initializers[tensor.name()];
  for (const auto &tensor : model.graph().sparse_initializer())
    initializers[tensor.values().name()];
  for (const auto &input : model.graph().input()) {
    bool hasDefault = initializers.count(input.name()) != 0;
    if (hasDefault && model.ir_version() < 4)
      continue;
    graphInputs.push_back(toValueInfo(input));
    graphInputs.back().hasDefault = hasDefault;
  }
  for (const auto &output : model.graph().output())
    graphOutputs.push_back(toValueInfo(output));
  return absl::OkStatus();
}

int64_t Program::opsetVersion(std::string_view domain) const {
  auto it = opsets.find(canonicalDomain(domain));
  return it == opsets.end() ? 0 : it->second;
}

int64_t Program::opsetVersion(const ::onnx::NodeProto &node) const {
  for (const auto &entry : node.metadata_props()) {
    int64_t version = 0;
    if (entry.key() == opsetMetadataKey &&
        std::from_chars(entry.value().data(), entry.value().data() + entry.value().size(), version).ec == std::errc())
      return version;
  }
  return opsetVersion(node.domain());
}

absl::StatusOr<Tensor> Program::tensor(const ::onnx::TensorProto &tensor) const {
  std::optional<std::string_view> bytes;
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) {
    TCC_ASSIGN_OR_RETURN(bytes, external->bytes(tensor));
  }
  return toTensor(tensor, bytes, shared_from_this());
}

absl::StatusOr<Tensor> Program::tensor(const ::onnx::SparseTensorProto &tensor) const {
  return toTensor(tensor, loadLimits.denseBytes);
}

void Program::dropPages() const {
  for (const auto &[location, entry] : external->files())
    entry.mapping->dropPages();
}

std::vector<std::string> Program::externalFiles() const {
  std::vector<std::string> result;
  for (const auto &[location, entry] : external->files())
    result.push_back(entry.file->resolvedPath());
  return result;
}

absl::StatusOr<std::string> Program::contentHash() const {
  std::vector<std::string> hashes;
  if (file) {
    TCC_ASSIGN_OR_RETURN(hashes.emplace_back(), hashFile(*file));
  } else {
    hashes.push_back(memoryHash);
  }
  for (const auto &[location, entry] : external->files()) {
    hashes.push_back(hashBytes(location));
    TCC_ASSIGN_OR_RETURN(hashes.emplace_back(), hashFile(*entry.file));
  }
  return combineHashes(hashes);
}

std::string ValueInfo::toString() const {
  static constexpr const char *kKinds[] = {"tensor",        "sequence", "optional", "map",
                                           "sparse tensor", "opaque",   "unknown"};
  std::string text = absl::StrCat(name, ": ");
  if (kind != Kind::Tensor)
    absl::StrAppend(&text, kKinds[static_cast<int>(kind)], " ");
  std::string_view dtypeName = DTypeName(dtype);
  absl::StrAppend(&text, absl::string_view(dtypeName.data(), dtypeName.size()));
  if (!hasShape)
    return text;
  text += "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    absl::StrAppend(&text, i ? "," : "");
    if (dims[i].value >= 0)
      absl::StrAppend(&text, dims[i].value);
    else
      absl::StrAppend(&text, dims[i].param.empty() ? "?" : dims[i].param);
  }
  return text + "]";
}

} // namespace tcc::onnx
