#include "runtime/package.h"

#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "runtime/cpu_features.h"
#include "runtime/devices/images.h"
#include "runtime/devices/registry.h"
#include "runtime/hash.h"
#include "runtime/plan_json.h"
#include "runtime/signature_json.h"
#include "runtime/status.h"

namespace tcc {
namespace {

using Json = nlohmann::json;
constexpr int64_t kSlack = 64;  // behind constants, see package_builder.cpp

// Where code for `target` runs; `chosen`: empty where nobody chose.
absl::StatusOr<std::shared_ptr<devices::ComputeDevice>> DeviceOf(const CodeTarget& target, const std::string& chosen) {
  return chosen.empty() ? devices::DefaultDevice(target.kind) : devices::DeviceFor(chosen);
}

}  // namespace

absl::Status CheckTarget(const CodeTarget& target, const std::string& chosen) {
  if (target.kind == "cuda" || target.kind == "cuda-sim") {
    const auto device = DeviceOf(target, chosen);
    if (device.ok()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("made for ", target.kind, " (", target.arch, "): ", device.status().message()));
  }
  if (target.kind != "cpu") {
    return absl::FailedPreconditionError(absl::StrCat("made for '", target.kind, "', which this runtime does not run"));
  }
  if (!chosen.empty() && chosen != "cpu") {
    return absl::FailedPreconditionError(absl::StrCat(
        "made for the CPU, and '", chosen, "' was asked for: compile for it (--target=cuda), or choose no device"));
  }
  if (target.arch != HostArch()) {
    return absl::FailedPreconditionError(absl::StrCat("made for ", target.arch, ", this machine is ",
                                                      std::string(HostArch()), ": compile for this machine"));
  }
  const std::vector<std::string> missing = MissingCpuFeatures(target.features);
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("made for a CPU with ", absl::StrJoin(missing, ", "),
                                                    ", which this machine lacks: compile for this machine"));
}

class PackageReader {
 public:
  explicit PackageReader(Package& package) : package_(package) {}

  absl::Status Read() {
    TCC_ASSIGN_OR_RETURN(package_.zip_, ZipReader::Open(package_.file_->bytes()));
    if (!package_.zip_.Has("manifest.json"))
      return absl::InvalidArgumentError("not a tcc package: it has no manifest.json");
    TCC_ASSIGN_OR_RETURN(const std::string_view text, package_.zip_.CheckedBytes("manifest.json"));
    const Json manifest = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (manifest.is_discarded()) return absl::InvalidArgumentError("manifest: not JSON");
    TCC_RETURN_IF_ERROR(CheckVersions(manifest));
    package_.tcc_version_ = reader_.String(manifest, "tcc");
    package_.options_ = Texts(manifest, "options");
    package_.entries_ = reader_.List(manifest, "specialisations", [&](const Json& json) { return ReadEntry(json); });
    if (package_.entries_.empty()) reader_.Fail("no specialisations");
    TCC_RETURN_IF_ERROR(reader_.status("manifest"));
    return damage_;
  }

 private:
  absl::Status CheckVersions(const Json& manifest) {
    const std::vector<int64_t> format = reader_.Ints(manifest, "format");
    const int64_t abi = reader_.Int(manifest, "kernel_abi");
    if (reader_.ok() && format.size() != 2) reader_.Fail("format is not [major, minor]");
    TCC_RETURN_IF_ERROR(reader_.status("manifest"));
    if (format[0] != kPackageMajor || format[1] > kPackageMinor || abi != kKernelAbiVersion) {
      return absl::FailedPreconditionError(absl::StrCat(
          "package format ", format[0], ".", format[1], ", kernel ABI ", abi, "; this tcc reads ", kPackageMajor, ".",
          kPackageMinor, ", kernel ABI ", kKernelAbiVersion, ": compile the model again, or use the tcc that made it"));
    }
    return absl::OkStatus();
  }

  std::map<std::string, std::string> Texts(const Json& object, const char* name) {
    const JsonReader::Scope scope(reader_, name);
    std::map<std::string, std::string> texts;
    const Json& json = reader_.Field(object, name);
    if (!json.is_object()) {
      reader_.Fail("expected an object");
      return texts;
    }
    for (const auto& [key, value] : json.items()) texts[key] = reader_.AsString(value);
    return texts;
  }

  // The bytes of an entry that the manifest describes, verified.
  std::string_view Checked(const Json& object, const char* name) {
    const JsonReader::Scope scope(reader_, name);
    return Checked(reader_.Field(object, name));
  }
  std::string_view Checked(const Json& json) {
    const std::string entry = reader_.String(json, "entry"), hash = reader_.String(json, "xxh128");
    const int64_t size = reader_.Int(json, "bytes", 0);
    if (!reader_.ok()) return {};
    const absl::StatusOr<std::string_view> bytes = package_.zip_.Bytes(entry);
    if (!bytes.ok() || static_cast<int64_t>(bytes->size()) != size || Hash128(*bytes) != hash) {
      if (damage_.ok())
        damage_ = absl::InvalidArgumentError(absl::StrCat("package: entry '", entry, "' is missing or corrupt"));
      return {};
    }
    return *bytes;
  }

