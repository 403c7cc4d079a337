//===- MeasureServer.cpp - the process that runs candidates ---------------===//
#include "compiler/autotune/MeasureServer.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "compiler/autotune/MadeUpData.h"
#include "compiler/autotune/MeasureJob.h"
#include "compiler/wire.h"
#include "runtime/devices/extern/conv_descriptor.h"
#include "runtime/devices/extern/library_call.h"
#include "runtime/devices/images.h"
#include "runtime/devices/registry.h"
#include "runtime/executor.h"
#include "runtime/file_util.h"
#include "runtime/kernel_abi.h"
#include "runtime/plan_json.h"
#include "runtime/status.h"

namespace tcc::compiler {
namespace {

using Json = nlohmann::json;
using devices::ComputeDevice;

/// Memory of the device.
class Memory {
public:
  static absl::StatusOr<Memory> allocate(ComputeDevice &device, int64_t bytes) {
    TCC_ASSIGN_OR_RETURN(void *const place, device.Allocate(bytes));
    return Memory(device, place, bytes);
  }
  Memory(Memory &&other) noexcept
      : device(other.device), place(std::exchange(other.place, nullptr)), size(std::exchange(other.size, 0)) {}
  Memory &operator=(Memory &&) = delete;
  ~Memory() {
    if (place)
      device.Free(place, size);
  }
  void *address() const { return place; }
  int64_t bytes() const { return size; }

private:
  Memory(ComputeDevice &device, void *place, int64_t size) : device(device), place(place), size(size) {}
  ComputeDevice &device;
  void *place;
  int64_t size;
};

struct Loaded {
  MeasureCandidate candidate;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::unique_ptr<devices::LoadedImages> images;
  std::vector<Memory> own;
  std::unique_ptr<ExecutionContext> context; ///< of a plan
  std::vector<Tensor> results;               ///< likewise
};

class Server {
public:
  Json answer(const Json &request) {
    try {
      const std::string what = request.at("do").get<std::string>();
      if (what == "open")
        return reply(open(request));
      if (!device)
        return reply(absl::FailedPreconditionError("no device is open"));
      if (what == "data")
        return reply(setData(dataFrom(request.at("data"))));
      const int id = request.at("id").get<int>();
      if (what == "load")
        return reply(load(id, candidateFrom(request.at("candidate")), request.at("check").get<bool>()));
      return reply(time(id));
    } catch (const Json::exception &error) {
      return reply(absl::InvalidArgumentError(error.what()));
    }
  }
  /// Whether the device is lost to this process.
  bool isOver() const { return over; }

private:
  using Answer = absl::StatusOr<Json>;

  Json reply(const Answer &answer) {
    if (answer.ok())
      return *answer;
    // After some errors of kernels a GPU is of no use to the process any more: whatever waits for it fails.
    over = stream && !device->Synchronize(stream).ok();
    return {{"error", std::string(answer.status().message())},
            {"lasting", !absl::IsResourceExhausted(answer.status())},
            {"over", over}};
  }

  Answer open(const Json &request) {
    TCC_ASSIGN_OR_RETURN(device, devices::DefaultDevice(request.at("kind").get<std::string>()));
    if (device->kind() == devices::Kind::kNull)
      return absl::FailedPreconditionError("the device null runs nothing");
    const devices::Properties &properties = device->properties();
    int best = 0;
    const auto archs = request.at("archs").get<std::vector<std::string>>();
    for (const std::string &candidate : archs) {
      const int rank = device->Suits(candidate);
      if (rank <= best)
        continue;
      best = rank;
      arch = candidate;
    }
    if (best == 0)
      return absl::FailedPreconditionError(
          absl::StrCat(device->name(), " (", properties.name, ") does not run code for ", absl::StrJoin(archs, ", ")));
    TCC_ASSIGN_OR_RETURN(stream, device->CreateStream());
    TCC_ASSIGN_OR_RETURN(begin, device->CreateEvent());
    TCC_ASSIGN_OR_RETURN(end, device->CreateEvent());
    constexpr int64_t kLeast = 1 << 20;
    TCC_ASSIGN_OR_RETURN(Memory memory, Memory::allocate(*device, std::max(kLeast, 2 * properties.l2_bytes)));
    sweep.emplace(std::move(memory));
    MeasureDevice found;
    found.name = absl::StrCat(device->name(), " (", properties.name, ")");
    found.arch = arch;
    found.version = absl::StrCat("driver ", properties.driver_version, ", ", properties.multiprocessors,
                                 " multiprocessors, ", properties.clock_khz, " kHz");
    for (const std::string_view name : devices::kLibraries) {
      const absl::StatusOr<std::string> library = devices::LibraryVersion(name, device->kind());
      (library.ok() ? found.libraries : found.libraryFaults)[std::string(name)] =
          library.ok() ? *library : std::string(library.status().message());
    }
    found.isSimulated = device->kind() == devices::Kind::kCudaSim;
    return Json{{"device", toJson(found)}};
  }

