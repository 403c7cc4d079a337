#include <string>

#include "runtime/devices/device.h"
#include "runtime/plan_json.h"
#include "runtime/plan_spaces.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// Slots of a context are plain arrays of this many entries.
constexpr int32_t kMaxValues = 1 << 20;
constexpr int64_t kMaxDims = 64;
constexpr int64_t kMaxThreads = 1024;  // of a block, on every device so far

class Validator {
 public:
  explicit Validator(const Plan& plan) : plan_(plan) {}

  absl::Status Run() {
    if (plan_.num_values < 0 || plan_.num_values > kMaxValues) return Bad("num_values is out of range");
    if (plan_.num_registers < 0 || plan_.num_registers > kMaxValues) return Bad("num_registers is out of range");
    for (const ValueId value : plan_.inputs) TCC_RETURN_IF_ERROR(OptionalValue(value, "input"));
    for (const ValueId value : plan_.outputs) TCC_RETURN_IF_ERROR(Value(value, "output"));
    for (const RegisterId id : plan_.symbol_registers) TCC_RETURN_IF_ERROR(Register(id));
    for (const Operand& operand : plan_.slot_bytes) TCC_RETURN_IF_ERROR(Extent(operand, "slot size"));
    for (const PlanConstant& constant : plan_.constants) TCC_RETURN_IF_ERROR(Constant(constant));
    TCC_RETURN_IF_ERROR(Check(plan_.body, 0));
    return FindSpaces(plan_).status();
  }

