// A CUDA driver whose device is memory of the host, at addresses that the host cannot use, and whose kernels do
// nothing. It is strict about what it is called with: contexts must be current, handles its own, shared memory asked
// for, and a thread that captures a graph does nothing but launch. A kernel called "k_takes_3" has three parameters of
// 8 bytes; of others the driver does not tell. $FAKE_CUDA, read by cuInit, cuDriverGetVersion and
// cuDevicePrimaryCtxRetain, makes it one that does not work: "old", "none" (no device), "broken", "contextless".
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

using Result = int;
constexpr Result kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidDevice = 101, kInvalidImage = 200,
                 kInvalidContext = 201, kInvalidHandle = 400, kNotFound = 500, kIllegalState = 401,
                 kUnsupportedInCapture = 900, kCaptureInvalidated = 901, kUnknown = 999;
constexpr size_t kMemory = size_t{1} << 30;

struct Context {
} the_context;
thread_local Context* current = nullptr;

struct Function {
  std::string name;
  size_t params = 0;  // 0: not known
  int max_dynamic_shared = 0;
};
struct Module {
  std::map<std::string, Function> functions;
};
struct Stream {
  bool capturing = false;
  bool invalidated = false;
  size_t captured = 0;
};
thread_local Stream* capture = nullptr;  // that this thread makes
std::string last_launch;                 // guarded by mutex
struct Event {
  bool recorded = false;
};
struct Graph {
  size_t launches;
};

// What would be captured, or is not allowed while something is.
bool SpoilsCapture() {
  if (capture != nullptr) capture->invalidated = true;
  return capture != nullptr;
}

// From an address of the device to where it really is.
constexpr unsigned long long kShift = 1ULL << 52;
void* Real(unsigned long long address) { return reinterpret_cast<void*>(address - kShift); }

std::mutex mutex;
std::map<unsigned long long, size_t> memory;  // guarded by mutex
size_t used = 0;                              // guarded by mutex
std::set<const void*> handles;                // guarded by mutex

bool Is(const char* what) {
  const char* const value = std::getenv("FAKE_CUDA");
  return value != nullptr && std::strcmp(value, what) == 0;
}
template <typename T>
T* Add(T* handle) {
  const std::lock_guard lock(mutex);
  handles.insert(handle);
  return handle;
}
template <typename T>
Result Remove(T* handle) {
  const std::lock_guard lock(mutex);
  if (handles.erase(handle) == 0) return kInvalidHandle;
  delete handle;
  return 0;
}
bool Has(const void* handle) {
  const std::lock_guard lock(mutex);
  return handles.count(handle) > 0;
}
// Whether bytes at this address lie in one allocation.
bool Inside(unsigned long long address, size_t bytes) {
  const std::lock_guard lock(mutex);
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) return false;
  --found;
  return address + bytes <= found->first + found->second;
}

}  // namespace

#define NEED(condition, error)      \
  do {                              \
    if (!(condition)) return error; \
  } while (false)
#define NEED_NO_CAPTURE NEED(!SpoilsCapture(), kUnsupportedInCapture)
#define NEED_CONTEXT NEED(current == &the_context, kInvalidContext)

