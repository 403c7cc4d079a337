// A cuBLASLt that computes on the host, for what no machine without a GPU could try. It checks what it is given as the
// real one does, and more. $FAKE_CUBLASLT_FAIL lets a function fail: "heuristic:15". $FAKE_CUBLASLT_SHIFT is what
// addresses are too high by, as those of the fake driver are.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/devices/extern/cublaslt.h"
#include "runtime/dispatch.h"

namespace {

using namespace tcc::devices::cublaslt;

constexpr Result kInvalidValue = 7;
constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;

Result Injected(const char* what) {
  const char* const fault = std::getenv("FAKE_CUBLASLT_FAIL");
  const std::string prefix = std::string(what) + ":";
  if (fault == nullptr || std::string(fault).rfind(prefix, 0) != 0) return kSuccess;
  return std::atoi(fault + prefix.size());
}

struct FakeDesc {
  int compute = 0, scale = 0;
  int32_t op_a = kOpN, op_b = kOpN;
  uint32_t epilogue = kEpilogueDefault;
  const void* bias = nullptr;
};
struct FakeLayout {
  int type = 0;
  int64_t rows = 0, columns = 0, pitch = 0, stride = 0;
  int32_t batch = 1;
};
struct FakePreference {
  uint64_t workspace = kMostWorkspace + 1;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

template <typename T>
bool Copy(T* to, const void* from, size_t size) {
  if (size != sizeof(T)) return false;
  std::memcpy(to, from, size);
  return true;
}

tcc::DType DTypeOf(int type) {
  switch (type) {
    case kR32F:
      return tcc::DType::kF32;
    case kR64F:
      return tcc::DType::kF64;
    case kR16F:
      return tcc::DType::kF16;
    default:
      return tcc::DType::kBF16;
  }
}
double Load(int type, const void* data, int64_t i) { return tcc::LoadDouble(data, DTypeOf(type), i); }
void Store(int type, void* data, int64_t i, double value) { tcc::StoreDouble(data, DTypeOf(type), i, value); }

// Whether the extents of a product belong together.
bool Fits(const FakeDesc& d, const FakeLayout& a, const FakeLayout& b, const FakeLayout& c) {
  const int64_t m = d.op_a == kOpN ? a.rows : a.columns, k = d.op_a == kOpN ? a.columns : a.rows;
  const int64_t k_of_b = d.op_b == kOpN ? b.rows : b.columns, n = d.op_b == kOpN ? b.columns : b.rows;
  bool fits = m == c.rows && n == c.columns && k == k_of_b && a.type == b.type && a.type == c.type;
  for (const FakeLayout* layout : {&a, &b, &c}) fits &= layout->pitch >= layout->rows && layout->batch == c.batch;
  const bool wide = a.type == kR64F;
  return fits &&
         (d.compute == (wide ? kCompute64F : kCompute32F) || (a.type == kR32F && d.compute == kCompute32FastTf32)) &&
         d.scale == (wide ? kR64F : kR32F);
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE size_t cublasLtGetVersion() { return FAKE_CUBLASLT_VERSION; }
FAKE const char* cublasLtGetStatusString(Result result) {
  return result == kSuccess        ? "success"
         : result == kNotSupported ? "the requested functionality is not supported"
         : result == 13            ? "the function failed to launch on the GPU"
                                   : "another error";
}
#ifndef FAKE_CUBLASLT_LACKS_CREATE
FAKE Result cublasLtCreate(Handle** handle) {
  *handle = reinterpret_cast<Handle*>(new int(1));
  return Injected("create");
}
#endif
FAKE Result cublasLtDestroy(Handle* handle) {
  delete reinterpret_cast<int*>(handle);
  return kSuccess;
}
FAKE Result cublasLtMatmulDescCreate(Desc** desc, int compute, int scale) {
  auto* const made = new FakeDesc;
  made->compute = compute;
  made->scale = scale;
  *desc = reinterpret_cast<Desc*>(made);
  return kSuccess;
}
FAKE Result cublasLtMatmulDescDestroy(Desc* desc) {
  delete reinterpret_cast<FakeDesc*>(desc);
  return kSuccess;
}
FAKE Result cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* value, size_t size) {
  auto& d = *reinterpret_cast<FakeDesc*>(desc);
  bool done = false;
  if (attribute == kDescTransA) done = Copy(&d.op_a, value, size);
  if (attribute == kDescTransB) done = Copy(&d.op_b, value, size);
  if (attribute == kDescEpilogue) done = Copy(&d.epilogue, value, size);
  if (attribute == kDescBiasPointer) done = Copy(&d.bias, value, size);
  return done ? kSuccess : kInvalidValue;
}
FAKE Result cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t pitch) {
  auto* const made = new FakeLayout;
  made->type = type;
  made->rows = static_cast<int64_t>(rows);
  made->columns = static_cast<int64_t>(columns);
  made->pitch = pitch;
  *layout = reinterpret_cast<Layout*>(made);
  return kSuccess;
}
FAKE Result cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete reinterpret_cast<FakeLayout*>(layout);
  return kSuccess;
}
FAKE Result cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, size_t size) {
  auto& l = *reinterpret_cast<FakeLayout*>(layout);
  bool done = false;
  if (attribute == kLayoutBatchCount) done = Copy(&l.batch, value, size);
  if (attribute == kLayoutBatchStride) done = Copy(&l.stride, value, size);
  return done ? kSuccess : kInvalidValue;
}
FAKE Result cublasLtMatmulPreferenceCreate(Preference** preference) {
  *preference = reinterpret_cast<Preference*>(new FakePreference);
  return kSuccess;
}
FAKE Result cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete reinterpret_cast<FakePreference*>(preference);
  return kSuccess;
}
FAKE Result cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value,
                                                 size_t size) {
  auto& p = *reinterpret_cast<FakePreference*>(preference);
  bool done = false;
  if (attribute == kPreferenceWorkspace) done = Copy(&p.workspace, value, size);
  if (attribute >= kPreferenceAlignmentA && attribute < kPreferenceAlignmentA + 4) {
    done = Copy(&p.alignment[attribute - kPreferenceAlignmentA], value, size);
  }
  return done ? kSuccess : kInvalidValue;
}
// The way that is found says which alignment it needs.
FAKE Result cublasLtMatmulAlgoGetHeuristic(Handle*, Desc* desc, Layout* a, Layout* b, Layout* c, Layout* d,
                                           Preference* preference, int count, HeuristicResult* results, int* found) {
  if (const Result fault = Injected("heuristic"); fault != kSuccess) return fault;
  const auto& p = *reinterpret_cast<FakePreference*>(preference);
  if (count < 1 || reinterpret_cast<FakeLayout*>(c)->rows != reinterpret_cast<FakeLayout*>(d)->rows ||
      p.workspace > kMostWorkspace ||
      !Fits(*reinterpret_cast<FakeDesc*>(desc), *reinterpret_cast<FakeLayout*>(a), *reinterpret_cast<FakeLayout*>(b),
            *reinterpret_cast<FakeLayout*>(c))) {
    return kInvalidValue;
  }
  *found = Injected("none") == kSuccess ? 1 : 0;
  results[0] = {};
  for (int i = 0; i < 4; ++i) results[0].algorithm.data[i] = p.alignment[i];
  return kSuccess;
}
FAKE Result cublasLtMatmul(Handle* handle, Desc* desc, const void* alpha, const void* a, Layout* layout_a,
                           const void* b, Layout* layout_b, const void* beta, const void* addend, Layout* layout_addend,
                           void* c, Layout* layout_c, const Algorithm* algorithm, void* memory, size_t workspace,
                           void*) {
  if (const Result fault = Injected("matmul"); fault != kSuccess) return fault;
  const auto& d = *reinterpret_cast<FakeDesc*>(desc);
  const auto &la = *reinterpret_cast<FakeLayout*>(layout_a), &lb = *reinterpret_cast<FakeLayout*>(layout_b),
             &ladd = *reinterpret_cast<FakeLayout*>(layout_addend), &lc = *reinterpret_cast<FakeLayout*>(layout_c);
  if (handle == nullptr || algorithm == nullptr || (workspace != 0 && memory == nullptr) || !Fits(d, la, lb, lc) ||
      !Fits(d, la, lb, ladd)) {
    return kInvalidValue;
  }
  const void* const places[] = {a, b, addend, c};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<uintptr_t>(places[i]) % algorithm->data[i] != 0) return kInvalidValue;
  }
  const char* const shift = std::getenv("FAKE_CUBLASLT_SHIFT");
  if (shift != nullptr) {
    const int64_t bytes = std::atoll(shift);
    a = static_cast<const char*>(a) - bytes;
    b = static_cast<const char*>(b) - bytes;
    addend = static_cast<const char*>(addend) - bytes;
    c = static_cast<char*>(c) - bytes;
    memory = static_cast<char*>(memory) - bytes;
  }
  std::memset(memory, 0x5A, workspace);
  const double factor = Load(d.scale, beta, 0);
  if (Load(d.scale, alpha, 0) != 1 || (factor != 0 && factor != 1)) return kInvalidValue;
  if ((d.epilogue & kEpilogueBias) != 0 && d.bias == nullptr) return kInvalidValue;
  const int64_t depth = d.op_a == kOpN ? la.columns : la.rows;
  for (int64_t g = 0; g < lc.batch; ++g) {
    for (int64_t column = 0; column < lc.columns; ++column) {
      for (int64_t row = 0; row < lc.rows; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t at_a = g * la.stride + (d.op_a == kOpN ? k * la.pitch + row : row * la.pitch + k);
          const int64_t at_b = g * lb.stride + (d.op_b == kOpN ? column * lb.pitch + k : k * lb.pitch + column);
          sum += Load(la.type, a, at_a) * Load(lb.type, b, at_b);
        }
        if (factor != 0) sum += Load(ladd.type, addend, g * ladd.stride + column * ladd.pitch + row);
        if ((d.epilogue & kEpilogueBias) != 0) sum += Load(lc.type, d.bias, row);
        if ((d.epilogue & kEpilogueRelu) != 0) sum = sum > 0 ? sum : 0;
        Store(lc.type, c, g * lc.stride + column * lc.pitch + row, sum);
      }
    }
  }
  return kSuccess;
}
