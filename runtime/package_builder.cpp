#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "nlohmann/json.hpp"
#include "runtime/devices/extern/call_descriptor.h"
#include "runtime/hash.h"
#include "runtime/package.h"
#include "runtime/plan_json.h"
#include "runtime/signature_json.h"
#include "runtime/status.h"

namespace tcc {
namespace {

using Json = nlohmann::json;

// Mapped constants may be read up to a vector past their end.
constexpr int64_t kSlack = 64;

std::string HashPieces(const Specialisation& specialisation) {
  Hasher hasher;
  int64_t done = 0;
  for (const BytePiece& piece : specialisation.constants) {
    hasher.UpdateZeros(piece.offset - done);
    hasher.Update(piece.bytes);
    done = piece.offset + static_cast<int64_t>(piece.bytes.size());
  }
  hasher.UpdateZeros(specialisation.constants_bytes - done);
  return hasher.Hex();
}

absl::Status CheckPieces(const Specialisation& specialisation) {
  int64_t done = 0;
  for (const BytePiece& piece : specialisation.constants) {
    const auto size = static_cast<int64_t>(piece.bytes.size());
    if (piece.offset < done || piece.offset > specialisation.constants_bytes ||
        size > specialisation.constants_bytes - piece.offset) {
      return absl::InvalidArgumentError(absl::StrCat("package: constants overlap, or lie outside their size: ", size,
                                                     " bytes at ", piece.offset, " after ", done, " of ",
                                                     specialisation.constants_bytes));
    }
    done = piece.offset + size;
  }
  return absl::OkStatus();
}

absl::Status WriteToStore(const std::string& folder, const std::string& hash, const Specialisation& specialisation) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, folder, "create");
  const std::string path = absl::StrCat(folder, "/", hash, ".bin");
  struct stat info;
  // (One of another user is replaced.)
  if (stat(path.c_str(), &info) == 0 && info.st_size == specialisation.constants_bytes + kSlack &&
      info.st_uid == geteuid()) {
    return absl::OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  int64_t done = 0;
  for (const BytePiece& piece : specialisation.constants) {
    // A gap reads as zeros.
    if (piece.offset != done && lseek(file.file().get(), piece.offset, SEEK_SET) < 0)
      return ErrnoStatus(errno, path, "write");
    TCC_RETURN_IF_ERROR(file.file().Write(piece.bytes));
    done = piece.offset + static_cast<int64_t>(piece.bytes.size());
  }
  if (ftruncate(file.file().get(), specialisation.constants_bytes + kSlack) != 0)
    return ErrnoStatus(errno, path, "write");
  return file.Commit();
}

// Writes the kernels of one package after another, each piece of bytes once.
class ImageWriter {
 public:
  explicit ImageWriter(ZipWriter& zip) : zip_(zip) {}

  bool any() const { return !written_.empty(); }

  // One specialisation's entries for the manifest.
  absl::StatusOr<Json> Add(const std::vector<KernelImage>& images) {
    Json list = Json::array();
    std::set<std::string_view> symbols;
    for (const KernelImage& image : images) {
      if (image.symbol.empty() || !symbols.insert(image.symbol).second) {
        return absl::InvalidArgumentError(absl::StrCat("package: two kernels '", image.symbol, "'"));
      }
      Hasher hasher;
      hasher.UpdatePart(image.source);
      for (const auto& [arch, bytes] : image.binaries) {
        hasher.UpdatePart(arch);
        hasher.UpdatePart(bytes);
      }
      const std::string stem = absl::StrCat("code/", hasher.Hex(), ".");
      TCC_ASSIGN_OR_RETURN(Json source, Entry(stem + "cu", image.source));
      Json json = {{"symbol", image.symbol}, {"source", std::move(source)}, {"binaries", Json::object()}};
      for (const auto& [arch, bytes] : image.binaries) {
        if (arch.empty() || arch.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) {
          return absl::InvalidArgumentError(
              absl::StrCat("package: kernel '", image.symbol, "': '", arch, "' is no architecture"));
        }
        TCC_ASSIGN_OR_RETURN(json["binaries"][arch], Entry(absl::StrCat(stem, arch, Extension(arch)), bytes));
      }
      list.push_back(std::move(json));
    }
    return list;
  }

