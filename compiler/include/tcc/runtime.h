// Runs packages, without a compiler: tcc::runtime alone.
//
//   absl::StatusOr<tcc::LoadedPackage> model = tcc::LoadPackage("model.tcc");
//   absl::StatusOr<std::vector<tcc::Tensor>> out = (*model)({image});
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/dlpack.h"
#include "runtime/export.h"
#include "runtime/run_options.h"
#include "runtime/tensor.h"
#include "runtime/tensor_info.h"

namespace tcc {

class PackageRunner;
struct PackageOptions;

// Copies share the package. Safe to call from many threads.
class TCC_API LoadedPackage {
 public:
  // Inputs in the package's order; optional ones may be invalid, or left out at the end. Any number of threads may call
  // at once. Errors:
  //   InvalidArgument     no specialisation in the package takes the inputs, `options` do not fit the call, a tensor
  //                       without memory or that Wrap refused, or values for which a check of the model fails
  //   OutOfRange          values that are indices beyond an axis, and the like
  //   FailedPrecondition  `options.context` is in use by another call, there is no device for the package, or no code
  //                       in it for the one there is
  //   ResourceExhausted   no memory; of a device with what the package takes of it
  //   Internal            a fault of tcc or of the package
  // After any error the package can be used as before.
  absl::StatusOr<std::vector<Tensor>> operator()(absl::Span<const Tensor> inputs, const RunOptions& options = {}) const;
  absl::StatusOr<std::vector<Tensor>> operator()(std::initializer_list<Tensor> inputs,
                                                 const RunOptions& options = {}) const;
  // The same into memory of the caller: one tensor for each output, of its dtype and extents, with any strides; an
  // invalid one for an output that is not wanted. They may overlap inputs: state is updated in its place. Calls at the
  // same time need memory of their own. The same errors; after one it is not said what the memory holds.
  absl::Status Run(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                   const RunOptions& options = {}) const;

  // What all specialisations together take and return; valid as long as a copy of the package. An extent that is not
  // the same in all of them is -1, with its range, and its symbol's name where they agree on one.
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::vector<std::string>& input_names() const;
  const std::vector<std::string>& output_names() const;

 private:
  friend absl::StatusOr<LoadedPackage> LoadPackage(const std::string& path, const PackageOptions& options);
  struct State;
  explicit LoadedPackage(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

struct PackageOptions {
  // Where kernels for a device run: "cuda:1", "cuda-sim", "null" (which runs nothing: for what the host side costs);
  // empty: $TCC_DEVICE, else what the package was made for ("cuda:0").
  std::string device;
};

// A package is executable code: load only those you trust. Errors: not a package, damaged, of another format version,
// or for another machine. (Whether there is the device, and code for it, is asked by the first call.)
TCC_API absl::StatusOr<LoadedPackage> LoadPackage(const std::string& path, const PackageOptions& options);
TCC_API absl::StatusOr<LoadedPackage> LoadPackage(const std::string& path);

}  // namespace tcc
