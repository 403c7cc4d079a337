// A matrix product by cuBLASLt.
#include <mutex>
#include <optional>

#include "runtime/devices/extern/library_handles.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

using cublaslt::Library;

// cuBLASLt thinks in columns: a row-major matrix is its transpose, and c^T = b^T a^T. So its A is our b, its bias, one
// element for each row of its D, is ours for each column of c.
class Gemm : public LibraryCall {
 public:
  Gemm(const Library& library, std::shared_ptr<LibraryHandles> handles, const GemmDescriptor& descriptor,
       const std::string& name, const std::vector<UsedParameter>& used)
      : LibraryCall(name, used), l_(library), handles_(std::move(handles)), d_(descriptor) {}

  absl::Status Prepare() {
    absl::StatusOr<cublaslt::Handle*> handle = handles_->Get(l_);
    if (!handle.ok()) return WithContext(name(), handle.status());
    handle_ = *handle;
    const bool wide = d_.element == DType::kF64;
    const int scale = wide ? cublaslt::kR64F : cublaslt::kR32F;
    TCC_RETURN_IF_ERROR(Check(l_.DescCreate(desc_.Put(l_.DescDestroy),
                                            wide      ? cublaslt::kCompute64F
                                            : d_.tf32 ? cublaslt::kCompute32FastTf32
                                                      : cublaslt::kCompute32F,
                                            scale),
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
    TCC_RETURN_IF_ERROR(MakeLayout(&c_, d_.addend.parameter >= 0 ? d_.addend : d_.c, d_.n, d_.m));
    TCC_RETURN_IF_ERROR(MakeLayout(&result_, d_.c, d_.n, d_.m));
    TCC_RETURN_IF_ERROR(Find(kAligned, &aligned_));
    return absl::OkStatus();
  }

  absl::Status DoRun(absl::Span<void* const> params, void* stream) override {
    const auto address = [&](const GemmDescriptor::Matrix& matrix) {
      return *static_cast<char**>(params[static_cast<size_t>(matrix.parameter)]) + matrix.start * Bytes();
    };
    const bool adds = d_.addend.parameter >= 0;
    char *const a = address(d_.a), *const b = address(d_.b), *const result = address(d_.c);
    char* const c = adds ? address(d_.addend) : result;
    void* workspace = nullptr;
    if (d_.workspace >= 0) workspace = *static_cast<void**>(params[static_cast<size_t>(d_.workspace)]);
    // One at a time: the bias is part of what is shared.
    const std::lock_guard lock(mutex_);
    if (d_.bias >= 0) {
      const void* bias = *static_cast<void**>(params[static_cast<size_t>(d_.bias)]);
      TCC_RETURN_IF_ERROR(Set(cublaslt::kDescBiasPointer, bias));
    }
    const cublaslt::Algorithm* algorithm = &aligned_;
    uintptr_t places = 0;
    for (const char* place : {a, b, c, result}) places |= reinterpret_cast<uintptr_t>(place);
    if (places % kAligned != 0) {
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
    const void* const none = wide ? static_cast<const void*>(&wide_zero) : &zero;
    return Check(
        l_.Matmul(handle_, desc_.get(), alpha, b, a_.get(), a, b_.get(), adds ? alpha : none, c, c_.get(), result,
                  result_.get(), algorithm, workspace, static_cast<size_t>(d_.workspace_bytes), stream),
        "compute");
  }

 private:
  static constexpr uint32_t kAligned = 16;

  int64_t Bytes() const { return DTypeBits(d_.element) / 8; }
  absl::Status Check(cublaslt::Result result, absl::string_view what) const {
    return WithContext(name(), l_.Error(result, what));
  }
  template <typename T>
  absl::Status Set(int attribute, T value) {
    return Check(l_.DescSet(desc_.get(), attribute, static_cast<const void*>(&value), sizeof(value)),
                 "describe the product");
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

  absl::Status Find(uint32_t alignment, cublaslt::Algorithm* algorithm) {
    Owned<cublaslt::Preference> preference;
    TCC_RETURN_IF_ERROR(Check(l_.PreferenceCreate(preference.Put(l_.PreferenceDestroy)), "ask for a way to do it"));
    const auto workspace = static_cast<uint64_t>(d_.workspace_bytes);
    cublaslt::Result result =
        l_.PreferenceSet(preference.get(), cublaslt::kPreferenceWorkspace, &workspace, sizeof(workspace));
    for (int matrix = 0; matrix < 4 && result == cublaslt::kSuccess; ++matrix) {
      result =
          l_.PreferenceSet(preference.get(), cublaslt::kPreferenceAlignmentA + matrix, &alignment, sizeof(alignment));
    }
    TCC_RETURN_IF_ERROR(Check(result, "ask for a way to do it"));
    cublaslt::HeuristicResult found = {};
    int count = 0;
    TCC_RETURN_IF_ERROR(Check(l_.Heuristic(handle_, desc_.get(), a_.get(), b_.get(), c_.get(), result_.get(),
                                           preference.get(), 1, &found, &count),
                              "find a way to do it"));
    if (count < 1) return Check(cublaslt::kNotSupported, "find a way to do it");
    TCC_RETURN_IF_ERROR(Check(found.state, "find a way to do it"));
    *algorithm = found.algorithm;
    return absl::OkStatus();
  }

  const Library& l_;
  const std::shared_ptr<LibraryHandles> handles_;
  const GemmDescriptor d_;
  cublaslt::Handle* handle_ = nullptr;
  Owned<cublaslt::Desc> desc_;
  Owned<cublaslt::Layout> a_, b_, c_, result_;
  cublaslt::Algorithm aligned_ = {};
  std::mutex mutex_;
  std::optional<cublaslt::Algorithm> unaligned_;  // guarded by mutex_
};

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryCall>> MakeGemmCall(const Library& library,
                                                          const std::shared_ptr<LibraryHandles>& handles,
                                                          const GemmDescriptor& descriptor, const std::string& name) {
  GemmDescriptor mine = descriptor;
  auto call = std::make_unique<Gemm>(library, handles, descriptor, name, ParametersOf(mine));
  TCC_RETURN_IF_ERROR(call->Prepare());
  return call;
}

}  // namespace tcc::devices
