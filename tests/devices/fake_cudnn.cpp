// A cuDNN that computes on the host, for what no machine without a GPU could try. It knows graphs of a convolution and
// what follows it, checks what it is given as the real one does, and more, and proposes engines of which most will not
// do. $FAKE_CUDNN_FAIL lets a function fail: "execute:5000". $FAKE_CUDNN_SHIFT is what addresses are too high by, as
// those of the fake driver are.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/devices/extern/cudnn.h"
#include "runtime/dispatch.h"

namespace {

using namespace tcc::devices::cudnn;

constexpr Result kBadParameter = 2000;
constexpr Result kNotFinalized = 2004;
constexpr Result kMisaligned = 2003;
constexpr int64_t kWorkspace = 512;  // of the engine that will do

Result Injected(const char* what) {
  const char* const fault = std::getenv("FAKE_CUDNN_FAIL");
  const std::string prefix = std::string(what) + ":";
  if (fault == nullptr || std::string(fault).rfind(prefix, 0) != 0) return kSuccess;
  return std::atoi(fault + prefix.size());
}

struct Fake {
  int type = 0;
  bool finished = false;
  std::map<int, std::string> attributes;  // their bytes
  int engine = -1;                        // of a configuration, or an engine itself

  template <typename T>
  std::vector<T> All(int attribute) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T One(int attribute, T otherwise = {}) const {
    const std::vector<T> all = All<T>(attribute);
    return all.size() == 1 ? all[0] : otherwise;
  }
  const Fake* Other(int attribute) const { return One<const Fake*>(attribute); }
  int64_t id() const { return One<int64_t>(kTensorId, -1); }
  std::vector<int64_t> extents() const { return All<int64_t>(kTensorExtents); }
  std::vector<int64_t> strides() const { return All<int64_t>(kTensorStrides); }
  bool is_virtual() const { return One<char>(kTensorIsVirtual) != 0; }
};

Fake* Of(Descriptor* descriptor) { return reinterpret_cast<Fake*>(descriptor); }

// Attribute -> its type and the size of an element.
bool Fits(int attribute, int type) {
  if (type == kTypeDescriptor) {
    return attribute == kForwardConvolution || attribute == kForwardX || attribute == kForwardW ||
           attribute == kForwardY || attribute == kOperationPointwise || attribute == kOperationX ||
           attribute == kOperationB || attribute == kOperationY || attribute == kGraphOperations ||
           attribute == kHeuristicsGraph || attribute == kPlanEngineConfig;
  }
  switch (attribute) {
    case kTensorType:
    case kConvolutionType:
    case kPointwisePrecision:
      return type == kTypeDataType;
    case kTensorIsVirtual:
      return type == kTypeBoolean;
    case kForwardAlpha:
    case kForwardBeta:
      return type == kTypeFloat;
    case kConvolutionMode:
      return type == kTypeConvolutionMode;
    case kPointwiseMode:
      return type == kTypePointwiseMode;
    case kHeuristicsMode:
      return type == kTypeHeuristicsMode;
    case kGraphHandle:
    case kPlanHandle:
      return type == kTypeHandle;
    case kPackPointers:
    case kPackWorkspace:
      return type == kTypePointer;
    default:
      return type == kTypeInt64;
  }
}
size_t SizeOf(int type) {
  switch (type) {
    case kTypeBoolean:
      return sizeof(bool);
    case kTypeInt64:
    case kTypeHandle:
    case kTypePointer:
    case kTypeDescriptor:
      return 8;
    default:
      return 4;
  }
}

// The extents of a convolution belong together, and no two results lie at the same place.
bool IsConvolution(const Fake& operation) {
  const Fake *conv = operation.Other(kForwardConvolution), *x = operation.Other(kForwardX),
             *w = operation.Other(kForwardW), *y = operation.Other(kForwardY);
  if (conv == nullptr || x == nullptr || w == nullptr || y == nullptr) return false;
  const auto xs = x->extents(), ws = w->extents(), ys = y->extents();
  const auto axes = static_cast<size_t>(conv->One<int64_t>(kConvolutionAxes));
  if (axes < 2 || xs.size() != axes + 2 || ws.size() != axes + 2 || ys.size() != axes + 2) return false;
  if (xs[0] != ys[0] || ws[0] != ys[1] || xs[1] % ws[1] != 0 || ys[1] % (xs[1] / ws[1]) != 0) return false;
  const auto before = conv->All<int64_t>(kConvolutionPaddingBefore),
             after = conv->All<int64_t>(kConvolutionPaddingAfter), strides = conv->All<int64_t>(kConvolutionStrides),
             dilations = conv->All<int64_t>(kConvolutionDilations);
  if (before.size() != axes || after.size() != axes || strides.size() != axes || dilations.size() != axes) return false;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t room = xs[i + 2] + before[i] + after[i] - ((ws[i + 2] - 1) * dilations[i] + 1);
    if (room < 0 || ys[i + 2] != room / strides[i] + 1) return false;
  }
  return conv->One<int>(kConvolutionMode) == kCrossCorrelation && operation.One<float>(kForwardAlpha) == 1;
}