 private:
  absl::Status Bad(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("plan: ", where_.empty() ? "" : absl::StrCat(where_, ": "), what));
  }
  absl::Status Value(ValueId value, absl::string_view what) const {
    if (value >= 0 && value < plan_.num_values) return absl::OkStatus();
    return Bad(absl::StrCat(what, ": value ", value, " of ", plan_.num_values));
  }
  absl::Status OptionalValue(ValueId value, absl::string_view what) const {
    return value == kNoValue ? absl::OkStatus() : Value(value, what);
  }
  absl::Status Register(int64_t id) const {
    if (id >= 0 && id < plan_.num_registers) return absl::OkStatus();
    return Bad(absl::StrCat("register ", id, " of ", plan_.num_registers));
  }
  absl::Status Any(const Operand& operand) const {
    return operand.is_register ? Register(operand.value) : absl::OkStatus();
  }
  // An operand that is an extent or a size.
  absl::Status Extent(const Operand& operand, absl::string_view what, int64_t min = 0) const {
    if (!operand.is_register && operand.value < min) return Bad(absl::StrCat(what, " is ", operand.value));
    return Any(operand);
  }
  absl::Status Extents(const std::vector<Operand>& operands, absl::string_view what, int64_t min = 0) const {
    if (static_cast<int64_t>(operands.size()) > kMaxDims) return Bad(absl::StrCat("more than ", kMaxDims, " ", what));
    for (const Operand& operand : operands) TCC_RETURN_IF_ERROR(Extent(operand, what, min));
    return absl::OkStatus();
  }
  absl::Status Type(DType dtype) const { return dtype == DType::kInvalid ? Bad("invalid dtype") : absl::OkStatus(); }

  absl::Status Constant(const PlanConstant& constant) const {
    TCC_RETURN_IF_ERROR(Value(constant.value, "constant"));
    TCC_RETURN_IF_ERROR(Type(constant.dtype));
    const absl::StatusOr<int64_t> count = NumElements(constant.dims);
    if (!count.ok()) return Bad(absl::StrCat("constant: ", count.status().message()));
    if (*count > int64_t{1} << 56) return Bad("constant is too large");
    if (constant.offset < 0 || constant.offset % 64 != 0) return Bad("constant is not 64-byte aligned");
    if (constant.bytes < 0) return Bad("constant has a negative size");
    if (constant.dtype != DType::kString && static_cast<size_t>(constant.bytes) != DTypeBytes(constant.dtype, *count)) {
      return Bad(absl::StrCat("constant of type ",
                              TensorType{constant.dtype, Dims(constant.dims.begin(), constant.dims.end())}.ToString(),
                              " takes ", constant.bytes, " bytes"));
    }
    return absl::OkStatus();
  }

  absl::Status Check(const Block& block, int depth) {
    if (depth > 64) return Bad("blocks nested more than 64 deep");
    const std::string outer = where_;
    for (size_t i = 0; i < block.instructions.size(); ++i) {
      where_ = absl::StrCat(outer, outer.empty() ? "" : ".", "instruction ", i);
      TCC_RETURN_IF_ERROR(
          std::visit([&](const auto& instruction) { return Check(instruction, depth); }, block.instructions[i]));
    }
    where_ = outer;
    return absl::OkStatus();
  }

  absl::Status Check(const plan::Compute& i, int) {
    if (i.op > IntOp::kLt) return Bad("unknown op");
    TCC_RETURN_IF_ERROR(Register(i.result));
    TCC_RETURN_IF_ERROR(Any(i.lhs));
    return Any(i.rhs);
  }
  absl::Status Check(const plan::Allocate& i, int) {
    TCC_RETURN_IF_ERROR(Value(i.result, "result"));
    TCC_RETURN_IF_ERROR(Type(i.dtype));
    TCC_RETURN_IF_ERROR(Extents(i.dims, "extents"));
    TCC_RETURN_IF_ERROR(OptionalValue(i.over, "input to overwrite"));
    if (i.space > Space::kDevice) return Bad("unknown space");
    const bool device = i.space == Space::kDevice;
    if (device && i.dtype == DType::kString) return Bad("strings cannot live on a device");
    if (device && i.over != kNoValue) return Bad("on a device no input is overwritten");
    if (i.slot == plan::kFreshSlot) return absl::OkStatus();
    if (i.slot < 0 || static_cast<size_t>(i.slot) >= plan_.slot_bytes.size()) return Bad("slot is out of range");
    if (i.dtype == DType::kString) return Bad("strings cannot live in a slot");
    const int64_t alignment = device ? kDeviceAlignment : 64;
    if (i.offset < 0 || i.offset % alignment != 0) return Bad(absl::StrCat("offset is not a multiple of ", alignment));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::View& i, int) {
    TCC_RETURN_IF_ERROR(Value(i.result, "result"));
    TCC_RETURN_IF_ERROR(Value(i.source, "source"));
    TCC_RETURN_IF_ERROR(Extents(i.dims, "extents"));
    if (!i.strides.empty() && i.strides.size() != i.dims.size()) return Bad("strides and extents differ in number");
    for (const Operand& stride : i.strides) TCC_RETURN_IF_ERROR(Any(stride));
    return Extent(i.offset, "offset");
  }
  absl::Status Check(const plan::Launch& i, int) {
    if (i.function < 0 || static_cast<size_t>(i.function) >= plan_.functions.size()) return Bad("no such function");
    for (const ValueId value : i.buffers) TCC_RETURN_IF_ERROR(Value(value, "buffer"));
    for (const Operand& scalar : i.scalars) TCC_RETURN_IF_ERROR(Any(scalar));
    if (i.copies && i.buffers.size() != 2) return Bad("a copy has two buffers");
    if (i.grain < 1) return Bad("grain must be at least 1");
    TCC_RETURN_IF_ERROR(Extent(i.items, "number of items"));
    return Extent(i.scratch_bytes, "scratch size");
  }
  absl::Status Check(const plan::Library& i, int) {
    if (i.op.empty()) return Bad("library call without a kernel");
    for (const auto& [name, operands] : i.int_lists) {
      for (const Operand& operand : operands) TCC_RETURN_IF_ERROR(Any(operand));
    }
    for (const ValueId value : i.inputs) TCC_RETURN_IF_ERROR(OptionalValue(value, "input"));
    for (const auto& result : i.results) {
      TCC_RETURN_IF_ERROR(OptionalValue(result.value, "result"));
      TCC_RETURN_IF_ERROR(Type(result.dtype));
      TCC_RETURN_IF_ERROR(Extents(result.dims, "extents", -1));
    }
    return absl::OkStatus();
  }
  absl::Status Check(const plan::MakeTensor& i, int) {
    TCC_RETURN_IF_ERROR(Value(i.result, "result"));
    if (!IsInteger(i.dtype) && i.dtype != DType::kBool) return Bad("made tensors are of an integer type or bool");
    const absl::StatusOr<int64_t> count = NumElements(i.dims);
    if (!count.ok() || static_cast<size_t>(*count) != i.elements.size()) return Bad("wrong number of elements");
    for (const Operand& element : i.elements) TCC_RETURN_IF_ERROR(Any(element));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::ReadExtent& i, int) {
    TCC_RETURN_IF_ERROR(Register(i.result));
    if (i.axis < 0 || i.axis >= kMaxDims) return Bad("axis is out of range");
    return Value(i.source, "source");
  }
  absl::Status Check(const plan::ReadElement& i, int) {
    TCC_RETURN_IF_ERROR(Register(i.result));
    if (i.index < 0) return Bad("negative index");
    return Value(i.source, "source");
  }
  absl::Status Check(const plan::CheckEqual& i, int) {
    TCC_RETURN_IF_ERROR(Any(i.lhs));
    return Any(i.rhs);
  }
  absl::Status Check(const plan::Move& i, int) {
    TCC_RETURN_IF_ERROR(Value(i.to, "target"));
    return Value(i.from, "source");
  }
  absl::Status Check(const plan::If& i, int depth) {
    TCC_RETURN_IF_ERROR(Value(i.condition, "condition"));
    if (i.blocks.size() != 2) return Bad("an if has two blocks");
    for (const Block& block : i.blocks) TCC_RETURN_IF_ERROR(Check(block, depth + 1));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::Loop& i, int depth) {
    TCC_RETURN_IF_ERROR(OptionalValue(i.trip_count, "trip count"));
    TCC_RETURN_IF_ERROR(OptionalValue(i.condition, "condition"));
    TCC_RETURN_IF_ERROR(OptionalValue(i.iteration, "iteration"));
    if (i.trip_count == kNoValue && i.condition == kNoValue) return Bad("a loop needs a trip count or a condition");
    if (i.blocks.size() != 1) return Bad("a loop has one block");
    for (const auto& scan : i.scan_outputs) {
      TCC_RETURN_IF_ERROR(Value(scan.result, "scan output"));
      TCC_RETURN_IF_ERROR(Value(scan.element, "scan element"));
      TCC_RETURN_IF_ERROR(Type(scan.dtype));
      TCC_RETURN_IF_ERROR(Extents(scan.dims, "extents"));
    }
    return Check(i.blocks[0], depth + 1);
  }
  absl::Status Check(const plan::Release& i, int) { return Value(i.value, "value"); }
  absl::Status Check(const plan::DeviceLaunch& i, int) {
    if (i.function < 0 || static_cast<size_t>(i.function) >= plan_.functions.size()) return Bad("no such function");
    for (const ValueId value : i.buffers) TCC_RETURN_IF_ERROR(Value(value, "buffer"));
    for (const Operand& scalar : i.scalars) TCC_RETURN_IF_ERROR(Any(scalar));
    if (i.copies && i.buffers.size() != 2) return Bad("a copy has two buffers");
    int64_t threads = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      TCC_RETURN_IF_ERROR(Extent(i.grid.at(axis), "grid"));
      const int64_t extent = i.block.at(axis);
      if (extent < 1 || extent > kMaxThreads) return Bad(absl::StrCat("a block has an extent of ", extent));
      threads *= extent;
    }
    if (threads > kMaxThreads) return Bad(absl::StrCat("a block has ", threads, " threads, more than ", kMaxThreads));
    TCC_RETURN_IF_ERROR(Extent(i.counters, "counters"));
    if (i.tensor_maps.size() > devices::kMostTensorMaps) return Bad("too many tensor maps");
    for (const plan::TensorMap& map : i.tensor_maps) TCC_RETURN_IF_ERROR(Check(map, i.buffers.size()));
    return Extent(i.shared_bytes, "shared memory");
  }
  absl::Status Check(const plan::TensorMap& map, size_t buffers) {
    if (map.buffer < 0 || static_cast<size_t>(map.buffer) >= buffers) return Bad("a tensor map of no buffer");
    const int32_t bytes = map.element_bytes;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
      return Bad(absl::StrCat("a tensor map of elements of ", bytes, " bytes"));
    const size_t rank = map.extents.size();
    if (rank < 2 || rank > plan::kMostTensorMapExtents || map.strides.size() != rank - 1 || map.box.size() != rank)
      return Bad("a tensor map has 2 to 5 extents, a stride for each but the first, and a box of as many");
    if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
      return Bad(absl::StrCat("a tensor map that exchanges pieces of ", map.swizzle, " bytes"));
    for (const int32_t extent : map.box)
      if (extent < 1 || extent > 256) return Bad(absl::StrCat("a tensor map's box has an extent of ", extent));
    const int32_t line = map.box[0] * bytes;
    if (line % 16 != 0 || (map.swizzle != 0 && line > map.swizzle))
      return Bad(absl::StrCat("a tensor map's box has lines of ", line, " bytes"));
    for (const Operand& extent : map.extents) TCC_RETURN_IF_ERROR(Extent(extent, "extent of a tensor map"));
    for (const Operand& stride : map.strides) TCC_RETURN_IF_ERROR(Extent(stride, "stride of a tensor map"));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::Transfer& i, int) {
    if (i.to > Space::kDevice) return Bad("unknown space");
    TCC_RETURN_IF_ERROR(Value(i.result, "result"));
    return Value(i.source, "source");
  }

  const Plan& plan_;
  std::string where_;
};

}  // namespace

absl::Status ValidatePlan(const Plan& plan) { return Validator(plan).Run(); }

}  // namespace tcc
