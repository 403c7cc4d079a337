#include "compiler/specialize.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/options.h"
#include "runtime/status.h"

namespace tcc {
namespace {

std::string InputName(const DeclaredInput& input) { return absl::StrCat("input '", input.name, "'"); }

std::string DTypeText(DType dtype) { return std::string(DTypeName(dtype)); }

}  // namespace

ShapePolicy::ShapePolicy(std::vector<DeclaredInput> inputs, std::vector<DynamicSpec> user, bool package)
    : inputs_(std::move(inputs)), user_(std::move(user)), package_(package), seen_(inputs_.size()) {}

const DimSpec* ShapePolicy::UserDim(size_t input, size_t axis) const {
  for (const DynamicSpec& spec : user_) {
    if (spec.input == inputs_[input].name && axis < spec.dims.size()) return &spec.dims[axis];
  }
  return nullptr;
}

absl::Status ShapePolicy::Validate() const {
  for (const DynamicSpec& spec : user_) {
    const auto it =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const auto& input) { return input.name == spec.input; });
    if (it == inputs_.end()) {
      const auto name = [](std::string* out, const DeclaredInput& input) { absl::StrAppend(out, input.name); };
      return absl::InvalidArgumentError(
          absl::StrCat("the model has no input '", spec.input, "'; it has ", absl::StrJoin(inputs_, ", ", name)));
    }
    if (it->has_rank && it->dims.size() != spec.dims.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(InputName(*it), " has ", it->dims.size(), " axes, but ", spec.dims.size(), " are described"));
    }
    for (size_t axis = 0; it->has_rank && axis < spec.dims.size(); ++axis) {
      const int64_t fixed = it->dims[axis].value;
      const DimSpec& dim = spec.dims[axis];
      if (fixed >= 0 && dim.kind == DimSpec::Kind::kDynamic && !(dim.min == fixed && dim.max == fixed)) {
        return absl::InvalidArgumentError(absl::StrCat(InputName(*it), ": axis ", axis,
                                                       " cannot be dynamic, the model fixes it at ", fixed,
                                                       "; export the model with dynamic axes"));
      }
      if (fixed >= 0 && dim.kind == DimSpec::Kind::kStatic && dim.value != fixed) {
        return absl::InvalidArgumentError(
            absl::StrCat(InputName(*it), ": axis ", axis, " is ", fixed, " in the model, not ", dim.value));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ShapePolicy::CheckCall(CallTypes* types) const {
  if (types->size() > inputs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("got ", types->size(), " inputs, the model has ", inputs_.size()));
  }
  types->resize(inputs_.size());
  std::vector<std::string> missing;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if ((*types)[i].dtype == DType::kInvalid && !inputs_[i].optional) missing.push_back(InputName(inputs_[i]));
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(missing, ", "), missing.size() == 1 ? " is missing" : " are missing"));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const DeclaredInput& input = inputs_[i];
    const TensorType& type = (*types)[i];
    if (type.dtype == DType::kInvalid) continue;
    if (input.dtype != DType::kInvalid && input.dtype != type.dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat(InputName(input), " is ", type.ToString(), ", but the model takes ", DTypeText(input.dtype)));
    }
    if (!input.has_rank) continue;
    if (input.dims.size() != type.dims.size()) {
      return absl::InvalidArgumentError(absl::StrCat(InputName(input), " is ", type.ToString(),
                                                     ", but the model takes ", input.dims.size(), " axes"));
    }
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (input.dims[axis].value >= 0 && input.dims[axis].value != type.dims[axis]) {
        if (package_) {
          return absl::InvalidArgumentError(absl::StrCat(
              InputName(input), " is ", type.ToString(), ", but the package was compiled for ", input.dims[axis].value,
              " at axis ", axis, "; compile the model again with --dynamic to run other extents"));
        }
        return absl::InvalidArgumentError(
            absl::StrCat(InputName(input), " is ", type.ToString(), ", but the model fixes axis ", axis, " at ",
                         input.dims[axis].value, "; export it with a dynamic axis to run other extents"));
      }
    }
  }
  return absl::OkStatus();
}

