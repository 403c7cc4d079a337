#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/cli/command.h"
#include "frontend/onnx/program/ValueFile.h"
#include "runtime/dispatch.h"
#include "runtime/file_util.h"
#include "runtime/npy.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

bool IsFileName(const std::string& text) {
  return absl::EndsWith(text, ".npz") || absl::EndsWith(text, ".npy") || absl::EndsWith(text, ".pb");
}

// A file of several inputs: given without NAME=, which file names may contain too.
bool IsWholeFile(const std::string& text) {
  return absl::EndsWith(text, ".npz") && (text.find('=') == std::string::npos || Exists(text));
}

// "x=f32[batch,3,?]", as the model declares it.
std::string Describe(const DeclaredInput& input) {
  if (!input.has_rank) return absl::StrCat(input.name, "=", std::string(DTypeName(input.dtype)), "[...]");
  const auto format = [](std::string* out, const DeclaredInput::Dim& dim) {
    absl::StrAppend(out, dim.value >= 0 ? absl::StrCat(dim.value) : dim.param.empty() ? "?" : dim.param);
  };
  return absl::StrCat(input.name, "=", std::string(DTypeName(input.dtype)), "[", absl::StrJoin(input.dims, ",", format),
                      "]");
}

absl::StatusOr<Tensor> LoadTensor(const std::string& path) {
  if (absl::EndsWith(path, ".npy")) return LoadNpy(path);
  if (absl::EndsWith(path, ".pb")) {
    TCC_ASSIGN_OR_RETURN(onnx::Value value, onnx::loadValueFile(path, onnx::ValueInfo::Kind::Tensor));
    return value.tensor;
  }
  if (absl::EndsWith(path, ".npz")) {
    TCC_ASSIGN_OR_RETURN(const NamedTensors tensors, LoadNpz(path));
    if (tensors.size() == 1) return tensors[0].second;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds ", tensors.size(), " arrays; give the file without NAME= to match them by name"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": give a .npy, .npz or .pb file, or a description like f32[1,3]"));
}

absl::StatusOr<size_t> IndexOf(const Session& session, const std::string& name) {
  const auto& inputs = session.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return i;
  }
  const auto format = [](std::string* out, const DeclaredInput& input) { absl::StrAppend(out, input.name); };
  return absl::InvalidArgumentError(
      absl::StrCat("the model has no input '", name, "'; it has ", absl::StrJoin(inputs, ", ", format)));
}

// Arrays of an .npz by name, or by position as i0, i1, ...; arrays for other purposes (o0, ...) may be in it too.
absl::Status Assign(const Session& session, const std::string& path, const NamedTensors& arrays,
                    std::vector<Tensor>* tensors) {
  size_t used = 0;
  for (const auto& [name, tensor] : arrays) {
    const auto& inputs = session.inputs();
    auto it = std::find_if(inputs.begin(), inputs.end(), [&, &n = name](const auto& input) { return input.name == n; });
    size_t index = static_cast<size_t>(it - inputs.begin());
    if (it == inputs.end() && !(name.size() > 1 && name[0] == 'i' && absl::SimpleAtoi(name.substr(1), &index)))
      continue;
    if (index >= inputs.size()) continue;
    (*tensors)[index] = tensor;
    ++used;
  }
  if (used == 0) {
    const auto format = [](std::string* out, const auto& item) { absl::StrAppend(out, item.first); };
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no array is named like an input of the model, or i0, i1, ...; it has ",
                     absl::StrJoin(arrays, ", ", format)));
  }
  return absl::OkStatus();
}

// Numbers that models can take: floats of a normal distribution, small integers of few values (indices, masks, tokens).
absl::StatusOr<Tensor> Random(const TensorType& type, std::mt19937_64& generator) {
  TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type.dtype, type.dims));
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (IsFloat(type.dtype)) {
      StoreDouble(tensor.data(), type.dtype, i, normal(generator));
    } else if (IsInteger(type.dtype) || type.dtype == DType::kBool) {
      StoreInt(tensor.data(), type.dtype, i, static_cast<int64_t>(generator() % 2));
    } else {
      return absl::UnimplementedError(
          absl::StrCat("random ", std::string(DTypeName(type.dtype)), " values are not supported; give a file"));
    }
  }
  return tensor;
}