  KernelImageView ReadImage(const Json& json) {
    KernelImageView image;
    image.symbol = reader_.String(json, "symbol");
    image.source = Checked(json, "source");
    const JsonReader::Scope scope(reader_, "binaries");
    const Json& binaries = reader_.Field(json, "binaries");
    if (!binaries.is_object()) reader_.Fail("expected an object");
    if (!reader_.ok()) return image;
    for (const auto& [arch, entry] : binaries.items()) {
      const JsonReader::Scope arch_scope(reader_, absl::string_view(arch));
      image.binaries[arch] = Checked(entry);
    }
    return image;
  }

  Package::Entry ReadEntry(const Json& json) {
    Package::Entry entry;
    {
      const JsonReader::Scope scope(reader_, "signature");
      entry.signature = SignatureFromJson(reader_, reader_.Field(json, "signature"));
    }
    {
      const JsonReader::Scope scope(reader_, "target");
      const Json& target = reader_.Field(json, "target");
      entry.target = {reader_.String(target, "kind"), reader_.String(target, "arch"), reader_.String(target, "name"),
                      reader_.Strings(target, "features")};
    }
    entry.info = Texts(json, "info");
    entry.plan = Checked(json, "plan");
    if (JsonReader::Has(json, "code")) entry.code = Checked(json, "code");
    if (JsonReader::Has(json, "kernels")) {
      entry.images = reader_.List(json, "kernels", [&](const Json& image) { return ReadImage(image); });
    }
    if (JsonReader::Has(json, "constants")) {
      const JsonReader::Scope scope(reader_, "constants");
      const Json& constants = reader_.Field(json, "constants");
      entry.constants_hash = reader_.String(constants, "xxh128");
      entry.constants_bytes = reader_.Int(constants, "bytes", 1, int64_t{1} << 56);
      entry.stored = reader_.Bool(constants, "stored");
      // The hash becomes a file name.
      if (reader_.ok() && !IsHash128(entry.constants_hash)) reader_.Fail("not a hash");
      if (reader_.ok() && !entry.stored) {
        const auto bytes = package_.zip_.Bytes(absl::StrCat("constants/", entry.constants_hash, ".bin"));
        if (!bytes.ok() || static_cast<int64_t>(bytes->size()) != entry.constants_bytes + kSlack) {
          reader_.Fail("the entry is missing, or of another size");
        }
      }
    }
    return entry;
  }

  Package& package_;
  JsonReader reader_;
  absl::Status damage_;
};

absl::StatusOr<std::shared_ptr<const Package>> Package::Open(const std::string& path, const OpenOptions& options) {
  std::shared_ptr<Package> package(new Package);
  package->path_ = path;
  package->constant_store_ = options.constant_store;
  package->device_ = options.device;
  TCC_ASSIGN_OR_RETURN(package->file_, options.only_ours ? MappedFile::OpenOurs(path) : MappedFile::Open(path));
  TCC_RETURN_IF_ERROR(WithContext(path, PackageReader(*package).Read()));
  for (Entry& entry : package->entries_) {
    TCC_ASSIGN_OR_RETURN(entry.constants, package->MapConstants(entry));
  }
  return std::shared_ptr<const Package>(std::move(package));
}

std::string Package::constants_file(int i) const {
  const Entry& entry = entries_[static_cast<size_t>(i)];
  return entry.stored ? absl::StrCat(constant_store_, "/", entry.constants_hash, ".bin") : "";
}

absl::StatusOr<int> Package::Select(absl::Span<const Tensor> inputs, std::vector<int64_t>* symbols, int first) const {
  return SelectWhere(first, [&](const Signature& signature) { return CheckGuards(signature, inputs, symbols); });
}

absl::StatusOr<int> Package::Select(absl::Span<const TensorType> types,
                                    const std::map<std::string, std::vector<int64_t>>& values) const {
  return SelectWhere(0, [&](const Signature& signature) { return CheckGuards(signature, types, values); });
}

absl::StatusOr<int> Package::SelectWhere(int first, const std::function<absl::Status(const Signature&)>& check) const {
  std::vector<std::string> reasons;
  absl::Status last;
  for (int i = first; i < size(); ++i) {
    last = Runs(i);
    if (last.ok()) last = check(signature(i));
    if (last.ok()) return i;
    reasons.push_back(std::string(last.message()));
  }
  if (reasons.size() == 1) return last;
  return absl::InvalidArgumentError(
      absl::StrCat("no specialisation of ", path_, " fits: ", absl::StrJoin(reasons, "; ")));
}

