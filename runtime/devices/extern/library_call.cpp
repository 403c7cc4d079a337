#include "runtime/devices/extern/library_call.h"

#include <cstdlib>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/devices/extern/cublaslt.h"
#include "runtime/devices/extern/gemm_descriptor.h"
#include "runtime/logs.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

using cublaslt::Library;

absl::StatusOr<const Library*> LibraryFor(Kind kind) {
  if (kind == Kind::kCuda) return Library::Load();
  const char* const path = std::getenv("TCC_CUBLASLT_SIM");
  if (kind != Kind::kCudaSim || path == nullptr || *path == '\0') {
    return absl::NotFoundError(
        "no cuBLASLt: there is none for the simulated device (TCC_CUBLASLT_SIM names one that "
        "works on memory of the host)");
  }
  return Library::Load(path);
}

// Destroyed by a function of the library.
template <typename T>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (value_ != nullptr) destroy_(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T** Put(cublaslt::Result (*destroy)(T*)) {
    destroy_ = destroy;
    return &value_;
  }
  T* get() const { return value_; }

 private:
  T* value_ = nullptr;
  cublaslt::Result (*destroy_)(T*) = nullptr;
};

// cuBLASLt thinks in columns: a row-major matrix is its transpose, and c^T = b^T a^T. So its A is our b, its bias, one
// element for each row of its D, is ours for each column of c.
class Gemm : public LibraryCall {
 public:
  Gemm(const Library& library, const GemmDescriptor& descriptor, std::string name)
      : l_(library), d_(descriptor), name_(std::move(name)) {}

  absl::Status Prepare() {
    TCC_RETURN_IF_ERROR(Check(l_.Create(handle_.Put(l_.Destroy)), "start"));
    const bool wide = d_.element == DType::kF64;
    const int scale = wide ? cublaslt::kR64F : cublaslt::kR32F;
    TCC_RETURN_IF_ERROR(
        Check(l_.DescCreate(desc_.Put(l_.DescDestroy), wide ? cublaslt::kCompute64F : cublaslt::kCompute32F, scale),
              "describe the product"));
    const int32_t op_a = d_.b.transposed ? cublaslt::kOpT : cublaslt::kOpN;
    const int32_t op_b = d_.a.transposed ? cublaslt::kOpT : cublaslt::kOpN;
    TCC_RETURN_IF_ERROR(Set(cublaslt::kDescTransA, op_a));
    TCC_RETURN_IF_ERROR(Set(cublaslt::kDescTransB, op_b));
    uint32_t epilogue = d_.bias >= 0 ? cublaslt::kEpilogueBias : 0;
    if (d_.relu) epilogue |= cublaslt::kEpilogueRelu;
    TCC_RETURN_IF_ERROR(Set(cublaslt::kDescEpilogue, epilogue == 0 ? cublaslt::kEpilogueDefault : epilogue));
    TCC_RETURN_IF_ERROR(MakeLayout(&a_, d_.b, d_.n, d_.k));
    TCC_RETURN_IF_ERROR(MakeLayout(&b_, d_.a, d_.k, d_.m));
    TCC_RETURN_IF_ERROR(MakeLayout(&c_, d_.c, d_.n, d_.m));
    TCC_RETURN_IF_ERROR(Find(kAligned, &aligned_));
    return absl::OkStatus();
  }