// Values of a tensor: in memory, or of the graph itself.
class Values {
 public:
  Values(const Fake& tensor, char* memory) : tensor_(tensor), memory_(memory) {
    int64_t last = 0;
    for (size_t i = 0; i < tensor.extents().size(); ++i) last += (tensor.extents()[i] - 1) * tensor.strides()[i];
    if (memory == nullptr) own_.resize(static_cast<size_t>(last) + 1);
  }
  int64_t At(const std::vector<int64_t>& place) const {
    int64_t at = 0;
    for (size_t i = 0; i < place.size(); ++i) at += (extents_[i] == 1 ? 0 : place[i]) * strides_[i];
    return at;
  }
  double Load(int64_t at) const {
    return memory_ == nullptr ? own_[static_cast<size_t>(at)] : tcc::LoadDouble(memory_, type(), at);
  }
  void Store(int64_t at, double value) {
    if (memory_ == nullptr) {
      own_[static_cast<size_t>(at)] = static_cast<float>(value);
    } else {
      tcc::StoreDouble(memory_, type(), at, value);
    }
  }

 private:
  tcc::DType type() const {
    const int type = tensor_.One<int>(kTensorType);
    return type == kHalf ? tcc::DType::kF16 : type == kBfloat16 ? tcc::DType::kBF16 : tcc::DType::kF32;
  }
  const Fake& tensor_;
  const std::vector<int64_t> extents_ = tensor_.extents(), strides_ = tensor_.strides();
  char* memory_;
  std::vector<float> own_;
};

// All places of a tensor.
void ForEach(const std::vector<int64_t>& extents, const std::function<void(const std::vector<int64_t>&)>& f) {
  std::vector<int64_t> place(extents.size(), 0);
  while (true) {
    f(place);
    size_t axis = extents.size();
    while (axis > 0 && ++place[axis - 1] == extents[axis - 1]) place[--axis] = 0;
    if (axis == 0) return;
  }
}

class Run {
 public:
  explicit Run(const Fake& pack) {
    const auto ids = pack.All<int64_t>(kPackIds);
    const auto pointers = pack.All<char*>(kPackPointers);
    const char* const shift = std::getenv("FAKE_CUDNN_SHIFT");
    for (size_t i = 0; i < ids.size() && i < pointers.size(); ++i) {
      given_[ids[i]] = pointers[i];
      memory_[ids[i]] = pointers[i] - (shift != nullptr ? std::atoll(shift) : 0);
    }
  }
  Result Compute(const Fake& graph) {
    for (const Fake* operation : graph.All<const Fake*>(kGraphOperations)) {
      const Result result = operation->type == kConvolutionForward ? Convolve(*operation) : Pointwise(*operation);
      if (result != kSuccess) return result;
    }
    return kSuccess;
  }

 private:
  Values* Find(const Fake& tensor, Result* result) {
    auto found = values_.find(tensor.id());
    if (found != values_.end()) return &found->second;
    char* memory = nullptr;
    if (!tensor.is_virtual()) {
      if (memory_.count(tensor.id()) == 0) {
        *result = kBadParameter;
        return nullptr;
      }
      memory = memory_[tensor.id()];
      const int64_t alignment = tensor.One<int64_t>(kTensorAlignment, 256);
      if (reinterpret_cast<uintptr_t>(given_[tensor.id()]) % static_cast<uintptr_t>(alignment) != 0) {
        *result = kMisaligned;
        return nullptr;
      }
    }
    return &values_.try_emplace(tensor.id(), tensor, memory).first->second;
  }

