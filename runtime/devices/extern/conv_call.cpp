// A convolution by cuDNN: a graph of the convolution and what follows it, for which cuDNN proposes engines.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/devices/extern/library_handles.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

using cudnn::Descriptor;
using cudnn::Library;
using cudnn::Result;

// Descriptors that belong together. The first error stays, and what comes after it is left out.
class Descriptors {
 public:
  explicit Descriptors(const Library& library) : l_(library) {}
  ~Descriptors() {
    // (Those that were made later refer to earlier ones.)
    for (auto place = all_.rbegin(); place != all_.rend(); ++place) l_.DestroyDescriptor(*place);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  Descriptor* Make(int type) {
    Descriptor* descriptor = nullptr;
    if (result_ == cudnn::kSuccess) result_ = l_.CreateDescriptor(type, &descriptor);
    if (descriptor != nullptr) all_.push_back(descriptor);
    return descriptor;
  }
  template <typename T>
  void Set(Descriptor* descriptor, int attribute, int type, const T* values, size_t count) {
    if (result_ == cudnn::kSuccess) {
      result_ = l_.Set(descriptor, attribute, type, static_cast<int64_t>(count), static_cast<const void*>(values));
    }
  }
  template <typename T>
  void Set(Descriptor* descriptor, int attribute, int type, const T& value) {
    Set(descriptor, attribute, type, &value, 1);
  }
  void Finish(Descriptor* descriptor) {
    if (result_ == cudnn::kSuccess) result_ = l_.Finalize(descriptor);
  }
  Result result() const { return result_; }

 private:
  const Library& l_;
  std::vector<Descriptor*> all_;
  Result result_ = cudnn::kSuccess;
};

// Numbers of tensors in the graph; sums in between have those from kBetween on.
enum Id : int64_t { kX = 1, kW, kY, kBias, kAddend, kBetween };

class Conv : public LibraryCall {
 public:
  Conv(const Library& library, std::shared_ptr<LibraryHandles> handles, const ConvDescriptor& descriptor,
       const std::string& name, const std::vector<UsedParameter>& used)
      : LibraryCall(name, used), l_(library), handles_(std::move(handles)), d_(descriptor) {
    // cuDNN has no convolutions along one axis.
    if (d_.axes.size() > 1) return;
    for (ConvDescriptor::View* view : {&d_.x, &d_.w, &d_.y, &d_.addend}) {
      if (!view->strides.empty()) view->strides.insert(view->strides.begin() + 2, view->strides[2]);
    }
    // One step along the axis that is not there is one whole line.
    d_.x.strides[2] = d_.axes[0].in * d_.x.strides[3];
    d_.w.strides[2] = d_.axes[0].kernel * d_.w.strides[3];
    d_.y.strides[2] = d_.axes[0].out * d_.y.strides[3];
    if (!d_.addend.strides.empty()) d_.addend.strides[2] = d_.axes[0].out * d_.addend.strides[3];
    d_.axes.insert(d_.axes.begin(), ConvDescriptor::Axis());
  }

  absl::Status Prepare() {
    absl::StatusOr<LibraryHandles::Cudnn*> handle = handles_->Get(l_);
    if (!handle.ok()) return WithContext(name(), handle.status());
    handle_ = *handle;
    return Plan(kAligned, &aligned_);
  }