absl::Status Package::Runs(int i) const {
  const Entry& entry = entries_[static_cast<size_t>(i)];
  if (entry.images.empty()) return CheckTarget(entry.target, device_);
  // (Asked for at each call, and all kernels are looked at.)
  if (*entry.runs) return absl::OkStatus();
  TCC_RETURN_IF_ERROR(CheckTarget(entry.target, device_));
  TCC_ASSIGN_OR_RETURN(const std::shared_ptr<devices::ComputeDevice> device, DeviceOf(entry.target, device_));
  const bool compiles = devices::RegisteredImageCompiler() != nullptr;
  for (const KernelImageView& image : entry.images) {
    if (compiles && !image.source.empty()) continue;
    TCC_RETURN_IF_ERROR(devices::ChooseBinary(*device, image).status());
  }
  *entry.runs = true;
  return absl::OkStatus();
}

absl::StatusOr<Plan> Package::ReadPlan(int i) const {
  absl::StatusOr<Plan> plan = PlanFromJson(entries_[static_cast<size_t>(i)].plan);
  if (!plan.ok()) return WithContext(path_, plan.status());
  const Signature& declared = signature(i);
  if (plan->inputs.size() != declared.inputs.size() || plan->outputs.size() != declared.outputs.size() ||
      plan->symbol_registers.size() != declared.symbols.size()) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": plan and signature differ in inputs, outputs or symbols"));
  }
  return plan;
}

absl::StatusOr<Package::Constants> Package::MapConstants(const Entry& entry) const {
  if (entry.constants_hash.empty()) return Constants{};
  const auto size = static_cast<size_t>(entry.constants_bytes);
  if (!entry.stored) {
    TCC_ASSIGN_OR_RETURN(const std::string_view bytes,
                         zip_.Bytes(absl::StrCat("constants/", entry.constants_hash, ".bin")));
    if (reinterpret_cast<uintptr_t>(bytes.data()) % 64 != 0) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": constants are not aligned (was it zipped again?)"));
    }
    return Constants{file_, bytes.substr(0, size)};
  }
  const std::string path = absl::StrCat(constant_store_, "/", entry.constants_hash, ".bin");
  const auto file = MappedFile::OpenOurs(path);
  if (absl::IsPermissionDenied(file.status())) {
    return absl::FailedPreconditionError(absl::StrCat(path_, ": its constants: ", file.status().message()));
  }
  if (!file.ok() || (*file)->bytes().size() != size + kSlack) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": its constants are not in the constant store (", path, ")"));
  }
  return Constants{*file, (*file)->bytes().substr(0, size)};
}

absl::StatusOr<std::shared_ptr<const PreparedPlan>> Package::Prepare(std::shared_ptr<const Package> package, int i,
                                                                     const PreparedPlan::Options& options) {
  const Entry& entry = package->entries_[static_cast<size_t>(i)];
  if (options.device == nullptr || entry.target.kind == "cpu") {
    TCC_RETURN_IF_ERROR(WithContext(package->path_, CheckTarget(entry.target, package->device_)));
  }
  TCC_ASSIGN_OR_RETURN(Plan plan, package->ReadPlan(i));
  std::shared_ptr<const CodeObject> code;
  if (!entry.code.empty()) {
    TCC_ASSIGN_OR_RETURN(code, CodeObject::Load(entry.code, absl::StrCat(package->path_, "#", i)));
  }
  PreparedPlan::Options with_device = options;
  if (entry.target.kind != "cpu") {
    if (with_device.device == nullptr) {
      TCC_ASSIGN_OR_RETURN(with_device.device, DeviceOf(entry.target, package->device_));
    }
    with_device.images = entry.images;
    // Of specialisations in packages of their own. (A file of the store is ours, and named by its content.)
    if (entry.stored) with_device.constants_identity = absl::StrCat("in ", package->constants_file(i));
  }
  const std::string_view bytes = entry.constants.bytes;
  return PreparedPlan::Create(std::move(plan), std::move(code), bytes, std::move(package), with_device);
}

absl::Status Package::VerifyConstants() const {
  for (const Entry& entry : entries_) {
    if (!entry.constants_hash.empty() && Hash128(entry.constants.bytes) != entry.constants_hash) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": constants ", entry.constants_hash, " are corrupt"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> Package::Dump(const std::string& name) const {
  return zip_.CheckedBytes(absl::StrCat("dump/", name));
}

std::vector<std::string> Package::DumpNames() const {
  std::vector<std::string> names;
  for (const std::string& name : zip_.Names()) {
    if (name.rfind("dump/", 0) == 0) names.push_back(name.substr(5));
  }
  return names;
}

}  // namespace tcc