// An example of what is described, axis by axis; axes of which nothing is said stay. A rank that differs is an error
// of its own elsewhere.
void Mark(const std::vector<DimSpec>& described, Dims* dims) {
  if (dims->empty()) dims->assign(described.size(), -1);
  for (size_t axis = 0; axis < std::min(described.size(), dims->size()); ++axis) {
    const DimSpec& dim = described[axis];
    if (dim.kind == DimSpec::Kind::kStatic) (*dims)[axis] = dim.value;
    if (dim.kind == DimSpec::Kind::kDynamic) (*dims)[axis] = ExampleExtent(dim);
  }
}

// What the first specialisation of a package takes, as if the user had said so; without a name where an input is
// absent.
std::vector<DynamicSpec> Taken(const Session& session) {
  std::vector<DynamicSpec> specs(session.inputs().size());
  if (!session.is_package() || session.package()->size() == 0) return specs;
  const Signature& signature = session.package()->signature(0);
  for (size_t i = 0; i < std::min(specs.size(), signature.inputs.size()); ++i) {
    const InputSpec& input = signature.inputs[i];
    if (input.absent) continue;
    specs[i].input = input.name;
    for (const Extent& extent : input.dims) {
      DimSpec& dim = specs[i].dims.emplace_back();
      dim.kind = extent.symbol >= 0 ? DimSpec::Kind::kDynamic : DimSpec::Kind::kStatic;
      dim.value = extent.value;
      if (extent.symbol < 0) continue;
      const Symbol& symbol = signature.symbols[static_cast<size_t>(extent.symbol)];
      dim.name = absl::StrCat(extent.symbol);
      dim.min = symbol.min;
      dim.max = symbol.max;
      dim.multiple_of = symbol.multiple_of;
    }
  }
  return specs;
}

// `NAME=...` of --input; an error names the inputs there are.
absl::StatusOr<std::pair<std::string, std::string>> SplitInput(const Session& session, const std::string& text) {
  absl::StatusOr<std::pair<std::string, std::string>> named = SplitNamed(text);
  if (named.ok()) return named;
  const auto flag = [&](std::string* out, const DeclaredInput& input) {
    absl::StrAppend(out, "--input '", input.name, "=", text, "'");
  };
  return absl::InvalidArgumentError(absl::StrCat("--input ", text, ": does not say which input; give ",
                                                 absl::StrJoin(session.inputs(), " or ", flag)));
}

}  // namespace

void InputFlags::AddTo(CLI::App& command) {
  command.add_option("--input", inputs_,
                     "NAME=FILE (.npy, .npz or .pb), a whole .npz (arrays named like the inputs, or i0, i1, ...), or a "
                     "description, NAME=f32[1,3,224,224]");
  random_ = command.add_option("--random", seed_, "Random numbers for inputs without a file; an optional seed")
                ->expected(0, 1);
}

absl::Status InputFlags::AddDynamic(const std::string& model, Options* options) const {
  for (const std::string& text : inputs_) {
    if (IsFileName(text)) continue;
    TCC_ASSIGN_OR_RETURN(const auto named, SplitNamed(text));
    absl::StatusOr<InputDescription> description_or = ParseInputDescription(named.second);
    if (!description_or.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", text, ": ", description_or.status().message(), ", and no .npy, .npz or .pb file"));
    }
    const InputDescription& description = *description_or;
    const bool dynamic = std::any_of(description.dims.begin(), description.dims.end(),
                                     [](const DimSpec& dim) { return dim.kind == DimSpec::Kind::kDynamic; });
    // What --dynamic says of the same input counts: here only its ranks and numbers do.
    const bool described = std::any_of(options->dynamic.begin(), options->dynamic.end(),
                                       [&](const DynamicSpec& spec) { return spec.input == named.first; });
    if (dynamic && !described && !absl::EndsWith(model, ".tcc"))
      options->dynamic.push_back({named.first, description.dims});
  }
  return absl::OkStatus();
}