 private:
  static const char* Extension(std::string_view arch) {
    if (arch == "sim") return ".so";
    const auto& libraries = devices::kLibraries;
    if (std::find(libraries.begin(), libraries.end(), arch) != libraries.end()) return ".json";
    return arch.rfind("compute_", 0) == 0 ? ".ptx" : ".cubin";
  }
  absl::StatusOr<Json> Entry(const std::string& name, std::string_view bytes) {
    if (written_.insert(name).second) TCC_RETURN_IF_ERROR(zip_.Add(name, bytes, 64));
    return Json{{"entry", name}, {"bytes", bytes.size()}, {"xxh128", Hash128(bytes)}};
  }

  ZipWriter& zip_;
  std::set<std::string> written_;
};

Json TargetToJson(const CodeTarget& target) {
  return {{"kind", target.kind}, {"arch", target.arch}, {"name", target.name}, {"features", target.features}};
}

}  // namespace

absl::Status PackageBuilder::Write(const std::string& path, const WriteOptions& write_options) const {
  TCC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  ZipWriter zip(file.file());
  Json list = Json::array();
  ImageWriter images(zip);
  std::map<std::string, bool> written;  // constants already in the package or the store
  for (size_t i = 0; i < specialisations.size(); ++i) {
    const Specialisation& one = specialisations[i];
    TCC_RETURN_IF_ERROR(ValidatePlan(one.plan));
    TCC_RETURN_IF_ERROR(CheckPieces(one));
    Json json = {
        {"signature", SignatureToJson(one.signature)}, {"target", TargetToJson(one.target)}, {"info", one.info}};
    const auto add = [&](const char* what, const std::string& entry, std::string_view bytes, int64_t alignment) {
      json[what] = {{"entry", entry}, {"bytes", bytes.size()}, {"xxh128", Hash128(bytes)}};
      return zip.Add(entry, bytes, alignment);
    };
    TCC_RETURN_IF_ERROR(add("plan", absl::StrCat("plan/", i, ".json"), PlanToJson(one.plan), 64));
    if (!one.code.empty()) TCC_RETURN_IF_ERROR(add("code", absl::StrCat("code/", i, ".so"), one.code, 64));
    if (!one.images.empty()) {
      TCC_ASSIGN_OR_RETURN(json["kernels"], images.Add(one.images));
    }
    if (one.constants_bytes > 0) {
      const std::string hash = HashPieces(one);
      const bool store = !write_options.constant_store.empty() && one.constants_bytes >= write_options.store_threshold;
      json["constants"] = {{"xxh128", hash}, {"bytes", one.constants_bytes}, {"stored", store}};
      if (written.emplace(hash, true).second) {
        TCC_RETURN_IF_ERROR(store ? WriteToStore(write_options.constant_store, hash, one)
                                  : zip.Add(absl::StrCat("constants/", hash, ".bin"), one.constants,
                                            one.constants_bytes + kSlack, 4096));
      }
    }
    list.push_back(std::move(json));
  }
  for (const auto& [name, text] : dumps) TCC_RETURN_IF_ERROR(zip.Add(absl::StrCat("dump/", name), text));
  const int64_t minor = images.any() ? 1 : 0;
  const Json manifest = {{"format", {kPackageMajor, minor}},
                         {"kernel_abi", kKernelAbiVersion},
                         {"tcc", tcc_version},
                         {"options", options},
                         {"specialisations", std::move(list)}};
  TCC_RETURN_IF_ERROR(zip.Add("manifest.json", manifest.dump(1, ' ', false, Json::error_handler_t::replace)));
  TCC_RETURN_IF_ERROR(zip.Finish());
  return file.Commit();
}

}  // namespace tcc