  absl::Status Run(void** params, void* stream) override {
    const auto address = [&](const GemmDescriptor::Matrix& matrix) {
      return *static_cast<char**>(params[matrix.parameter]) + matrix.start * Bytes();
    };
    char *const a = address(d_.a), *const b = address(d_.b), *const c = address(d_.c);
    // One at a time: the bias is part of what is shared.
    const std::lock_guard lock(mutex_);
    if (d_.bias >= 0) {
      const void* bias = *static_cast<void**>(params[d_.bias]);
      TCC_RETURN_IF_ERROR(Set(cublaslt::kDescBiasPointer, bias));
    }
    const cublaslt::Algorithm* algorithm = &aligned_;
    if ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | reinterpret_cast<uintptr_t>(c)) % kAligned !=
        0) {
      if (!unaligned_) {
        cublaslt::Algorithm found;
        TCC_RETURN_IF_ERROR(Find(static_cast<uint32_t>(Bytes()), &found));
        unaligned_ = found;
      }
      algorithm = &*unaligned_;
    }
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const bool wide = d_.element == DType::kF64;
    const void* const alpha = wide ? static_cast<const void*>(&wide_one) : &one;
    const void* const beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
    return Check(l_.Matmul(handle_.get(), desc_.get(), alpha, b, a_.get(), a, b_.get(), beta, c, c_.get(), c, c_.get(),
                           algorithm, nullptr, 0, stream),
                 "compute");
  }

 private:
  static constexpr uint32_t kAligned = 16;

  int64_t Bytes() const { return DTypeBits(d_.element) / 8; }
  absl::Status Check(cublaslt::Result result, absl::string_view what) const {
    return WithContext(name_, l_.Error(result, what));
  }
  template <typename T>
  absl::Status Set(int attribute, T value) {
    return Check(l_.DescSet(desc_.get(), attribute, &value, sizeof(value)), "describe the product");
  }

  // `rows` and `columns` as the product has them; in memory they may be the other way round.
  absl::Status MakeLayout(Owned<cublaslt::Layout>* layout, const GemmDescriptor::Matrix& matrix, int64_t rows,
                          int64_t columns) {
    int type = cublaslt::kR32F;
    if (d_.element == DType::kF16) type = cublaslt::kR16F;
    if (d_.element == DType::kBF16) type = cublaslt::kR16BF;
    if (d_.element == DType::kF64) type = cublaslt::kR64F;
    if (matrix.transposed) std::swap(rows, columns);
    TCC_RETURN_IF_ERROR(Check(l_.LayoutCreate(layout->Put(l_.LayoutDestroy), type, static_cast<uint64_t>(rows),
                                              static_cast<uint64_t>(columns), matrix.pitch),
                              "describe a matrix"));
    if (d_.batch == 1) return absl::OkStatus();
    const auto count = static_cast<int32_t>(d_.batch);
    TCC_RETURN_IF_ERROR(
        Check(l_.LayoutSet(layout->get(), cublaslt::kLayoutBatchCount, &count, sizeof(count)), "describe a batch"));
    return Check(
        l_.LayoutSet(layout->get(), cublaslt::kLayoutBatchStride, &matrix.batch_stride, sizeof(matrix.batch_stride)),
        "describe a batch");
  }

  // Without a workspace: calls on several streams would share it.
  absl::Status Find(uint32_t alignment, cublaslt::Algorithm* algorithm) {
    Owned<cublaslt::Preference> preference;
    TCC_RETURN_IF_ERROR(Check(l_.PreferenceCreate(preference.Put(l_.PreferenceDestroy)), "ask for a way to do it"));
    const uint64_t workspace = 0;
    cublaslt::Result result =
        l_.PreferenceSet(preference.get(), cublaslt::kPreferenceWorkspace, &workspace, sizeof(workspace));
    for (int matrix = 0; matrix < 4 && result == cublaslt::kSuccess; ++matrix) {
      result =
          l_.PreferenceSet(preference.get(), cublaslt::kPreferenceAlignmentA + matrix, &alignment, sizeof(alignment));
    }
    TCC_RETURN_IF_ERROR(Check(result, "ask for a way to do it"));
    cublaslt::HeuristicResult found = {};
    int count = 0;
    TCC_RETURN_IF_ERROR(Check(l_.Heuristic(handle_.get(), desc_.get(), a_.get(), b_.get(), c_.get(), c_.get(),
                                           preference.get(), 1, &found, &count),
                              "find a way to do it"));
    if (count < 1) return Check(cublaslt::kNotSupported, "find a way to do it");
    TCC_RETURN_IF_ERROR(Check(found.state, "find a way to do it"));
    *algorithm = found.algorithm;
    return absl::OkStatus();
  }

  const Library& l_;
  const GemmDescriptor d_;
  const std::string name_;
  Owned<cublaslt::Handle> handle_;
  Owned<cublaslt::Desc> desc_;
  Owned<cublaslt::Layout> a_, b_, c_;
  cublaslt::Algorithm aligned_ = {};
  std::mutex mutex_;
  std::optional<cublaslt::Algorithm> unaligned_;  // guarded by mutex_
};

}  // namespace

absl::StatusOr<std::string> LibraryVersion(std::string_view arch, Kind kind) {
  if (arch != kCublasLt) return absl::NotFoundError(absl::StrCat("no library is called ", std::string(arch)));
  TCC_ASSIGN_OR_RETURN(const Library* const library, LibraryFor(kind));
  return absl::StrCat("cuBLASLt ", library->VersionText());
}

int LibrarySuits(std::string_view arch, Kind kind) {
  constexpr int kBest = 1 << 20;
  if (arch != kCublasLt) return 0;
  const absl::Status status = LibraryFor(kind).status();
  if (status.ok()) return kBest;
  static std::once_flag once;
  std::call_once(once, [&] {
    Log("perf_hints",
        absl::StrCat("products that cuBLASLt was measured to be best at are generated kernels: ", status.message()));
  });
  return 0;
}

bool IsLibraryCall(std::string_view bytes) { return IsGemmDescriptor(bytes); }

absl::StatusOr<std::unique_ptr<LibraryCall>> MakeLibraryCall(std::string_view bytes, Kind kind,
                                                             const std::string& name) {
  TCC_ASSIGN_OR_RETURN(const GemmDescriptor descriptor, GemmDescriptorFrom(bytes));
  TCC_ASSIGN_OR_RETURN(const Library* const library, LibraryFor(kind));
  auto call = std::make_unique<Gemm>(*library, descriptor, name);
  TCC_RETURN_IF_ERROR(call->Prepare());
  return call;
}

}  // namespace tcc::devices