absl::StatusOr<CallTypes> InputFlags::Types(const Session& session) const {
  CallTypes types(session.inputs().size());
  std::vector<const DynamicSpec*> marks(types.size(), nullptr);
  // Of a package: what its first specialisation takes.
  const std::vector<DynamicSpec> taken = Taken(session);
  std::vector<bool> given(types.size(), false);
  for (size_t i = 0; i < types.size(); ++i) {
    const DeclaredInput& input = session.inputs()[i];
    for (const DynamicSpec& spec : session.options().dynamic) {
      if (spec.input == input.name) marks[i] = &spec;
    }
    if (session.is_package()) {
      if (taken[i].input.empty()) continue;  // absent
      marks[i] = &taken[i];
    }
    if (marks[i] == nullptr && (input.optional || !input.has_rank)) continue;
    types[i].dtype = input.dtype;
    for (const auto& dim : input.dims) types[i].dims.push_back(dim.value);
    if (session.is_package()) types[i].dtype = session.package()->signature(0).inputs[i].dtype;
    if (marks[i] != nullptr) Mark(marks[i]->dims, &types[i].dims);
  }
  for (const std::string& text : inputs_) {
    if (IsWholeFile(text)) {
      TCC_ASSIGN_OR_RETURN(const NamedTensors arrays, LoadNpz(text));
      std::vector<Tensor> tensors(types.size());
      TCC_RETURN_IF_ERROR(Assign(session, text, arrays, &tensors));
      for (size_t i = 0; i < types.size(); ++i) {
        if (!tensors[i].valid()) continue;
        types[i] = tensors[i].type();
        given[i] = true;
      }
      continue;
    }
    TCC_ASSIGN_OR_RETURN(const auto named, SplitInput(session, text));
    TCC_ASSIGN_OR_RETURN(const size_t index, IndexOf(session, named.first));
    if (IsFileName(named.second)) {
      TCC_ASSIGN_OR_RETURN(const Tensor tensor, LoadTensor(named.second));
      types[index] = tensor.type();
      given[index] = true;
      continue;
    }
    TCC_ASSIGN_OR_RETURN(InputDescription description, ParseInputDescription(named.second));
    const DeclaredInput& input = session.inputs()[index];
    TensorType& type = types[index];
    type.dtype = description.dtype == DType::kInvalid ? input.dtype : description.dtype;
    type.dims.assign(description.dims.size(), -1);
    for (size_t axis = 0; axis < std::min(type.dims.size(), input.dims.size()); ++axis) {
      type.dims[axis] = input.dims[axis].value;
    }
    Mark(description.dims, &type.dims);
    given[index] = true;
    if (marks[index] == nullptr) continue;
    // A name stands for what --dynamic says of that axis.
    Dims marked = type.dims;
    Mark(marks[index]->dims, &marked);
    for (size_t axis = 0; axis < type.dims.size(); ++axis) {
      if (description.dims[axis].kind != DimSpec::Kind::kStatic) type.dims[axis] = marked[axis];
    }
  }
  // Extents of one name are one extent: inputs of which nothing else is said follow the others.
  std::map<std::string, int64_t> named_extents;
  const auto each_name = [&](bool of_given, auto visit) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (marks[i] == nullptr || given[i] != of_given) continue;
      for (size_t axis = 0; axis < std::min(marks[i]->dims.size(), types[i].dims.size()); ++axis) {
        const std::string& name = marks[i]->dims[axis].name;
        if (!name.empty()) visit(name, types[i].dims[axis]);
      }
    }
  };
  each_name(true, [&](const std::string& name, int64_t& extent) { named_extents.emplace(name, extent); });
  each_name(false, [&](const std::string& name, int64_t& extent) {
    if (const auto it = named_extents.find(name); it != named_extents.end()) extent = it->second;
  });
  std::vector<std::string> open;
  for (size_t i = 0; i < types.size(); ++i) {
    const DeclaredInput& input = session.inputs()[i];
    const bool known = types[i].dtype != DType::kInvalid &&
                       std::all_of(types[i].dims.begin(), types[i].dims.end(), [](int64_t dim) { return dim >= 0; });
    if (!known && !(input.optional && types[i].dtype == DType::kInvalid)) open.push_back(Describe(input));
  }
  if (!open.empty()) {
    const auto flag = [](std::string* out, const std::string& text) { absl::StrAppend(out, "--input '", text, "'"); };
    return absl::InvalidArgumentError(
        absl::StrCat("the model does not fix the extents of ", open.size() == 1 ? "an input" : "some inputs",
                     "; give them, with names for extents that vary: ", absl::StrJoin(open, " ", flag)));
  }
  return types;
}

absl::StatusOr<std::vector<Tensor>> InputFlags::Load(const Session& session) const {
  return Load(session, random_->count() > 0);
}
absl::StatusOr<std::vector<Tensor>> InputFlags::LoadOrRandom(const Session& session) const {
  return Load(session, /*random=*/true);
}

