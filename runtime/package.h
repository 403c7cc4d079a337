// Packages (`.tcc`): compiled models on disk.
//
// A package is a zip archive of stored, aligned entries:
//   plan/N.json        the plan of specialisation N (plan_json.h)
//   code/N.so          its machine code; absent where the plan launches nothing on the host
//   code/HASH.cu, code/HASH.sm_90a.cubin, code/HASH.compute_90.ptx, code/HASH.sim.so
//                      kernels for a device, source and binaries, named by their content, so that specialisations
//                      share them
//   constants/HASH.bin constants, named by their content, so that specialisations share them; large ones may be kept
//   beside
//                      the package in a constant store, a folder of such files
//   dump/...           optional: IR for people
//   manifest.json      what is in it: format, signatures, targets, options, checksums
// A package is executable code: load only those from people you trust. Checksums find accidents, not attacks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor.h"
#include "runtime/file_util.h"
#include "runtime/kernel_image.h"
#include "runtime/plan.h"
#include "runtime/signature.h"
#include "runtime/zip.h"

namespace tcc {

// Readers accept their own major format and minors up to their own. A package is written with the lowest minor that has
// what is in it. 1: kernels for devices.
inline constexpr int64_t kPackageMajor = 1;
inline constexpr int64_t kPackageMinor = 1;

// What code was made for.
struct CodeTarget {
  std::string kind = "cpu";           // "cpu", "cuda", "cuda-sim"
  std::string arch;                   // "x86_64"; of a device "sm_90a", "sim"
  std::string name;                   // as the user gave it ("cpu:x86-64-v3"), or empty
  std::vector<std::string> features;  // that a machine must have (cpu_features.h)
  bool operator==(const CodeTarget&) const = default;
};

// FailedPrecondition, with what is missing, where this machine cannot run code for `target`: of a device, that it is
// not there (whether there is code for it the kernels tell). `device`: as OpenOptions have it.
absl::Status CheckTarget(const CodeTarget& target, const std::string& device = "");

// One compiled variant of a model, as written to a package. The pieces' bytes must live until Write.
struct Specialisation {
  Signature signature;
  CodeTarget target;
  Plan plan;
  std::string code;
  std::vector<KernelImage> images;          // for the device of the target
  std::vector<BytePiece> constants;         // ascending, at 64-byte aligned offsets
  int64_t constants_bytes = 0;              // the size of the whole
  std::map<std::string, std::string> info;  // for people and for `tcc explain`: free-form
};

class PackageBuilder {
 public:
  // Options it was compiled with, and anything else about the whole package.
  std::map<std::string, std::string> options;
  std::string tcc_version;
  std::vector<Specialisation> specialisations;
  std::map<std::string, std::string> dumps;  // "0/kernels.mlir" -> text

  struct WriteOptions {
    // Where constants of at least `store_threshold` bytes go (created if need be); empty: all into the package.
    std::string constant_store;
    int64_t store_threshold = int64_t{1} << 20;
  };
  // Replaces `path` atomically.
  absl::Status Write(const std::string& path, const WriteOptions& options) const;
  absl::Status Write(const std::string& path) const { return Write(path, WriteOptions()); }
};

// An opened package: mapped, immutable, thread-safe.
class Package {
 public:
  struct OpenOptions {
    std::string constant_store = {};  // where constants are looked for that are not in the package
    bool only_ours = false;           // the file of another user is PermissionDenied
    // Where kernels for a device run (devices::DeviceFor): "cuda:1", "null"; empty: devices::DefaultDevice.
    std::string device = {};
  };
  // Maps the file and its constants, which may then be removed from the disk, and verifies the directory, the manifest,
  // and the checksums of plans and code (constants: VerifyConstants). Any damage is an error: InvalidArgument (not a
  // package, truncated, altered), FailedPrecondition (another format version, or its constants are not in the store),
  // NotFound. Constants in the store that belong to another user are not in it.
  static absl::StatusOr<std::shared_ptr<const Package>> Open(const std::string& path, const OpenOptions& options);
  static absl::StatusOr<std::shared_ptr<const Package>> Open(const std::string& path) {
    return Open(path, OpenOptions());
  }

  const std::string& path() const { return path_; }
  const std::string& tcc_version() const { return tcc_version_; }
  const std::map<std::string, std::string>& options() const { return options_; }
  int size() const { return static_cast<int>(entries_.size()); }
  const Signature& signature(int i) const { return entries_[static_cast<size_t>(i)].signature; }
  const CodeTarget& target(int i) const { return entries_[static_cast<size_t>(i)].target; }
  const std::map<std::string, std::string>& info(int i) const { return entries_[static_cast<size_t>(i)].info; }
  // Bytes of constants of a specialisation, and the file of the constant store they are in (empty: in the package).
  int64_t constants_bytes(int i) const { return entries_[static_cast<size_t>(i)].constants_bytes; }
  std::string constants_file(int i) const;

  // The first specialisation, at or after `first`, that this machine can run and whose guards the inputs satisfy, with
  // its symbols. InvalidArgument with the reason of each if there is none.
  absl::StatusOr<int> Select(absl::Span<const Tensor> inputs, std::vector<int64_t>* symbols, int first = 0) const;

  // The same before there are tensors: see CheckGuards.
  absl::StatusOr<int> Select(absl::Span<const TensorType> types,
                             const std::map<std::string, std::vector<int64_t>>& values) const;

  absl::StatusOr<Plan> ReadPlan(int i) const;
  // The code object's bytes.
  std::string_view code(int i) const { return entries_[static_cast<size_t>(i)].code; }
  // Kernels for the device, by symbol. The bytes live as long as the package.
  const std::vector<KernelImageView>& images(int i) const { return entries_[static_cast<size_t>(i)].images; }
  // Checks the target, parses the plan, loads the code, maps the constants. The package lives as long as the plan. On
  // which device a plan for one runs: that of the options, else that the package was opened for; the images are the
  // package's.
  static absl::StatusOr<std::shared_ptr<const PreparedPlan>> Prepare(std::shared_ptr<const Package> package, int i,
                                                                     const PreparedPlan::Options& options = {});
  // Reads all constants: InvalidArgument where they are not what was written.
  absl::Status VerifyConstants() const;

  // A dump, by the name it was given.
  absl::StatusOr<std::string_view> Dump(const std::string& name) const;
  std::vector<std::string> DumpNames() const;

 private:
  friend class PackageReader;
  struct Constants {
    std::shared_ptr<const void> owner;
    std::string_view bytes;
  };
  struct Entry {
    // Found to run here: not asked again. (What is missing now may be there later.)
    std::unique_ptr<std::atomic<bool>> runs = std::make_unique<std::atomic<bool>>(false);
    Signature signature;
    CodeTarget target;
    std::map<std::string, std::string> info;
    std::string_view plan;
    std::string_view code;
    std::vector<KernelImageView> images;
    std::string constants_hash;  // empty: none
    int64_t constants_bytes = 0;
    bool stored = false;  // in the constant store
    Constants constants;  // mapped
  };
  // Whether the machine, or the device, can run a specialisation.
  absl::Status Runs(int i) const;
  absl::StatusOr<int> SelectWhere(int first, const std::function<absl::Status(const Signature&)>& check) const;

  Package() = default;
  absl::StatusOr<Constants> MapConstants(const Entry& entry) const;

  std::string path_, constant_store_, device_, tcc_version_;
  std::map<std::string, std::string> options_;
  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
  std::vector<Entry> entries_;
};

}  // namespace tcc