bool ShapePolicy::Observe(size_t input, const Dims& dims) {
  const auto first = FirstSeen(input, dims.size());
  if (first == nullptr) {
    seen_[input].push_back(dims);
    return false;
  }
  bool changed = false;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if ((*first)[axis] != dims[axis]) changed |= dynamic_.emplace(input, static_cast<int>(axis)).second;
  }
  return changed;
}

bool ShapePolicy::Observe(const CallTypes& types) {
  bool changed = false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].dtype != DType::kInvalid) changed |= Observe(i, types[i].dims);
  }
  return changed;
}

const Dims* ShapePolicy::FirstSeen(size_t input, size_t rank) const {
  for (const Dims& dims : seen_[input]) {
    if (dims.size() == rank) return &dims;
  }
  return nullptr;
}

absl::StatusOr<Signature> ShapePolicy::Specialize(const CallTypes& types, bool general) const {
  Signature signature;
  // Extents that share a symbol: of one name, or equal now and in the first call seen.
  std::map<std::tuple<std::string, int64_t, int64_t>, int32_t> shared;
  // Where each name that the user gave came first.
  std::map<std::string, std::pair<size_t, size_t>> named;
  auto symbol = [&](const std::tuple<std::string, int64_t, int64_t>* key, Symbol described) {
    if (key != nullptr) {
      const auto it = shared.find(*key);
      if (it != shared.end()) return Extent::Of(it->second);
    }
    const auto index = static_cast<int32_t>(signature.symbols.size());
    const auto taken = [&](const Symbol& other) { return other.name == described.name; };
    if (described.name.empty() || std::any_of(signature.symbols.begin(), signature.symbols.end(), taken)) {
      described.name = absl::StrCat("s", index);
    }
    signature.symbols.push_back(std::move(described));
    if (key != nullptr) shared[*key] = index;
    return Extent::Of(index);
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const DeclaredInput& input = inputs_[i];
    const TensorType& type = types[i];
    InputSpec& spec = signature.inputs.emplace_back();
    spec.name = input.name;
    spec.optional = input.optional;
    spec.dtype = type.dtype == DType::kInvalid ? input.dtype : type.dtype;
    spec.absent = type.dtype == DType::kInvalid;
    if (spec.absent) continue;
    const Dims* first = FirstSeen(i, type.dims.size());
    for (size_t axis = 0; axis < type.dims.size(); ++axis) {
      const int64_t value = type.dims[axis];
      const bool fixed = input.has_rank && input.dims[axis].value >= 0;
      const std::string param = input.has_rank ? input.dims[axis].param : "";
      const DimSpec* user = UserDim(i, axis);
      if (user != nullptr && user->kind == DimSpec::Kind::kStatic && user->value != value) {
        return absl::InvalidArgumentError(absl::StrCat(InputName(input), " is ", type.ToString(), ", but axis ", axis,
                                                       " was declared to be ", user->value));
      }
      if (fixed || (user != nullptr && user->kind == DimSpec::Kind::kStatic)) {
        spec.dims.push_back(Extent::Constant(value));
      } else if (user != nullptr && user->kind == DimSpec::Kind::kDynamic) {
        if (value < user->min || value > user->max || value % user->multiple_of != 0) {
          return absl::InvalidArgumentError(absl::StrCat(InputName(input), " is ", type.ToString(), ", but axis ", axis,
                                                         " was declared to be ", RangeText(*user)));
        }
        if (user->min == user->max) {  // a range of one value is that value
          spec.dims.push_back(Extent::Constant(value));
          continue;
        }
        if (!user->name.empty()) {
          const auto [first_of_name, is_new] = named.try_emplace(user->name, std::make_pair(i, axis));
          const auto [other, other_axis] = first_of_name->second;
          if (const int64_t before = types[other].dims[other_axis]; before != value) {
            return absl::InvalidArgumentError(absl::StrCat(
                InputName(input), " is ", type.ToString(), ", but axis ", axis, " was declared to be '", user->name,
                "', which is ", before, " (axis ", other_axis, " of ", InputName(inputs_[other]), ")"));
          }
        }
        const std::tuple<std::string, int64_t, int64_t> key(absl::StrCat("user:", user->name), 0, 0);
        spec.dims.push_back(symbol(user->name.empty() ? nullptr : &key,
                                   {user->name.empty() ? param : user->name, user->min, user->max, user->multiple_of}));
      } else if (general) {
        spec.dims.push_back(symbol(nullptr, {param, 0, kMaxExtent, 1}));
      } else if (value >= 2 && dynamic_.count({i, static_cast<int>(axis)}) != 0) {
        const int64_t before = first == nullptr ? value : (*first)[axis];
        const std::tuple<std::string, int64_t, int64_t> key(param, value, param.empty() ? before : 0);
        spec.dims.push_back(symbol(&key, {param, 2, kMaxExtent, 1}));
      } else {
        spec.dims.push_back(Extent::Constant(value));
      }
    }
  }
  return signature;
}