 protected:
  absl::Status DoRun(absl::Span<void* const> params, void* stream) override {
    const auto value = [&](int32_t parameter) { return *static_cast<char**>(params[static_cast<size_t>(parameter)]); };
    const auto address = [&](const ConvDescriptor::View& view) { return value(view.parameter) + view.start * Bytes(); };
    std::vector<int64_t> ids = {kX, kW, kY};
    std::vector<void*> places = {address(d_.x), address(d_.w), address(d_.y)};
    if (d_.bias >= 0) {
      ids.push_back(kBias);
      places.push_back(value(d_.bias));
    }
    if (d_.addend.parameter >= 0) {
      ids.push_back(kAddend);
      places.push_back(address(d_.addend));
    }
    void* const workspace = d_.workspace >= 0 ? value(d_.workspace) : nullptr;
    uintptr_t all = 0;
    for (const void* place : places) all |= reinterpret_cast<uintptr_t>(place);
    // The handle has one stream at a time.
    const std::lock_guard lock(handle_->mutex);
    Way* way = &aligned_;
    if (all % kAligned != 0) {
      if (unaligned_.plan == nullptr) TCC_RETURN_IF_ERROR(Plan(Bytes(), &unaligned_));
      way = &unaligned_;
    }
    // What the last call made is of use where memory is the same, as it mostly is.
    places.push_back(workspace);
    if (way->pack == nullptr || way->places != places) {
      auto made = std::make_unique<Descriptors>(l_);
      Descriptor* const pack = made->Make(cudnn::kVariantPack);
      made->Set(pack, cudnn::kPackIds, cudnn::kTypeInt64, ids.data(), ids.size());
      made->Set(pack, cudnn::kPackPointers, cudnn::kTypePointer, places.data(), ids.size());
      made->Set(pack, cudnn::kPackWorkspace, cudnn::kTypePointer, workspace);
      made->Finish(pack);
      TCC_RETURN_IF_ERROR(Check(made->result(), "take its operands"));
      way->pack = pack;
      way->places = std::move(places);
      way->packs = std::move(made);
    }
    TCC_RETURN_IF_ERROR(Check(l_.SetStream(handle_->handle.get(), stream), "take the stream"));
    return Check(l_.Execute(handle_->handle.get(), way->plan, way->pack), "compute");
  }

 private:
  static constexpr int64_t kAligned = 16;

  // A way to do it, for memory that is aligned so.
  struct Way {
    std::unique_ptr<Descriptors> graph, plans;
    Descriptor* plan = nullptr;
    // The operands of the last call.
    std::vector<void*> places;
    std::unique_ptr<Descriptors> packs;
    Descriptor* pack = nullptr;
  };

  int64_t Bytes() const { return DTypeBits(d_.element) / 8; }
  int Type() const {
    if (d_.element == DType::kF16) return cudnn::kHalf;
    return d_.element == DType::kBF16 ? cudnn::kBfloat16 : cudnn::kFloat;
  }
  absl::Status Check(Result result, absl::string_view what) const {
    return WithContext(name(), l_.Error(result, what));
  }

  Descriptor* MakeTensor(Descriptors& made, int64_t id, const std::vector<int64_t>& extents,
                         const std::vector<int64_t>& strides, int64_t alignment) const {
    const bool between = id >= kBetween;
    Descriptor* const tensor = made.Make(cudnn::kTensor);
    made.Set(tensor, cudnn::kTensorType, cudnn::kTypeDataType, between ? cudnn::kFloat : Type());
    made.Set(tensor, cudnn::kTensorExtents, cudnn::kTypeInt64, extents.data(), extents.size());
    made.Set(tensor, cudnn::kTensorStrides, cudnn::kTypeInt64, strides.data(), strides.size());
    made.Set(tensor, cudnn::kTensorId, cudnn::kTypeInt64, id);
    made.Set(tensor, cudnn::kTensorAlignment, cudnn::kTypeInt64, between ? kAligned : alignment);
    if (between) made.Set(tensor, cudnn::kTensorIsVirtual, cudnn::kTypeBoolean, true);
    made.Finish(tensor);
    return tensor;
  }

