//===- KernelCompiler.cpp --------------------------------------------------===//
#include "codegen/cuda/compile/KernelCompiler.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "codegen/cuda/compile/CompileLog.h"
#include "codegen/cuda/compile/Cubin.h"
#include "codegen/cuda/compile/CudaFiles.h"
#include "codegen/cuda/compile/KernelEntry.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "codegen/cuda/compile/PrivateFolder.h"
#include "codegen/cuda/compile/SimCompiler.h"
#include "codegen/cuda/device/DeviceLibrary.h"
#include "runtime/cache.h"
#include "runtime/cpu_count.h"
#include "runtime/devices/cuda_arch.h"
#include "runtime/file_util.h"
#include "runtime/logs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace tcc::codegen {
namespace {

/// Of kernels that do not compile, so many are shown.
constexpr size_t kMaxErrors = 3;
/// From so many kernels on, compiling what they include first pays.
constexpr size_t kMinKernelsForHeader = 2;

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.str().c_str());
}

absl::Status toStatus(llvm::Error error) { return absl::InternalError(llvm::toString(std::move(error))); }

bool isVirtual(llvm::StringRef arch) { return arch.starts_with("compute_"); }

std::string list(llvm::ArrayRef<int> numbers) {
  std::string text;
  for (int number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

bool simIsChecked(const CompileOptions &options) {
  const char *variable = std::getenv("TCC_SIM_CHECKED");
  return options.simChecked.value_or(variable != nullptr && llvm::StringRef(variable) == "1");
}

bool warningsAreErrors(const CompileOptions &options) {
  const char *variable = std::getenv("TCC_KERNEL_WARNINGS");
  return options.warningsAreErrors.value_or(variable != nullptr && llvm::StringRef(variable) == "error");
}

} // namespace

int computeCapabilityOf(llvm::StringRef arch) {
  const std::optional<devices::CudaArch> parsed = devices::ParseCudaArch(std::string_view(arch.data(), arch.size()));
  return parsed ? parsed->compute_capability : 0;
}

struct KernelCompiler::Impl {
  explicit Impl(CompileOptions given) : options(std::move(given)) {
    if (options.deviceLibrary.empty()) {
      for (const DeviceFile &file : deviceLibrary())
        headers.push_back(
            {llvm::StringRef(file.name.data(), file.name.size()), llvm::StringRef(file.text.data(), file.text.size())});
      libraryHash = std::string(deviceLibraryHash());
    } else {
      headers = options.deviceLibrary.vec();
      std::vector<std::string> parts;
      for (const DeviceHeader &header : headers)
        parts.insert(parts.end(), {header.name.str(), header.text.str()});
      libraryHash = ArtifactCache::Key(parts);
    }
    for (const DeviceHeader &header : headers)
      if (std::string name = cudaHeaderIn(header.text); !name.empty())
        libraryCudaHeader = name;
  }

  // --- What compiles ---

  llvm::Expected<std::string> nvrtcFile() {
    std::lock_guard<std::mutex> lock(mutex);
    if (nvrtcPath.empty()) {
      llvm::Expected<std::string> found = findNvrtc(options.nvrtc);
      if (!found)
        return found.takeError();
      nvrtcPath = *found;
    }
    return nvrtcPath;
  }

  llvm::Expected<const Nvrtc *> nvrtc() {
    llvm::Expected<std::string> file = nvrtcFile();
    if (!file)
      return file.takeError();
    return Nvrtc::load(*file);
  }

  llvm::Expected<SimCompiler *> simCompiler() {
    std::lock_guard<std::mutex> lock(mutex);
    if (sim == nullptr) {
      llvm::Expected<std::unique_ptr<SimCompiler>> made =
          SimCompiler::create(options.simCompiler, headers, simIsChecked(options));
      if (!made)
        return made.takeError();
      sim = std::move(*made);
    }
    return sim.get();
  }

  /// Where NVRTC keeps what it compiled of headers for as long as this object lives. Empty: nowhere.
  /// Empty: none. NVRTC maps the file that it writes there, and where the disk is full that is the end of the process.
  std::string headerFolder() {
    std::lock_guard<std::mutex> lock(mutex);
    if (nvrtcHeaders == nullptr) {
      llvm::Expected<std::unique_ptr<PrivateFolder>> made = PrivateFolder::create("tcc-nvrtc");
      if (!made) {
        llvm::consumeError(made.takeError());
        return "";
      }
      nvrtcHeaders = std::move(*made);
    }
    constexpr uintmax_t kEnough = 64 << 20;
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(nvrtcHeaders->path(), error);
    return error || space.available < kEnough ? "" : nvrtcHeaders->path();
  }

  /// The hash of a file; the cache remembers it for as long as the file stays the same.
  llvm::Expected<std::string> contentOf(const std::string &file) {
    if (std::optional<std::string> hash = options.cache->RememberedModelHash(file))
      return *hash;
    absl::StatusOr<std::string> hash = options.cache->HashModel(file);
    if (!hash.ok())
      return failure(std::string(hash.status().message()));
    return *hash;
  }

  /// Options of NVRTC for an architecture; `cudaHeader`: that the kernels include, empty for none.
  llvm::Expected<std::vector<std::string>> nvrtcOptions(llvm::StringRef arch, llvm::StringRef cudaHeader) {
    std::vector<std::string> arguments = {"--gpu-architecture=" + arch.str(), "-std=c++17"};
    if (!isVirtual(arch))
      arguments.push_back("--ptxas-options=-v");
    if (options.fastMath)
      arguments.push_back("--use_fast_math");
    if (options.lineInfo)
      arguments.push_back("--generate-line-info");
    if (!cudaHeader.empty()) {
      llvm::Expected<std::string> file = nvrtcFile();
      if (!file)
        return file.takeError();
      llvm::Expected<std::string> folder = findCudaInclude(options.cudaInclude, *file);
      if (!folder)
        return failure("kernels include <" + cudaHeader + ">, and there are " + llvm::toString(folder.takeError()));
      arguments.push_back("-I" + *folder);
    }
    return arguments;
  }

  /// What the binaries depend on, beside the texts. The compiler is named by its content, so that it need not be loaded
  /// to ask for its version.
  llvm::Expected<std::vector<std::string>> toolchainParts(llvm::StringRef arch, llvm::StringRef cudaHeader) {
    std::vector<std::string> parts = {"kernel 2", arch.str(), libraryHash};
    if (arch == "sim") {
      llvm::Expected<SimCompiler *> compiler = simCompiler();
      if (!compiler)
        return compiler.takeError();
      parts.push_back((*compiler)->version());
      parts.insert(parts.end(), (*compiler)->flags().begin(), (*compiler)->flags().end());
      return parts;
    }
    llvm::Expected<std::string> file = nvrtcFile();
    if (!file)
      return file.takeError();
    llvm::Expected<std::string> content = contentOf(*file);
    if (!content)
      return content.takeError();
    parts.push_back(*content);
    llvm::Expected<std::vector<std::string>> arguments = nvrtcOptions(arch, cudaHeader);
    if (!arguments)
      return arguments.takeError();
    for (const std::string &argument : *arguments) {
      llvm::StringRef folder = argument;
      if (!folder.consume_front("-I")) {
        parts.push_back(argument);
        continue;
      }
      // CUDA's headers by what they hold, not by where they lie.
      for (const char *name :
           {"cuda_fp16.h", "cuda_fp16.hpp", "cuda_bf16.h", "cuda_bf16.hpp", "cuda_fp8.h", "cuda_fp8.hpp", "mma.h"}) {
        std::string header = (folder + "/" + name).str();
        if (!Exists(header))
          continue;
        llvm::Expected<std::string> hash = contentOf(header);
        if (!hash)
          return hash.takeError();
        parts.insert(parts.end(), {name, *hash});
      }
    }
    return parts;
  }

  // --- Compiling ---

  struct Job {
    const KernelSource *kernel = nullptr;
    std::string key; // empty without a cache
    std::vector<size_t> results;
    KernelEntry entry;
    bool cached = false, done = false;
    std::string error;
  };

  llvm::Expected<KernelEntry> compileWithNvrtc(const KernelSource &kernel, llvm::StringRef arch,
                                               llvm::ArrayRef<std::string> arguments, bool precompiled) {
    llvm::Expected<const Nvrtc *> compiler = nvrtc();
    if (!compiler)
      return compiler.takeError();
    const std::string name = kernel.symbol + ".cu";
    bool cubin = !isVirtual(arch);
    const std::string folder = precompiled ? headerFolder() : "";
    Nvrtc::Result result = (*compiler)->compile(kernel.text, name, headers, arguments, cubin, folder);
    std::vector<CompileMessage> messages = parseNvrtcLog(result.log);
    // About the precompiled header, perhaps: judged without.
    if (!folder.empty() && result.compiled && !messages.empty()) {
      result = (*compiler)->compile(kernel.text, name, headers, arguments, cubin, /*headerFolder=*/"");
      messages = parseNvrtcLog(result.log);
    }
    if (!result.compiled && messages.empty())
      messages.push_back({"", 0, true, result.error, ""});
    if (llvm::Error error = judge(kernel, result.compiled, arch, (*compiler)->version(), name, messages))
      return error;
    KernelEntry entry;
    entry.bytes = std::move(result.bytes);
    if (cubin) {
      entry.resources = parseResources(result.log, kernel.symbol);
      if (!entry.resources)
        return failure("kernel '" + kernel.symbol +
                       "': its text defines no kernel of that name (extern \"C\" __global__)");
      if (std::optional<KernelResources> read = readCubin(entry.bytes, kernel.symbol))
        entry.resources->maxThreads = read->maxThreads;
    }
    return entry;
  }

  /// The same. How many registers a kernel takes depends on the version of the compiler: where it could keep
  /// `__launch_bounds__(threads, blocks)` by spilling only, one block less is asked for, as long as there is one.
  llvm::Expected<KernelEntry> compileWithoutSpills(const KernelSource &kernel, llvm::StringRef arch,
                                                   llvm::ArrayRef<std::string> arguments, bool precompiled) {
    llvm::Expected<KernelEntry> entry = compileWithNvrtc(kernel, arch, arguments, precompiled);
    KernelSource roomier = kernel;
    while (entry && entry->resources && entry->resources->spillStores > 0 && dropBlock(roomier.text))
      entry = compileWithNvrtc(roomier, arch, arguments, precompiled);
    return entry;
  }

  /// One block less in the text's launch bounds; false: there is but one, or no number.
  static bool dropBlock(std::string &text) {
    const llvm::StringRef name = "__launch_bounds__(", whole = text;
    const size_t begin = whole.find(name), comma = whole.find(',', begin), end = whole.find(')', begin);
    int blocks = 0;
    if (begin == llvm::StringRef::npos || comma >= end || end == llvm::StringRef::npos ||
        whole.slice(comma + 1, end).trim().getAsInteger(10, blocks) || blocks < 2)
      return false;
    text.replace(comma + 1, end - comma - 1, " " + std::to_string(blocks - 1));
    return true;
  }

  llvm::Expected<KernelEntry> compileForSim(const KernelSource &kernel, bool precompiled) {
    llvm::Expected<SimCompiler *> compiler = simCompiler();
    if (!compiler)
      return compiler.takeError();
    const std::string name = kernel.symbol + ".cu";
    llvm::Expected<SimCompiler::Result> result = (*compiler)->compile(kernel, name, precompiled);
    if (!result)
      return failure("kernel '" + kernel.symbol + "': " + llvm::toString(result.takeError()));
    std::vector<CompileMessage> messages = parseClangLog(result->log);
    if (!result->compiled && messages.empty())
      messages.push_back({"", 0, true, "no code came out", ""});
    if (llvm::Error error = judge(kernel, result->compiled, "cuda-sim", (*compiler)->version(), name, messages))
      return error;
    KernelEntry entry;
    entry.bytes = std::move(result->bytes);
    return entry;
  }

  llvm::Error judge(const KernelSource &kernel, bool compiled, llvm::StringRef arch, llvm::StringRef version,
                    llvm::StringRef name, llvm::ArrayRef<CompileMessage> messages) {
    if (messages.empty())
      return llvm::Error::success();
    const std::string title =
        ((compiled ? "compiles only with warnings for " : "does not compile for ") + arch + " (" + version + ")").str();
    const std::string text = describeMessages(kernel, title, name, messages, headers);
    if (!compiled || warningsAreErrors(options))
      return failure(text);
    Log("output_code", text);
    return llvm::Error::success();
  }

  void work(Job &job, llvm::StringRef arch, llvm::ArrayRef<std::string> arguments, bool precompiled) {
    auto build = [&]() -> llvm::Expected<KernelEntry> {
      return arch == "sim" ? compileForSim(*job.kernel, precompiled)
                           : compileWithoutSpills(*job.kernel, arch, arguments, precompiled);
    };
    if (job.key.empty()) {
      llvm::Expected<KernelEntry> entry = build();
      if (entry)
        job.entry = std::move(*entry);
      else
        job.error = llvm::toString(entry.takeError());
      return;
    }
    absl::StatusOr<std::string> stored = options.cache->GetOrBuildKernel(
        job.key,
        [&]() -> absl::StatusOr<std::string> {
          llvm::Expected<KernelEntry> entry = build();
          if (!entry)
            return toStatus(entry.takeError());
          return serialize(*entry);
        },
        &job.cached, options.cacheWaitSeconds);
    std::optional<KernelEntry> entry = stored.ok() ? deserialize(*stored) : std::nullopt;
    if (entry)
      job.entry = std::move(*entry);
    else
      job.error = stored.ok() ? "kernel '" + job.kernel->symbol + "': its entry in the cache cannot be read"
                              : std::string(stored.status().message());
  }

  CompileOptions options;
  std::vector<DeviceHeader> headers;
  std::string libraryHash;
  std::string libraryCudaHeader; // that the device library includes
  std::mutex mutex;
  std::string nvrtcPath;                       // guarded by mutex
  std::unique_ptr<PrivateFolder> nvrtcHeaders; // guarded by mutex
  std::unique_ptr<SimCompiler> sim;            // guarded by mutex
};

KernelCompiler::KernelCompiler(CompileOptions options) : impl(std::make_unique<Impl>(std::move(options))) {}
KernelCompiler::~KernelCompiler() = default;

llvm::Expected<std::vector<KernelBinary>> KernelCompiler::compile(llvm::ArrayRef<KernelSource> kernels,
                                                                  llvm::StringRef arch) {
  const bool forSim = arch == "sim";
  if (!forSim && computeCapabilityOf(arch) == 0)
    return failure("'" + arch + "' is no architecture: sm_80, sm_90a, compute_90 and the like, or sim");
  std::vector<KernelBinary> results(kernels.size());
  if (kernels.empty())
    return results;

  std::string cudaHeader = impl->libraryCudaHeader;
  for (const KernelSource &kernel : kernels)
    if (cudaHeader.empty() && !forSim)
      cudaHeader = cudaHeaderIn(kernel.text);
  std::vector<std::string> parts;
  if (impl->options.cache != nullptr) {
    llvm::Expected<std::vector<std::string>> found = impl->toolchainParts(arch, cudaHeader);
    if (!found)
      return found.takeError();
    parts = std::move(*found);
  }

  // Equal texts are one job.
  std::vector<Impl::Job> jobs;
  llvm::StringMap<size_t> known;
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto [it, isNew] = known.try_emplace(kernels[i].symbol + '\0' + kernels[i].text, jobs.size());
    if (isNew) {
      Impl::Job job;
      job.kernel = &kernels[i];
      if (!parts.empty()) {
        std::vector<std::string> all = parts;
        all.insert(all.end(), {kernels[i].symbol, kernels[i].text});
        job.key = ArtifactCache::Key(all);
      }
      jobs.push_back(std::move(job));
    }
    jobs[it->second].results.push_back(i);
  }

  std::vector<Impl::Job *> missing;
  for (Impl::Job &job : jobs) {
    std::optional<std::string> stored = job.key.empty() ? std::nullopt : impl->options.cache->LookupKernel(job.key);
    std::optional<KernelEntry> entry = stored ? deserialize(*stored) : std::nullopt;
    if (!entry) {
      missing.push_back(&job);
      continue;
    }
    job.entry = std::move(*entry);
    job.cached = job.done = true;
  }

  size_t done = jobs.size() - missing.size();
  auto tell = [&] {
    if (impl->options.progress)
      impl->options.progress(done, jobs.size());
  };
  if (!missing.empty()) {
    std::vector<std::string> arguments;
    if (!forSim) {
      llvm::Expected<const Nvrtc *> nvrtc = impl->nvrtc();
      if (!nvrtc)
        return nvrtc.takeError();
      if (!llvm::is_contained((*nvrtc)->architectures(), computeCapabilityOf(arch)))
        return failure((*nvrtc)->version() + " does not know " + arch + ", only the capabilities " +
                       list((*nvrtc)->architectures()) +
                       ". A newer one may (PyPI: nvidia-cuda-nvrtc); GPUs also run PTX of "
                       "older architectures (compute_" +
                       llvm::Twine((*nvrtc)->architectures().back()) + ")");
      llvm::Expected<std::vector<std::string>> found = impl->nvrtcOptions(arch, cudaHeader);
      if (!found)
        return found.takeError();
      arguments = std::move(*found);
    } else if (llvm::Expected<SimCompiler *> compiler = impl->simCompiler(); !compiler) {
      return compiler.takeError();
    }
    // The longest first: threads end together.
    std::sort(missing.begin(), missing.end(), [](const Impl::Job *a, const Impl::Job *b) {
      return std::pair(b->kernel->text.size(), a) < std::pair(a->kernel->text.size(), b);
    });
    const bool precompiled = missing.size() >= kMinKernelsForHeader;
    std::atomic<size_t> next{0};
    std::mutex mutex;
    auto worker = [&] {
      for (size_t i = next++; i < missing.size(); i = next++) {
        impl->work(*missing[i], arch, arguments, precompiled);
        std::lock_guard<std::mutex> lock(mutex);
        ++done;
        tell();
      }
    };
    size_t count = impl->options.threads != 0 ? impl->options.threads : static_cast<size_t>(DefaultThreadCount());
    count = std::min(count, missing.size());
    std::vector<std::thread> threads;
    try {
      for (size_t i = 1; i < count; ++i)
        threads.emplace_back(worker);
    } catch (const std::system_error &) { // the process may have no more threads: those that it has do all
    }
    worker();
    for (std::thread &thread : threads)
      thread.join();
    if (impl->options.cache != nullptr)
      impl->options.cache->Trim();
  } else {
    tell();
  }

  // In the order of the kernels, whatever thread met them first.
  std::string errors;
  size_t broken = 0;
  for (const Impl::Job &job : jobs) {
    if (job.error.empty() || ++broken > kMaxErrors)
      continue;
    errors += (errors.empty() ? "" : "\n") + job.error;
  }
  if (broken > kMaxErrors)
    errors += "\nand " + std::to_string(broken - kMaxErrors) + " more kernels do not compile";
  if (broken != 0)
    return failure(errors);
  for (Impl::Job &job : jobs) {
    for (size_t i : job.results) {
      KernelBinary &binary = results[i];
      binary.symbol = kernels[i].symbol;
      binary.arch = arch.str();
      binary.bytes = job.entry.bytes;
      binary.resources = job.entry.resources;
      binary.cached = job.cached;
    }
  }
  return results;
}