void ShapePolicy::Recall(const CallNotes& notes) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (const auto it = notes.dynamic.find(inputs_[i].name); it != notes.dynamic.end()) {
      for (int axis : it->second) dynamic_.emplace(i, axis);
    }
    const auto seen = notes.seen.find(inputs_[i].name);
    if (seen == notes.seen.end()) continue;
    for (const Dims& dims : seen->second) Observe(i, dims);
  }
}

void ShapePolicy::AddTo(CallNotes* notes) const {
  for (const auto& [input, axis] : dynamic_) notes->dynamic[inputs_[input].name].insert(axis);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    for (const Dims& dims : seen_[i]) {
      std::vector<Dims>& list = notes->seen[inputs_[i].name];
      const auto same_rank = [&](const Dims& other) { return other.size() == dims.size(); };
      if (std::none_of(list.begin(), list.end(), same_rank)) list.push_back(dims);
    }
  }
}

bool ShapePolicy::IsAsMarked(const Signature& signature) const {
  if (signature.inputs.size() != inputs_.size()) return false;
  std::map<int32_t, const DimSpec*> marks;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<Extent>& dims = signature.inputs[i].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const DimSpec* user = UserDim(i, axis);
      const Extent& extent = dims[axis];
      if (user == nullptr || user->kind == DimSpec::Kind::kAutomatic) continue;
      if (user->kind == DimSpec::Kind::kStatic || user->min == user->max) {
        const int64_t value = user->kind == DimSpec::Kind::kStatic ? user->value : user->min;
        if (extent.symbol >= 0 || extent.value != value) return false;
        continue;
      }
      if (extent.symbol < 0) return false;
      const Symbol& symbol = signature.symbols[static_cast<size_t>(extent.symbol)];
      if (symbol.min > user->min || symbol.max < user->max || user->multiple_of % symbol.multiple_of != 0) return false;
      // Extents that the user did not say to be equal must not have to be.
      const DimSpec*& mark = marks[extent.symbol];
      if (mark != nullptr && (mark->name.empty() || mark->name != user->name)) return false;
      mark = user;
    }
  }
  return true;
}

void FixSymbols(const std::map<int32_t, int64_t>& values, Signature* signature) {
  std::vector<int32_t> renumbered;
  std::vector<Symbol> kept;
  for (size_t i = 0; i < signature->symbols.size(); ++i) {
    renumbered.push_back(static_cast<int32_t>(kept.size()));
    if (!values.count(static_cast<int32_t>(i))) kept.push_back(signature->symbols[i]);
  }
  for (InputSpec& input : signature->inputs) {
    for (Extent& extent : input.dims) {
      if (extent.symbol < 0) continue;
      const auto it = values.find(extent.symbol);
      extent = it != values.end() ? Extent::Constant(it->second)
                                  : Extent::Of(renumbered[static_cast<size_t>(extent.symbol)]);
    }
  }
  signature->symbols = std::move(kept);
}

}  // namespace tcc