extern "C" {
#pragma GCC visibility push(default)

Result cuInit(unsigned) { return Is("broken") ? kUnknown : Is("none") ? kNoDevice : 0; }
Result cuDriverGetVersion(int* version) {
  *version = Is("old") ? 10020 : 12040;
  return 0;
}
Result cuGetErrorName(Result result, const char** name) {
  *name = result == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
  return 0;
}
Result cuGetErrorString(Result result, const char** text) {
  *text = result == kOutOfMemory ? "out of memory" : "some other error";
  return 0;
}
Result cuDeviceGetCount(int* count) { return *count = 2, 0; }
Result cuDeviceGet(int* device, int index) {
  NEED(index < 2, kInvalidDevice);
  return *device = index, 0;
}
Result cuDeviceGetName(char* name, int size, int) {
  return std::strncpy(name, "Fake GPU", static_cast<size_t>(size)), 0;
}
Result cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> values = {{1, 1024}, {8, 49152},   {10, 32},      {13, 1500000}, {16, 84},
                                            {36, 1},   {37, 384},    {38, 6 << 20}, {39, 1536},    {75, 8},
                                            {76, 6},   {81, 102400}, {82, 65536},   {97, 101376}};
  const auto found = values.find(attribute);
  NEED(found != values.end(), kInvalidValue);
  return *value = found->second, 0;
}
Result cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = kMemory, 0; }
Result cuDevicePrimaryCtxRetain(Context** context, int) {
  NEED(!Is("contextless"), kUnknown);
  return *context = &the_context, 0;
}
Result cuDevicePrimaryCtxRelease_v2(int) { return 0; }
Result cuCtxGetCurrent(Context** context) { return *context = current, 0; }
Result cuCtxSetCurrent(Context* context) { return current = context, 0; }

Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  NEED_CONTEXT;
  const std::lock_guard lock(mutex);
  return *free = kMemory - used, *total = kMemory, 0;
}
Result cuMemAlloc_v2(unsigned long long* result, size_t bytes) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(bytes > 0, kInvalidValue);
  const std::lock_guard lock(mutex);
  NEED(bytes <= kMemory - used, kOutOfMemory);
  *result = reinterpret_cast<unsigned long long>(std::aligned_alloc(512, (bytes + 511) / 512 * 512)) + kShift;
  memory[*result] = bytes;
  used += bytes;
  return 0;
}
Result cuMemFree_v2(unsigned long long address) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  const std::lock_guard lock(mutex);
  const auto found = memory.find(address);
  NEED(found != memory.end(), kInvalidValue);
  used -= found->second;
  memory.erase(found);
  return std::free(Real(address)), 0;
}
Result cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, Stream* stream) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(Has(stream) && Inside(to, bytes), kInvalidValue);
  return std::memcpy(Real(to), from, bytes), 0;
}
Result cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, Stream* stream) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(Has(stream) && Inside(from, bytes), kInvalidValue);
  return std::memcpy(to, Real(from), bytes), 0;
}
Result cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, Stream* stream) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(Has(stream) && Inside(from, bytes) && Inside(to, bytes), kInvalidValue);
  return std::memmove(Real(to), Real(from), bytes), 0;
}
Result cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, Stream* stream) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(Has(stream) && Inside(to, bytes), kInvalidValue);
  return std::memset(Real(to), value, bytes), 0;
}

Result cuStreamCreate(Stream** stream, unsigned) {
  NEED_CONTEXT;
  return *stream = Add(new Stream), 0;
}
Result cuStreamDestroy_v2(Stream* stream) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  return Remove(stream);
}
Result cuStreamSynchronize(Stream* stream) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(Has(stream), kInvalidHandle);
  return 0;
}
Result cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  return Has(stream) && Has(event) ? 0 : kInvalidHandle;
}
Result cuEventCreate(Event** event, unsigned) {
  NEED_CONTEXT;
  return *event = Add(new Event), 0;
}
Result cuEventDestroy_v2(Event* event) {
  NEED_CONTEXT;
  return Remove(event);
}
Result cuEventRecord(Event* event, Stream* stream) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(Has(event) && Has(stream), kInvalidHandle);
  return event->recorded = true, 0;
}
Result cuEventQuery(Event* event) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  return Has(event) ? 0 : kInvalidHandle;
}
Result cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
  NEED_CONTEXT;
  NEED(Has(from) && Has(to) && from->recorded && to->recorded, kInvalidHandle);
  return *milliseconds = 0.25f, 0;
}