llvm::Expected<std::string> KernelCompiler::bestArch(int computeCapability) {
  llvm::Expected<const Nvrtc *> nvrtc = impl->nvrtc();
  if (!nvrtc)
    return nvrtc.takeError();
  const std::vector<int> &known = (*nvrtc)->architectures();
  if (llvm::is_contained(known, computeCapability))
    return "sm_" + std::to_string(computeCapability) + (computeCapability >= 90 ? "a" : "");
  auto newer = std::upper_bound(known.begin(), known.end(), computeCapability);
  if (newer == known.begin())
    return failure((*nvrtc)->version() + " does not compile for GPUs of compute capability " +
                   llvm::Twine(computeCapability / 10) + "." + llvm::Twine(computeCapability % 10) +
                   " any more (its oldest: " + llvm::Twine(known.empty() ? 0 : known.front()) + ")");
  return "compute_" + std::to_string(*std::prev(newer));
}

llvm::Expected<std::string> KernelCompiler::compilerVersion(llvm::StringRef arch) {
  if (arch == "sim") {
    llvm::Expected<SimCompiler *> compiler = impl->simCompiler();
    if (!compiler)
      return compiler.takeError();
    return (*compiler)->version();
  }
  llvm::Expected<const Nvrtc *> nvrtc = impl->nvrtc();
  if (!nvrtc)
    return nvrtc.takeError();
  return (*nvrtc)->version();
}

} // namespace tcc::codegen
