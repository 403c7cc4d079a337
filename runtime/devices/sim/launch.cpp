#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/devices/sim/block_runner.h"
#include "runtime/devices/sim/checker.h"
#include "runtime/devices/sim/sim_api.h"
#include "runtime/devices/sim/symbolize.h"

namespace tcc::sim {
namespace {

const TccSimApi kApi = {
    .version = TCC_SIM_ABI_VERSION,
    .bytes = sizeof(TccSimApi),
    .self = []() -> const TccSimThread* { return &CurrentThread().index; },
    .barrier = [](unsigned id, unsigned count, int reduction, int value,
                  const void* pc) { return CurrentRunner().Barrier(id, count, reduction, value, pc); },
    .warp = [](const TccSimWarpOp* op, unsigned mask, void* payload,
               const void* pc) { CurrentRunner().Warp(op, mask, payload, pc); },
    .yield = [](const void* pc) { CurrentRunner().Yield(pc); },
    .shared_variable = [](TccSimShared* variable) { return CurrentRunner().SharedVariable(variable); },
    .dynamic_shared = []() { return CurrentRunner().DynamicShared(); },
    .access = [](const void* address, unsigned long bytes, unsigned kind, int aligned,
                 const void* pc) { CurrentRunner().Access(address, bytes, kind, aligned != 0, pc); },
    .fence = [](int device) { CurrentRunner().Fence(device != 0); },
    .fail = [](const char* message, const void* pc) { CurrentRunner().Fail(message, pc); },
    .async_copy = [](void* to, const void* from, unsigned bytes, unsigned source_bytes,
                     const void* pc) { CurrentRunner().AsyncCopyStart(to, from, bytes, source_bytes, pc); },
    .async_commit = []() { CurrentRunner().AsyncCommit(); },
    .async_wait = [](unsigned pending, const void* pc) { CurrentRunner().AsyncWait(pending, pc); },
    .mbarrier = [](unsigned op, void* barrier, unsigned argument,
                   const void* pc) { return CurrentRunner().MbarrierStep(op, barrier, argument, pc); },
    .bulk_copy = [](void* to, const void* from, unsigned bytes, void* mbarrier,
                    const void* pc) { CurrentRunner().BulkCopyStart(to, from, bytes, mbarrier, pc); },
    .bulk_commit = []() { CurrentRunner().BulkCommit(); },
    .bulk_wait = [](unsigned pending) { CurrentRunner().BulkWait(pending); },
    .tensor_load = [](void* to, const TccSimTensorMap* map, const int* coordinates, void* mbarrier,
                      const void* pc) { CurrentRunner().TensorLoadStart(to, *map, coordinates, mbarrier, pc); },
};

absl::Status CheckLaunch(const Kernel& kernel, Dim grid, Dim block, size_t shared_bytes) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "': ", what));
  };
  if (kernel.entry == nullptr || kernel.module == nullptr) return error("is not a kernel of a simulated device");
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024 || threads == 0) {
    return error(
        absl::StrFormat("a block of (%d, %d, %d) threads; a device takes 1 to 1024", block.x, block.y, block.z));
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535) {
    return error(
        absl::StrFormat("a grid of (%d, %d, %d) blocks; a device takes at least one and at most (2147483647, "
                        "65535, 65535)",
                        grid.x, grid.y, grid.z));
  }
  if (shared_bytes > kMaxSharedBytes) {
    return error(
        absl::StrCat(shared_bytes, " bytes of shared memory; a device has at most ", kMaxSharedBytes, " a block"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Kernel> FindKernel(void* dlopen_handle, absl::string_view name,
                                  std::shared_ptr<const std::string> object) {
  auto* module = static_cast<TccSimModule*>(dlsym(dlopen_handle, "tcc_sim_module"));
  if (module == nullptr) return absl::FailedPreconditionError("the object holds no kernels of a simulated device");
  if (module->version != TCC_SIM_ABI_VERSION) {
    return absl::FailedPreconditionError(absl::StrCat("the kernels were compiled for version ", module->version,
                                                      " of the simulated device; this is version ", TCC_SIM_ABI_VERSION,
                                                      ": compile them again"));
  }
  void* entry = dlsym(dlopen_handle, absl::StrCat(name, "__sim").c_str());
  if (entry == nullptr) return absl::NotFoundError(absl::StrCat("the object has no kernel '", name, "'"));
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (module->bound == 0) {
    SharedLayout::Of(module, /*fresh=*/true);
    module->bind(&kApi);
    module->bound = 1;
  }
  return Kernel{std::string(name), reinterpret_cast<void (*)(void**)>(entry), module, std::move(object)};
}

absl::Status Launch(const Kernel& kernel, Dim grid, Dim block, size_t shared_bytes, void** params,
                    const LaunchOptions& options) {
  if (absl::Status status = CheckLaunch(kernel, grid, block, shared_bytes); !status.ok()) return status;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  std::optional<Checker> checker;
  if (kernel.module->checked != 0) checker.emplace(kernel, options);
  const std::shared_ptr<SharedLayout> shared = SharedLayout::Of(kernel.module);
  const LaunchState state = {
      &kernel,      {grid.x, grid.y, grid.z},     {block.x, block.y, block.z}, shared_bytes, params,
      shared.get(), checker ? &*checker : nullptr};
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::optional<std::string> problem;
  const auto work = [&] {
    BlockRunner& runner = BlockRunner::OfThisThread();
    for (uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) {
      const TccSimIndex index = {static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
                                 static_cast<unsigned>(i / (uint64_t{grid.x} * grid.y))};
      if (std::optional<std::string> found = runner.Run(state, index)) {
        const std::lock_guard lock(mutex);
        if (!problem) problem = std::move(found);
        next.store(blocks, std::memory_order_relaxed);
      }
    }
  };
  std::vector<std::thread> helpers;
  const uint64_t wanted = checker ? 1 : std::min<uint64_t>(std::max(options.threads, 1), blocks);
  for (uint64_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (problem)
    return absl::InternalError(
        absl::StrCat("kernel '", kernel.name, "', ", ReplacePlaces(*problem, kernel.object.get())));
  if (const size_t total = shared_bytes + shared->bytes(); total > kMaxSharedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", kernel.name, "': ", shared->bytes(), " bytes of static and ", shared_bytes,
                     " of dynamic shared memory; a device has at most ", kMaxSharedBytes, " a block"));
  }
  return absl::OkStatus();
}

}  // namespace tcc::sim