  // The operations, in the order in which cuDNN's fused engines know them: sum with the addend, with the bias, max.
  std::vector<Descriptor*> MakeOperations(Descriptors& made, int64_t alignment) const {
    const std::vector<int64_t> extents = d_.y_extents();
    int after = (d_.addend.parameter >= 0 ? 1 : 0) + (d_.bias >= 0 ? 1 : 0) + (d_.relu ? 1 : 0);
    int64_t next = kBetween;
    // What the next operation makes: the result, or a sum that stays inside.
    const auto result = [&] { return MakeTensor(made, after == 0 ? kY : next++, extents, d_.y.strides, alignment); };

    std::vector<int64_t> before, behind, strides, dilations;
    for (const ConvDescriptor::Axis& axis : d_.axes) {
      before.push_back(axis.before);
      behind.push_back(axis.after);
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation);
    }
    const auto axes = static_cast<int64_t>(d_.axes.size());
    Descriptor* const conv = made.Make(cudnn::kConvolution);
    made.Set(conv, cudnn::kConvolutionType, cudnn::kTypeDataType, cudnn::kFloat);
    made.Set(conv, cudnn::kConvolutionMode, cudnn::kTypeConvolutionMode, cudnn::kCrossCorrelation);
    made.Set(conv, cudnn::kConvolutionAxes, cudnn::kTypeInt64, axes);
    made.Set(conv, cudnn::kConvolutionPaddingBefore, cudnn::kTypeInt64, before.data(), before.size());
    made.Set(conv, cudnn::kConvolutionPaddingAfter, cudnn::kTypeInt64, behind.data(), behind.size());
    made.Set(conv, cudnn::kConvolutionStrides, cudnn::kTypeInt64, strides.data(), strides.size());
    made.Set(conv, cudnn::kConvolutionDilations, cudnn::kTypeInt64, dilations.data(), dilations.size());
    made.Finish(conv);
    Descriptor* const x = MakeTensor(made, kX, d_.x_extents(), d_.x.strides, alignment);
    Descriptor* const w = MakeTensor(made, kW, d_.w_extents(), d_.w.strides, alignment);
    Descriptor* last = result();
    const float one = 1, zero = 0;
    Descriptor* const forward = made.Make(cudnn::kConvolutionForward);
    made.Set(forward, cudnn::kForwardConvolution, cudnn::kTypeDescriptor, conv);
    made.Set(forward, cudnn::kForwardX, cudnn::kTypeDescriptor, x);
    made.Set(forward, cudnn::kForwardW, cudnn::kTypeDescriptor, w);
    made.Set(forward, cudnn::kForwardY, cudnn::kTypeDescriptor, last);
    made.Set(forward, cudnn::kForwardAlpha, cudnn::kTypeFloat, one);
    made.Set(forward, cudnn::kForwardBeta, cudnn::kTypeFloat, zero);
    made.Finish(forward);
    std::vector<Descriptor*> operations = {forward};

    const auto pointwise = [&](int mode, Descriptor* operand) {
      --after;
      Descriptor* const made_of = last;
      last = result();
      Descriptor* const function = made.Make(cudnn::kPointwise);
      made.Set(function, cudnn::kPointwiseMode, cudnn::kTypePointwiseMode, mode);
      made.Set(function, cudnn::kPointwisePrecision, cudnn::kTypeDataType, cudnn::kFloat);
      made.Finish(function);
      Descriptor* const operation = made.Make(cudnn::kPointwiseOperation);
      made.Set(operation, cudnn::kOperationPointwise, cudnn::kTypeDescriptor, function);
      made.Set(operation, cudnn::kOperationX, cudnn::kTypeDescriptor, made_of);
      if (operand != nullptr) made.Set(operation, cudnn::kOperationB, cudnn::kTypeDescriptor, operand);
      made.Set(operation, cudnn::kOperationY, cudnn::kTypeDescriptor, last);
      made.Finish(operation);
      operations.push_back(operation);
    };
    if (d_.addend.parameter >= 0) {
      pointwise(cudnn::kAdd, MakeTensor(made, kAddend, extents, d_.addend.strides, alignment));
    }
    if (d_.bias >= 0) {
      std::vector<int64_t> channels(extents.size(), 1), steps(extents.size(), d_.outputs);
      channels[1] = d_.outputs;
      steps[1] = 1;
      pointwise(cudnn::kAdd, MakeTensor(made, kBias, channels, steps, alignment));
    }
    if (d_.relu) pointwise(cudnn::kRelu, nullptr);
    return operations;
  }

  // Whether an engine computes as the generated kernels do: sums in float32, in the same order every time, of what was
  // there; float32 is rounded to tf32 (which is what tensor cores take of it) where that is allowed. Winograd's and
  // Fourier transforms have other errors.
  bool IsFaithful(Descriptors& made, Descriptor* config) const {
    Descriptor* engine = made.Make(cudnn::kEngine);
    int64_t count = 0;
    if (made.result() != cudnn::kSuccess || l_.Get(config, cudnn::kEngineConfigEngine, cudnn::kTypeDescriptor, 1,
                                                   &count, static_cast<void*>(&engine)) != cudnn::kSuccess) {
      return false;
    }
    std::array<int, cudnn::kMostNotes> notes = {};
    if (l_.Get(engine, cudnn::kEngineNumericalNotes, cudnn::kTypeNumericalNote, cudnn::kMostNotes, &count,
               notes.data()) != cudnn::kSuccess) {
      return false;
    }
    const auto* const end = notes.data() + std::clamp<int64_t>(count, 0, cudnn::kMostNotes);
    return std::none_of(std::as_const(notes).data(), end, [&](int note) {
      switch (note) {
        case cudnn::kNoteTensorCore:
        case cudnn::kNoteDownConvert:
          return d_.element == DType::kF32 && !d_.tf32;
        case cudnn::kNoteReducedSums:
        case cudnn::kNoteFft:
        case cudnn::kNoteNondeterministic:
        case cudnn::kNoteWinograd:
          return true;
        default:
          return false;
      }
    });
  }