  Result Convolve(const Fake& operation) {
    const Fake *conv = operation.Other(kForwardConvolution), *tx = operation.Other(kForwardX),
               *tw = operation.Other(kForwardW), *ty = operation.Other(kForwardY);
    Result result = kSuccess;
    Values *const x = Find(*tx, &result), *const w = Find(*tw, &result), *const y = Find(*ty, &result);
    if (result != kSuccess) return result;
    const auto before = conv->All<int64_t>(kConvolutionPaddingBefore), steps = conv->All<int64_t>(kConvolutionStrides),
               dilations = conv->All<int64_t>(kConvolutionDilations);
    const auto xs = tx->extents(), ws = tw->extents(), ys = ty->extents();
    const int64_t groups = xs[1] / ws[1], per_group = ys[1] / groups;
    std::vector<int64_t> taps(ws.begin() + 1, ws.end());
    ForEach(ys, [&](const std::vector<int64_t>& out) {
      double sum = 0;
      ForEach(taps, [&](const std::vector<int64_t>& tap) {
        std::vector<int64_t> from = {out[0], out[1] / per_group * ws[1] + tap[0]}, weight = {out[1]};
        weight.insert(weight.end(), tap.begin(), tap.end());
        for (size_t axis = 0; axis < before.size(); ++axis) {
          const int64_t at = out[axis + 2] * steps[axis] + tap[axis + 1] * dilations[axis] - before[axis];
          if (at < 0 || at >= xs[axis + 2]) return;
          from.push_back(at);
        }
        sum += x->Load(x->At(from)) * w->Load(w->At(weight));
      });
      y->Store(y->At(out), sum);
    });
    return kSuccess;
  }

  Result Pointwise(const Fake& operation) {
    const Fake *function = operation.Other(kOperationPointwise), *tx = operation.Other(kOperationX),
               *tb = operation.Other(kOperationB), *ty = operation.Other(kOperationY);
    Result result = kSuccess;
    Values *const x = Find(*tx, &result), *const y = Find(*ty, &result);
    Values* const b = tb == nullptr ? nullptr : Find(*tb, &result);
    const int mode = function->One<int>(kPointwiseMode, -1);
    if (result == kSuccess && ((mode == kAdd) != (b != nullptr) || (mode != kAdd && mode != kRelu))) {
      result = kBadParameter;
    }
    if (result != kSuccess) return result;
    ForEach(ty->extents(), [&](const std::vector<int64_t>& place) {
      const double value = x->Load(x->At(place));
      y->Store(y->At(place), b != nullptr ? value + b->Load(b->At(place)) : value > 0 ? value : 0);
    });
    return kSuccess;
  }

  std::map<int64_t, char*> given_, memory_;
  std::map<int64_t, Values> values_;
};