absl::StatusOr<std::vector<Tensor>> InputFlags::Load(const Session& session, bool random) const {
  std::vector<Tensor> tensors(session.inputs().size());
  std::vector<std::string> descriptions;
  for (const std::string& text : inputs_) {
    if (IsWholeFile(text)) {
      TCC_ASSIGN_OR_RETURN(const NamedTensors arrays, LoadNpz(text));
      TCC_RETURN_IF_ERROR(Assign(session, text, arrays, &tensors));
      continue;
    }
    TCC_ASSIGN_OR_RETURN(const auto named, SplitInput(session, text));
    TCC_ASSIGN_OR_RETURN(const size_t index, IndexOf(session, named.first));
    if (!IsFileName(named.second)) continue;  // described: random
    TCC_ASSIGN_OR_RETURN(tensors[index], LoadTensor(named.second));
  }
  if (random) {
    uint64_t seed = 0;
    if (!seed_.empty() && !absl::SimpleAtoi(seed_, &seed)) {
      return absl::InvalidArgumentError(absl::StrCat("--random: '", seed_, "' is not a number"));
    }
    std::mt19937_64 generator(seed);
    TCC_ASSIGN_OR_RETURN(const CallTypes types, Types(session));
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].valid() || types[i].dtype == DType::kInvalid) continue;
      TCC_ASSIGN_OR_RETURN(tensors[i], Random(types[i], generator));
    }
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DeclaredInput& input = session.inputs()[i];
    if (!tensors[i].valid() && !input.optional) missing.push_back(input.name);
  }
  if (!missing.empty()) {
    const auto flag = [](std::string* out, const std::string& name) {
      absl::StrAppend(out, "--input '", name, "=FILE'");
    };
    return absl::InvalidArgumentError(
        absl::StrCat(missing.size() == 1 ? "input '" : "inputs '", absl::StrJoin(missing, "', '"),
                     missing.size() == 1 ? "' is missing; give " : "' are missing; give ",
                     absl::StrJoin(missing, " ", flag), ", or --random for random numbers"));
  }
  return tensors;
}

void CompileFlags::AddTo(CLI::App& command) {
  command.add_option("--mode", mode_, "default, reduce-overhead, max-autotune or max-autotune-no-cudagraphs");
  command.add_option(
      "--target", target_,
      "cpu; cpu:NAME, an LLVM CPU name; cuda, the GPU here; cuda:sm_NN, several with commas between them; cuda-sim, "
      "CUDA kernels run on the CPU");
  command.add_option(
      "--device", device_,
      "Where kernels for a device run: cuda:1, cuda-sim, or null, which runs nothing; see `tcc devices`");
  command.add_option("--dynamic", dynamic_, "NAME=[batch:1..64,3,h,w]: extents that vary, with ranges");
  command.add_flag("--fullgraph", fullgraph_, "Graph breaks are errors; an ONNX model has none");
  command.add_option("--precision", precision_,
                     "How weights and activations are stored: model, f32, bf16 or f16; tf32: as the model says, and "
                     "GPUs may multiply float32 with 10 bits of mantissa");
  command.add_option("--numerics", numerics_, "default, or strict: loops without fused multiply-add");
  command.add_option("--external-data-root", external_data_roots_, "A folder that external data may lie in");
  command.add_option("--recompile-limit", recompile_limit_, "Specialisations before the most general one");
  command.add_option("--compile-timeout", timeout_, "Seconds that one compile may take; 0: any");
  command.add_flag("--no-cache", no_cache_, "Compile anew, and keep nothing");
  command.add_flag("--no-fallback", no_fallback_,
                   "Fail where generating code fails, instead of running the model by library kernels");
}

absl::StatusOr<Options> CompileFlags::Parse() const {
  Options options;
  TCC_ASSIGN_OR_RETURN(options.mode, ParseMode(mode_));
  TCC_ASSIGN_OR_RETURN(options.precision, ParsePrecision(precision_));
  TCC_ASSIGN_OR_RETURN(options.numerics, ParseNumerics(numerics_));
  options.target = target_;
  options.device = device_;
  options.fullgraph = fullgraph_;
  for (const std::string& root : external_data_roots_) {
    if (!IsFolder(root)) return absl::NotFoundError(absl::StrCat("--external-data-root '", root, "': no such folder"));
  }
  options.external_data_roots = external_data_roots_;
  options.recompile_limit = recompile_limit_;
  options.compile_timeout_seconds = timeout_;
  options.use_cache = !no_cache_;
  for (const std::string& text : dynamic_) {
    TCC_ASSIGN_OR_RETURN(const auto named, SplitNamed(text));
    TCC_ASSIGN_OR_RETURN(InputDescription description, ParseInputDescription(named.second));
    options.dynamic.push_back({named.first, std::move(description.dims)});
  }
  TCC_RETURN_IF_ERROR(ValidateOptions(options));
  return options;
}

}  // namespace tcc::cli