  // The first engine that does it, computes as it should, and takes no more memory than there is.
  absl::Status Plan(int64_t alignment, Way* way) const {
    auto made = std::make_unique<Descriptors>(l_);
    const std::vector<Descriptor*> operations = MakeOperations(*made, alignment);
    Descriptor* const graph = made->Make(cudnn::kOperationGraph);
    cudnn::Handle* const handle = handle_->handle.get();
    made->Set(graph, cudnn::kGraphHandle, cudnn::kTypeHandle, handle);
    made->Set(graph, cudnn::kGraphOperations, cudnn::kTypeDescriptor, operations.data(), operations.size());
    made->Finish(graph);
    TCC_RETURN_IF_ERROR(Check(made->result(), "describe the convolution"));
    Result last = cudnn::kNotSupported;
    for (const int mode : {cudnn::kModeA, cudnn::kModeFallback}) {
      Descriptors heuristics(l_);
      Descriptor* const asked = heuristics.Make(cudnn::kHeuristics);
      heuristics.Set(asked, cudnn::kHeuristicsGraph, cudnn::kTypeDescriptor, graph);
      heuristics.Set(asked, cudnn::kHeuristicsMode, cudnn::kTypeHeuristicsMode, mode);
      heuristics.Finish(asked);
      int64_t count = 0;
      if (heuristics.result() == cudnn::kSuccess) {
        last = l_.Get(asked, cudnn::kHeuristicsResults, cudnn::kTypeDescriptor, 0, &count, nullptr);
      } else {
        last = heuristics.result();
      }
      if (last != cudnn::kSuccess) continue;
      constexpr int64_t kMostEngines = 64;
      std::vector<Descriptor*> configs(static_cast<size_t>(std::clamp<int64_t>(count, 0, kMostEngines)));
      for (Descriptor*& config : configs) config = made->Make(cudnn::kEngineConfig);
      TCC_RETURN_IF_ERROR(Check(made->result(), "find a way to do it"));
      last = l_.Get(asked, cudnn::kHeuristicsResults, cudnn::kTypeDescriptor, static_cast<int64_t>(configs.size()),
                    &count, static_cast<void*>(configs.data()));
      if (last != cudnn::kSuccess) continue;
      configs.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, static_cast<int64_t>(configs.size()))));
      last = cudnn::kNotSupported;
      for (Descriptor* config : configs) {
        Descriptors scratch(l_);
        if (!IsFaithful(scratch, config)) continue;
        auto plans = std::make_unique<Descriptors>(l_);
        Descriptor* const plan = plans->Make(cudnn::kExecutionPlan);
        plans->Set(plan, cudnn::kPlanHandle, cudnn::kTypeHandle, handle);
        plans->Set(plan, cudnn::kPlanEngineConfig, cudnn::kTypeDescriptor, config);
        plans->Finish(plan);
        int64_t bytes = 0;
        if (plans->result() != cudnn::kSuccess ||
            l_.Get(plan, cudnn::kPlanWorkspace, cudnn::kTypeInt64, 1, &count, &bytes) != cudnn::kSuccess ||
            bytes > d_.workspace_bytes) {
          continue;
        }
        way->graph = std::move(made);
        way->plans = std::move(plans);
        way->plan = plan;
        return absl::OkStatus();
      }
    }
    return Check(last, "find a way to do it");
  }

  const Library& l_;
  const std::shared_ptr<LibraryHandles> handles_;
  ConvDescriptor d_;
  LibraryHandles::Cudnn* handle_ = nullptr;
  // Guarded by the handle's mutex; aligned_ is there from the beginning on.
  Way aligned_, unaligned_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryCall>> MakeConvCall(const Library& library,
                                                          const std::shared_ptr<LibraryHandles>& handles,
                                                          const ConvDescriptor& descriptor, const std::string& name) {
  ConvDescriptor mine = descriptor;
  auto call = std::make_unique<Conv>(library, handles, descriptor, name, ParametersOf(mine));
  TCC_RETURN_IF_ERROR(call->Prepare());
  return call;
}

}  // namespace tcc::devices