// Engines that are proposed: one rounds or transforms, one takes more memory than anybody has, the third will do.
constexpr int kEngines = 3;

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE size_t cudnnGetVersion() { return FAKE_CUDNN_VERSION; }
FAKE const char* cudnnGetErrorString(Result result) {
  return result == kSuccess                      ? "CUDNN_STATUS_SUCCESS"
         : result / 1000 == kNotSupported / 1000 ? "CUDNN_STATUS_NOT_SUPPORTED"
                                                 : "CUDNN_STATUS_EXECUTION_FAILED";
}
FAKE Result cudnnCreate(Handle** handle) {
  *handle = reinterpret_cast<Handle*>(new int(1));
  return Injected("create");
}
FAKE Result cudnnDestroy(Handle* handle) {
  delete reinterpret_cast<int*>(handle);
  return kSuccess;
}
FAKE Result cudnnSetStream(Handle*, void*) { return kSuccess; }
FAKE Result cudnnBackendCreateDescriptor(int type, Descriptor** descriptor) {
  auto* const made = new Fake;
  made->type = type;
  *descriptor = reinterpret_cast<Descriptor*>(made);
  return kSuccess;
}
FAKE Result cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  delete Of(descriptor);
  return kSuccess;
}
FAKE Result cudnnBackendSetAttribute(Descriptor* descriptor, int attribute, int type, int64_t count,
                                     const void* values) {
  Fake& fake = *Of(descriptor);
  if (fake.finished || !Fits(attribute, type) || values == nullptr) return kBadParameter;
  if (type == kTypeDescriptor) {
    for (int64_t i = 0; i < count; ++i) {
      const Fake* const other = static_cast<Fake* const*>(values)[i];
      if (!other->finished && other->engine < 0) return kNotFinalized;
    }
  }
  fake.attributes[attribute] = std::string(static_cast<const char*>(values), static_cast<size_t>(count) * SizeOf(type));
  return kSuccess;
}
FAKE Result cudnnBackendFinalize(Descriptor* descriptor) {
  Fake& fake = *Of(descriptor);
  if (fake.finished) return kBadParameter;
  if (fake.type == kConvolutionForward && !IsConvolution(fake)) return kBadParameter;
  if (fake.type == kTensor &&
      (fake.id() < 0 || fake.extents().size() < 4 || fake.extents().size() != fake.strides().size())) {
    return kBadParameter;
  }
  if (fake.type == kOperationGraph) {
    if (fake.One<void*>(kGraphHandle) == nullptr) return kBadParameter;
    if (const Result fault = Injected("graph"); fault != kSuccess) return fault;
  }
  if (fake.type == kExecutionPlan) {
    if (fake.One<void*>(kPlanHandle) == nullptr || fake.Other(kPlanEngineConfig) == nullptr) return kBadParameter;
    if (const Result fault = Injected("plan"); fault != kSuccess) return fault;
  }
  fake.finished = true;
  return kSuccess;
}
FAKE Result cudnnBackendGetAttribute(Descriptor* descriptor, int attribute, int type, int64_t requested, int64_t* count,
                                     void* values) {
  const Fake& fake = *Of(descriptor);
  auto** const others = static_cast<Fake**>(values);
  if (fake.type == kHeuristics && attribute == kHeuristicsResults && type == kTypeDescriptor && fake.finished) {
    if (const Result fault = Injected("heuristic"); fault != kSuccess) return fault;
    *count = Injected("none") != kSuccess ? 0 : kEngines;
    for (int64_t i = 0; i < std::min<int64_t>(requested, *count); ++i) {
      others[i]->engine = static_cast<int>(i);
      others[i]->attributes = fake.attributes;
    }
    return kSuccess;
  }
  if (fake.type == kEngineConfig && attribute == kEngineConfigEngine && type == kTypeDescriptor && fake.engine >= 0) {
    if (requested != 1 || others[0]->type != kEngine) return kBadParameter;
    *count = 1;
    others[0]->engine = fake.engine;
    return kSuccess;
  }
  if (fake.type == kEngine && attribute == kEngineNumericalNotes && type == kTypeNumericalNote && fake.engine >= 0) {
    const char* const note = std::getenv("FAKE_CUDNN_NOTE");
    auto* const notes = static_cast<int*>(values);
    *count = fake.engine == 0 || note != nullptr ? 1 : 0;
    if (requested > 0) notes[0] = note != nullptr ? std::atoi(note) : kNoteWinograd;
    return kSuccess;
  }
  if (fake.type == kExecutionPlan && attribute == kPlanWorkspace && type == kTypeInt64 && fake.finished) {
    *count = 1;
    *static_cast<int64_t*>(values) = fake.Other(kPlanEngineConfig)->engine == 1 ? int64_t{1} << 50 : kWorkspace;
    return kSuccess;
  }
  return kBadParameter;
}
FAKE Result cudnnBackendExecute(Handle* handle, Descriptor* plan, Descriptor* pack) {
  if (const Result fault = Injected("execute"); fault != kSuccess) return fault;
  if (handle == nullptr || !Of(plan)->finished || !Of(pack)->finished) return kNotFinalized;
  const Fake& config = *Of(plan)->Other(kPlanEngineConfig);
  if (config.engine != kEngines - 1 && std::getenv("FAKE_CUDNN_NOTE") == nullptr) return kBadParameter;
  void* const workspace = Of(pack)->One<void*>(kPackWorkspace);
  if (workspace == nullptr) return kBadParameter;
  const char* const shift = std::getenv("FAKE_CUDNN_SHIFT");
  std::memset(static_cast<char*>(workspace) - (shift != nullptr ? std::atoll(shift) : 0), 0x5A, kWorkspace);
  return Run(*Of(pack)).Compute(*config.Other(kHeuristicsGraph));
}
