// tcc: compiles models to native code.
//
//   absl::StatusOr<tcc::Callable> model = tcc::Compile(tcc::Load("model.onnx"), {.mode = tcc::Mode::kReduceOverhead});
//   absl::StatusOr<std::vector<tcc::Tensor>> out = (*model)({image});
//
// The first call compiles; later calls, and later processes, do not. Compilation happens in a process of its own
// (tcc-worker), found relative to this library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/dlpack.h"
#include "runtime/export.h"
#include "runtime/run_options.h"
#include "runtime/tensor.h"
#include "runtime/tensor_info.h"
#include "tcc/options.h"

namespace tcc {

class Session;

// A model file: ONNX (`.onnx`) or a package (`.tcc`). Cheap to copy.
class TCC_API Model {
 public:
  const std::string& path() const { return path_; }

 private:
  friend absl::StatusOr<Model> Load(const std::string& path);
  explicit Model(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// NotFound or InvalidArgument, with the path, for what is not a model. What is in the file is checked when it is
// compiled.
TCC_API absl::StatusOr<Model> Load(const std::string& path);

// A kernel or library call of a compiled graph.
struct KernelInfo {
  std::string name;
  std::vector<std::string> sources;  // the ops it does
  std::string schedule;              // how it was generated; empty: a library call
  double flops = 0;                  // estimates; extents that vary count with the smallest that the graph takes
  double bytes = 0;
};

// One specialisation: the graph compiled for some dtypes and extents.
struct GraphInfo {
  std::vector<std::string> inputs;  // "x: f32[s0,3,224,224]"
  std::vector<std::string> guards;  // "s0: from 2 to 64"
  std::string reason;               // why it was compiled, after the first
  std::string mode, precision;      // as they are called on the command line
  bool cache_hit = false;
  double compile_seconds = 0;
  std::string package;
  std::vector<KernelInfo> kernels;
};

struct Explanation {
  std::vector<GraphInfo> graphs;
  std::vector<std::string> breaks;  // reasons, with places in the user's source
};

// A compiled model. Copies share it. Safe to call from many threads.
class TCC_API Callable {
 public:
  Callable();  // of no model: calls are errors
  ~Callable();
  Callable(const Callable&);
  Callable& operator=(const Callable&);
  Callable(Callable&&) noexcept;
  Callable& operator=(Callable&&) noexcept;

  // Inputs in the model's order; optional ones may be invalid, or left out at the end. The outputs are the caller's.
  // Any number of threads may call at once; those that need the same new specialisation wait for one compile. Errors:
  //   InvalidArgument     inputs that do not fit the model, `options` that do not fit the call, a tensor without
  //                       memory or that Wrap refused, a faulty model, values for which a check of the model fails
  //   OutOfRange          values that are indices beyond an axis, and the like
  //   Unimplemented       ops that are not supported, by the names of their nodes
  //   FailedPrecondition  the callable has no model, `options.context` is in use, the model's file has changed since
  //                       it was opened and a compile is needed, there is no device for the target, or no code for it
  //   NotFound            a file that is not there any more
  //   DeadlineExceeded    compile_timeout_seconds ran out
  //   ResourceExhausted   no memory; of a device with what the model takes of it
  //   Unavailable         no compile worker could be started
  //   Internal            a fault of tcc, or a compile that was killed; names a file to reproduce it
  // After any error the callable can be used as before.
  absl::StatusOr<std::vector<Tensor>> operator()(absl::Span<const Tensor> inputs, const RunOptions& options = {}) const;
  absl::StatusOr<std::vector<Tensor>> operator()(std::initializer_list<Tensor> inputs,
                                                 const RunOptions& options = {}) const;
  // The same into memory of the caller: one tensor for each output, of its dtype and extents, with any strides; an
  // invalid one for an output that is not wanted. They may overlap inputs: state is updated in its place. Calls at the
  // same time need memory of their own. The same errors; after one it is not said what the memory holds.
  absl::Status Run(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                   const RunOptions& options = {}) const;

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<std::string>& output_names() const;

  // What was compiled so far.
  Explanation Explain() const;

 private:
  friend absl::StatusOr<Callable> Compile(const Model& model, const Options& options);
  friend absl::StatusOr<Explanation> Explain(const Callable& callable, absl::Span<const TensorType> inputs);
  struct State;
  std::shared_ptr<const State> state_;
};

// Checks the options and reads the model's inputs and outputs; compilation follows with the first call. InvalidArgument
// for options that make no sense or do not fit the model, and for what is no model; NotFound. Thread-safe, as all
// functions here.
TCC_API absl::StatusOr<Callable> Compile(const Model& model, const Options& options = {});
// The same for the result of Load: its error, if it is one.
TCC_API absl::StatusOr<Callable> Compile(const absl::StatusOr<Model>& model, const Options& options = {});

// Compiles for such inputs, if need be, and tells about it. Nothing is run. Of a package: InvalidArgument where it has
// no specialisation for them. Otherwise the errors of a call.
TCC_API absl::StatusOr<Explanation> Explain(const Callable& callable, absl::Span<const TensorType> inputs);

TCC_API const char* Version();

}  // namespace tcc