Result cuModuleLoadDataEx(Module** module, const void* image, unsigned count, int* options, void** values) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  // (A cubin is taken for one of whatever kernel is asked for.)
  if (std::strcmp(static_cast<const char*>(image), "fake") != 0 && std::memcmp(image, "\177ELF", 4) != 0) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), "ptxas: line 1: syntax error");
    }
    return kInvalidImage;
  }
  return *module = Add(new Module), 0;
}
Result cuModuleUnload(Module* module) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  return Remove(module);
}
Result cuModuleGetFunction(Function** function, Module* module, const char* name) {
  NEED_CONTEXT;
  NEED(Has(module), kInvalidHandle);
  NEED(std::strcmp(name, "missing") != 0, kNotFound);
  Function& found = module->functions[name];
  found.name = name;
  if (const char* const takes = std::strstr(name, "_takes_"); takes != nullptr)
    found.params = std::strtoul(takes + 7, nullptr, 10);
  return *function = &found, 0;
}
Result cuFuncGetParamInfo(Function* function, size_t index, size_t* offset, size_t* bytes) {
  NEED_CONTEXT;
  NEED(index < function->params, kInvalidValue);
  return *offset = 8 * index, *bytes = 8, 0;
}
Result cuFuncSetAttribute(Function* function, int attribute, int value) {
  NEED_CONTEXT;
  NEED_NO_CAPTURE;
  NEED(attribute == 8 && value <= 101376, kInvalidValue);
  return function->max_dynamic_shared = value, 0;
}
Result cuLaunchKernel(Function* function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, Stream* stream, void** params, void** extra) {
  NEED_CONTEXT;
  NEED(Has(stream), kInvalidHandle);
  NEED(x > 0 && y > 0 && z > 0 && bx * by * bz > 0 && bx * by * bz <= 1024, kInvalidValue);
  NEED(static_cast<int>(shared) <= function->max_dynamic_shared && params != nullptr && extra == nullptr,
       kInvalidValue);
  stream->captured += stream->capturing ? 1 : 0;
  const std::lock_guard lock(mutex);
  const auto triple = [](unsigned a, unsigned b, unsigned c) {
    return std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c);
  };
  last_launch =
      function->name + " <<<" + triple(x, y, z) + "; " + triple(bx, by, bz) + "; " + std::to_string(shared) + ">>>";
  for (size_t i = 0; i < function->params; ++i) {
    last_launch += " " + std::to_string(*static_cast<const long long*>(params[i]));
  }
  return 0;
}
// For tests: "kernel <<<grid; block; shared bytes>>> parameters".
const char* FakeCudaLastLaunch() { return last_launch.c_str(); }
Result cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* base, const unsigned long long* extents,
                              const unsigned long long* strides, const unsigned* box, const unsigned* steps,
                              int interleave, int swizzle, int promotion, int fill) {
  NEED(reinterpret_cast<size_t>(map) % 64 == 0 && reinterpret_cast<size_t>(base) % 16 == 0, kInvalidValue);
  NEED(type >= 0 && type <= 4 && rank >= 1 && rank <= 5 && interleave == 0 && fill == 0, kInvalidValue);
  NEED(swizzle >= 0 && swizzle <= 3 && promotion >= 0 && promotion <= 3, kInvalidValue);
  for (unsigned d = 0; d < rank; ++d) {
    NEED(extents[d] >= 1 && extents[d] <= 1ULL << 32 && box[d] >= 1 && box[d] <= 256 && steps[d] == 1, kInvalidValue);
    NEED(d + 1 == rank || (strides[d] % 16 == 0 && strides[d] < 1ULL << 40), kInvalidValue);
  }
  return 0;
}
Result cuStreamBeginCapture_v2(Stream* stream, int) {
  NEED_CONTEXT;
  NEED(Has(stream) && !stream->capturing, kIllegalState);
  NEED(capture == nullptr, kUnsupportedInCapture);
  stream->capturing = true;
  stream->invalidated = false;
  stream->captured = 0;
  capture = stream;
  return 0;
}
Result cuStreamEndCapture(Stream* stream, Graph** graph) {
  NEED_CONTEXT;
  NEED(Has(stream) && stream->capturing, kIllegalState);
  stream->capturing = false;
  capture = nullptr;
  *graph = nullptr;
  NEED(!stream->invalidated, kCaptureInvalidated);
  return *graph = Add(new Graph{stream->captured}), 0;
}
Result cuGraphInstantiateWithFlags(Graph** executable, Graph* graph, unsigned long long) {
  NEED_CONTEXT;
  NEED(Has(graph), kInvalidHandle);
  return *executable = Add(new Graph(*graph)), 0;
}
Result cuGraphLaunch(Graph* graph, Stream* stream) {
  NEED_CONTEXT;
  return Has(graph) && Has(stream) ? 0 : kInvalidHandle;
}
Result cuGraphExecDestroy(Graph* graph) {
  NEED_CONTEXT;
  return Remove(graph);
}
Result cuGraphDestroy(Graph* graph) {
  NEED_CONTEXT;
  return Remove(graph);
}

#pragma GCC visibility pop
}
