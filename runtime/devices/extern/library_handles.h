// The handles of the libraries on one device. See library_call.h.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/devices/extern/conv_descriptor.h"
#include "runtime/devices/extern/cublaslt.h"
#include "runtime/devices/extern/cudnn.h"
#include "runtime/devices/extern/library_call.h"

namespace tcc::devices {

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
  T** Put(int (*destroy)(T*)) {
    destroy_ = destroy;
    return &value_;
  }
  T* get() const { return value_; }
  void Swap(Owned& other) {
    std::swap(value_, other.value_);
    std::swap(destroy_, other.destroy_);
  }

 private:
  T* value_ = nullptr;
  int (*destroy_)(T*) = nullptr;
};

class LibraryHandles {
 public:
  absl::StatusOr<cublaslt::Handle*> Get(const cublaslt::Library& library);
  struct Cudnn {
    Owned<cudnn::Handle> handle;
    std::mutex mutex;  // of the handle's stream: held while something is put on it
  };
  absl::StatusOr<Cudnn*> Get(const cudnn::Library& library);

 private:
  std::mutex mutex_;
  std::map<const cublaslt::Library*, Owned<cublaslt::Handle>> cublaslt_;  // guarded by mutex_
  std::map<const cudnn::Library*, Cudnn> cudnn_;                          // guarded by mutex_
};

// Each looks for a way to do it.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeGemmCall(const cublaslt::Library& library,
                                                          const std::shared_ptr<LibraryHandles>& handles,
                                                          const GemmDescriptor& descriptor, const std::string& name);
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeConvCall(const cudnn::Library& library,
                                                          const std::shared_ptr<LibraryHandles>& handles,
                                                          const ConvDescriptor& descriptor, const std::string& name);

}  // namespace tcc::devices
