// How to compile a model.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tcc {

enum class Mode {
  kDefault,                  // "default"
  kReduceOverhead,           // "reduce-overhead": a recorded plan, a little more memory
  kMaxAutotune,              // "max-autotune": measured schedules; a long compile
  kMaxAutotuneNoCudagraphs,  // "max-autotune-no-cudagraphs"
};

// How weights and activations are stored inside; accumulation is in float32, inputs and outputs keep their dtype.
// kTF32: as the model says, but GPUs may multiply float32 on tensor cores, which round operands to 10 bits of mantissa.
enum class Precision { kModel, kF32, kBF16, kF16, kTF32 };

// kStrict: loops round each product before it is added, as the model has it. (Matrix products, convolutions and
// attention accumulate with fused multiply-add in either.)
enum class Numerics { kDefault, kStrict };

// What is known of one extent of an input before the first call.
struct DimSpec {
  enum class Kind { kAutomatic, kStatic, kDynamic };
  Kind kind = Kind::kAutomatic;
  int64_t value = 0;  // kStatic
  std::string name;   // kDynamic: extents of equal names are equal; empty: unlike any other
  int64_t min = 0;    // kDynamic
  int64_t max = std::numeric_limits<int64_t>::max();
  int64_t multiple_of = 1;
  bool operator==(const DimSpec&) const = default;
};

// Extents of one input: static, dynamic with a range, or left to automatic dynamic shapes.
struct DynamicSpec {
  std::string input;
  std::vector<DimSpec> dims;
  bool operator==(const DynamicSpec&) const = default;
};

// (tcc::Compile of a package: InvalidArgument where mode, target, fullgraph, precision, numerics or dynamic are set,
// which have no effect on what is compiled already; but kReduceOverhead and device apply.)
struct Options {
  Mode mode = Mode::kDefault;
  // "cpu", "cpu:NAME" (an LLVM CPU name), "cuda" (for the GPU there is), "cuda:sm_90a", "cuda:sm_80,sm_90a" (for those,
  // whatever there is), "cuda-sim" (the kernels of "cuda", run on the host: slow, for tests)
  std::string target = "cpu";
  bool fullgraph = false;  // graph breaks are errors (an ONNX model has none)
  Precision precision = Precision::kModel;
  Numerics numerics = Numerics::kDefault;
  std::vector<DynamicSpec> dynamic = {};
  // After so many specialisations the most general one is compiled, with one warning.
  int recompile_limit = 8;
  bool use_cache = true;
  // A compile that takes longer is an error; 0: no limit. So long, too, a call waits for another process that compiles
  // the same, before it compiles for itself.
  double compile_timeout_seconds = 0;
  // Folders that external data may lie in, besides the model's own.
  std::vector<std::string> external_data_roots = {};
  // Where kernels for a device run: "cuda:1", "cuda-sim", "null" (which runs nothing: for what the host side costs);
  // empty: $TCC_DEVICE, else what the target says ("cuda:0").
  std::string device = {};
};

}  // namespace tcc