  absl::StatusOr<Tensor> tensorOf(const MeasureBuffer &buffer) { return Tensor::Allocate(buffer.dtype, buffer.dims); }

  Answer setData(const MeasureData &data) {
    loaded.clear();
    shared.clear();
    inputs.clear();
    outputs.clear();
    expected.clear();
    for (const MeasureBuffer &buffer : data.inputs) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, tensorOf(buffer));
      if (buffer.file.empty()) {
        fillRandom(tensor, static_cast<unsigned>(inputs.size()) + 1);
      } else {
        TCC_ASSIGN_OR_RETURN(const auto file, MappedFile::OpenOurs(buffer.file));
        std::memcpy(tensor.data(), file->bytes().data(), std::min(tensor.bytes(), file->bytes().size()));
      }
      inputs.push_back(std::move(tensor));
    }
    for (const MeasureBuffer &buffer : data.outputs) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, tensorOf(buffer));
      outputs.push_back(std::move(tensor));
    }
    return Json::object();
  }

  /// Inputs as they should be, outputs as no kernel would leave them.
  absl::Status resetMemory() {
    const bool isNew = shared.empty();
    size_t next = 0;
    auto put = [&](Tensor &tensor) -> absl::Status {
      const auto bytes = static_cast<int64_t>(tensor.bytes());
      if (isNew) {
        TCC_ASSIGN_OR_RETURN(Memory memory, Memory::allocate(*device, bytes));
        shared.push_back(std::move(memory));
      }
      return device->CopyToDevice(shared[next++].address(), tensor.data(), bytes, stream);
    };
    for (Tensor &input : inputs)
      TCC_RETURN_IF_ERROR(put(input));
    for (Tensor &output : outputs) {
      std::memset(output.data(), 0x55, output.bytes());
      TCC_RETURN_IF_ERROR(put(output));
    }
    return device->Synchronize(stream);
  }

  absl::Status openImages(Loaded &item, std::vector<KernelImageView> *views) {
    for (const auto &[symbol, path] : item.candidate.images) {
      TCC_ASSIGN_OR_RETURN(auto file, MappedFile::OpenOurs(path));
      KernelImageView &view = views->emplace_back();
      view.symbol = symbol;
      const std::string_view library = devices::LibraryOf(file->bytes());
      view.binaries[library.empty() ? arch : std::string(library)] = file->bytes();
      item.files.push_back(std::move(file));
    }
    return absl::OkStatus();
  }

  absl::Status loadPlan(Loaded &item, std::vector<KernelImageView> views) {
    TCC_ASSIGN_OR_RETURN(Plan plan, PlanFromJson(item.candidate.plan));
    std::string_view constants;
    if (!item.candidate.constants.empty()) {
      TCC_ASSIGN_OR_RETURN(auto file, MappedFile::OpenOurs(item.candidate.constants));
      constants = file->bytes();
      item.files.push_back(std::move(file));
    }
    PreparedPlan::Options options;
    options.device = device;
    options.images = std::move(views);
    auto owner = item.files.empty() ? nullptr : item.files.back();
    TCC_ASSIGN_OR_RETURN(auto prepared,
                         PreparedPlan::Create(std::move(plan), nullptr, constants, std::move(owner), options));
    item.context = std::make_unique<ExecutionContext>(std::move(prepared));
    return absl::OkStatus();
  }

  absl::Status loadLaunches(Loaded &item, const std::vector<KernelImageView> &views) {
    std::vector<std::string> symbols;
    for (const MeasureLaunch &launch : item.candidate.launches)
      symbols.push_back(launch.symbol);
    TCC_ASSIGN_OR_RETURN(item.images, devices::LoadedImages::Load(device, views, symbols, nullptr));
    for (const MeasureBuffer &buffer : item.candidate.own) {
      TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(buffer.dims));
      const auto bytes = static_cast<int64_t>(DTypeBytes(buffer.dtype, count));
      TCC_ASSIGN_OR_RETURN(Memory memory, Memory::allocate(*device, bytes));
      if (!buffer.file.empty()) {
        TCC_ASSIGN_OR_RETURN(const auto file, MappedFile::OpenOurs(buffer.file));
        const int64_t size = std::min<int64_t>(bytes, static_cast<int64_t>(file->bytes().size()));
        TCC_RETURN_IF_ERROR(device->CopyToDevice(memory.address(), file->bytes().data(), size, stream));
        TCC_RETURN_IF_ERROR(device->Synchronize(stream));
      }
      item.own.push_back(std::move(memory));
    }
    if (!errorWord) {
      TCC_ASSIGN_OR_RETURN(Memory word, Memory::allocate(*device, sizeof(int64_t)));
      errorWord.emplace(std::move(word));
    }
    int64_t count = 0;
    for (const MeasureLaunch &launch : item.candidate.launches)
      count = std::max(count, launch.counters);
    const int64_t bytes = count * static_cast<int64_t>(sizeof(int32_t));
    if (bytes > (counters ? counters->bytes() : 0)) {
      TCC_ASSIGN_OR_RETURN(Memory memory, Memory::allocate(*device, bytes));
      counters.emplace(std::move(memory));
      TCC_RETURN_IF_ERROR(device->Clear(counters->address(), bytes, stream));
    }
    for (const MeasureLaunch &launch : item.candidate.launches)
      for (const int32_t position : launch.buffers)
        if (position < 0 || static_cast<size_t>(position) >= inputs.size() + outputs.size() + item.own.size())
          return absl::InvalidArgumentError(absl::StrCat("kernel '", launch.symbol, "': no buffer ", position));
    return absl::OkStatus();
  }

  /// Puts the launches on the stream.
  absl::Status start(Loaded &item) {
    if (item.context) {
      item.results.clear();
      return item.context->Run(inputs, item.candidate.symbols, RunOptions(), &item.results);
    }
    size_t position = 0;
    for (const MeasureLaunch &launch : item.candidate.launches) {
      devices::FunctionHandle *const function = item.images->functions()[position++];
      if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0)
        continue;
      std::vector<void *> values;
      std::vector<int64_t> scalars = launch.scalars;
      std::vector<devices::MemoryRange> ranges;
      for (const int32_t buffer : launch.buffers) {
        const auto index = static_cast<size_t>(buffer);
        const Memory &memory = index < shared.size() ? shared[index] : item.own[index - shared.size()];
        values.push_back(memory.address());
        ranges.push_back({memory.address(), memory.bytes()});
      }
      std::vector<void *> params;
      params.reserve(values.size() + scalars.size() + 2);
      for (void *&value : values)
        params.push_back(&value);
      for (int64_t &scalar : scalars)
        params.push_back(&scalar);
      void *word = errorWord->address();
      if (launch.reportsErrors) {
        params.push_back(&word);
        ranges.push_back({word, errorWord->bytes()});
      }
      void *zeros = counters ? counters->address() : nullptr;
      if (launch.counters > 0) {
        params.push_back(&zeros);
        ranges.push_back({zeros, counters->bytes()});
      }
      devices::LaunchShape shape;
      shape.grid = launch.grid;
      shape.block = launch.block;
      shape.shared_bytes = launch.sharedBytes;
      shape.buffers = ranges;
      shape.tensor_maps = launch.tensorMaps;
      TCC_RETURN_IF_ERROR(WithContext(launch.symbol, device->Launch(function, shape, absl::MakeSpan(params), stream)));
    }
    return absl::OkStatus();
  }

  absl::Status check(int id, Loaded &item) {
    TCC_RETURN_IF_ERROR(resetMemory());
    if (errorWord)
      TCC_RETURN_IF_ERROR(device->Clear(errorWord->address(), errorWord->bytes(), stream));
    // (Each kernel leaves them zero, but for one that failed.)
    if (counters)
      TCC_RETURN_IF_ERROR(device->Clear(counters->address(), counters->bytes(), stream));
    TCC_RETURN_IF_ERROR(start(item));
    std::vector<Tensor> results = item.results;
    if (!item.context) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        TCC_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(outputs[i].dtype(), outputs[i].dims()));
        TCC_RETURN_IF_ERROR(device->CopyToHost(result.data(), shared[inputs.size() + i].address(),
                                               static_cast<int64_t>(result.bytes()), stream));
        results.push_back(std::move(result));
      }
      int64_t code = kTccKernelOk;
      TCC_RETURN_IF_ERROR(device->CopyToHost(&code, errorWord->address(), sizeof(code), stream));
      TCC_RETURN_IF_ERROR(device->Synchronize(stream));
      if (code != kTccKernelOk)
        return absl::InvalidArgumentError("the kernel reports an error for the data that was made up");
    }
    if (fault(id) == "wrong" && !results.empty() && results[0].num_elements() > 0)
      std::memset(results[0].data(), 0x33, results[0].bytes());
    if (expected.empty()) {
      expected = std::move(results);
      return absl::OkStatus();
    }
    if (results.size() != expected.size())
      return absl::InternalError("another number of results than the default's");
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].type() != expected[i].type() || !isClose(results[i], expected[i]))
        return absl::InternalError("other results than the default's");
    return absl::OkStatus();
  }

  Answer load(int id, MeasureCandidate candidate, bool withCheck) {
    if (fault(id) == "crash")
      ::raise(SIGSEGV);
    while (fault(id) == "hang")
      ::pause();
    auto item = std::make_unique<Loaded>();
    item->candidate = std::move(candidate);
    std::vector<KernelImageView> views;
    TCC_RETURN_IF_ERROR(openImages(*item, &views));
    TCC_RETURN_IF_ERROR(item->candidate.plan.empty() ? loadLaunches(*item, views) : loadPlan(*item, std::move(views)));
    TCC_RETURN_IF_ERROR(withCheck ? check(id, *item) : resetMemory());
    loaded[id] = std::move(item);
    return Json::object();
  }

  Answer time(int id) {
    const auto found = loaded.find(id);
    if (found == loaded.end())
      return absl::NotFoundError(absl::StrCat("no candidate ", id));
    Loaded &item = *found->second;
    // Whatever was in the caches goes.
    TCC_RETURN_IF_ERROR(device->Clear(sweep->address(), sweep->bytes(), stream));
    double seconds = 0;
    if (item.context) {
      TCC_RETURN_IF_ERROR(device->Synchronize(stream));
      const auto from = std::chrono::steady_clock::now();
      TCC_RETURN_IF_ERROR(start(item));
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    } else {
      TCC_RETURN_IF_ERROR(device->Record(begin, stream));
      TCC_RETURN_IF_ERROR(start(item));
      TCC_RETURN_IF_ERROR(device->Record(end, stream));
      TCC_RETURN_IF_ERROR(device->Synchronize(stream));
      TCC_ASSIGN_OR_RETURN(const double ms, device->Milliseconds(begin, end));
      seconds = ms / 1e3;
    }
    constexpr double kHour = 3600;
    return Json{{"seconds", seconds + (fault(id) == "slow" ? kHour : 0)}};
  }

  static std::string fault(int id) {
    const char *const list = std::getenv("TCC_MEASURE_FAULT");
    for (const absl::string_view entry : absl::StrSplit(list ? list : "", ',', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(entry, ':');
      int candidate = -1;
      if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &candidate) && candidate == id)
        return parts[0];
    }
    return "";
  }

  std::shared_ptr<ComputeDevice> device;
  std::string arch;
  bool over = false;
  devices::StreamHandle *stream = nullptr;
  devices::EventHandle *begin = nullptr, *end = nullptr;
  std::optional<Memory> sweep, errorWord, counters; ///< sweep: written between runs, larger than the cache
  std::vector<Tensor> inputs, outputs, expected;
  std::vector<Memory> shared; ///< inputs, then outputs
  std::map<int, std::unique_ptr<Loaded>> loaded;
};

} // namespace

int serveMeasurements(int socket) {
  Server server;
  while (!server.isOver()) {
    const absl::StatusOr<Json> request = ReceiveMessage(socket);
    if (!request.ok() || !SendMessage(socket, server.answer(*request)).ok())
      return 0;
  }
  return 0;
}

} // namespace tcc::compiler
