// The plan: what the compiler hands to the runtime. A small program over tensors (value slots) and 64-bit integers
// (registers). Plain data, serialised as JSON inside a package (plan_json.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/attributes.h"
#include "runtime/dtype.h"

namespace tcc {

using ValueId = int32_t;     // index of a value slot; kNoValue for an absent optional operand
using RegisterId = int32_t;  // index of a 64-bit register
inline constexpr ValueId kNoValue = -1;

// A register or an immediate.
struct Operand {
  bool is_register = false;
  int64_t value = 0;  // the immediate, or the RegisterId
  static Operand Imm(int64_t v) { return {false, v}; }
  static Operand Reg(RegisterId r) { return {true, r}; }
  bool operator==(const Operand&) const = default;
};

// Where the memory of a value is. Each value is in one space, and so is each slot: constants, inputs and what library
// calls and MakeTensor make are on the host; an Allocate says it; a View and a Move have the space of their source. A
// plan that never says kDevice runs on the host alone.
enum class Space : uint8_t { kHost, kDevice };

// Values in device memory start at multiples of so many bytes, except views.
inline constexpr int64_t kDeviceAlignment = 256;

enum class IntOp : uint8_t { kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax, kEq, kLt };

struct Block;

namespace plan {

// registers[result] = lhs op rhs. Overflow and division by zero are run-time errors.
struct Compute {
  RegisterId result;
  IntOp op;
  Operand lhs, rhs;
};
// values[result] = a row-major tensor. slot >= 0: at `offset` bytes in that slot of the execution context's memory
// (valid until the next call); slot == kFreshSlot: newly allocated, outlives the call (graph outputs). `over`: an input
// of the plan of the same type that only the first launch that writes the result reads from here on, each element
// before it writes it: a donated input may be the result's memory. In device memory offsets are multiples of
// kDeviceAlignment, strings and `over` are not possible.
inline constexpr int32_t kFreshSlot = -1;
struct Allocate {
  ValueId result;
  DType dtype;
  std::vector<Operand> dims;
  int32_t slot = kFreshSlot;
  int64_t offset = 0;
  ValueId over = kNoValue;
  Space space = Space::kHost;
};
// values[result] = a view of values[source]; strides and offset count elements of the source in row-major order, also
// where the source is itself a view (a source that is not contiguous is copied first). Empty strides: row-major. In
// device memory such copies go through the host: right, but slow.
struct View {
  ValueId result;
  ValueId source;
  std::vector<Operand> dims;
  std::vector<Operand> strides;
  Operand offset;
};
// Runs function `function` of the code object over [0, items) split into chunks of at least `grain` items. Buffers are
// host values and must be contiguous (a non-contiguous input is made so first).
struct Launch {
  int32_t function;  // index into Plan::functions
  std::vector<ValueId> buffers;
  std::vector<Operand> scalars;
  Operand items;
  int64_t grain = 1;
  Operand scratch_bytes;
  std::string name;     // for profiles: the source ops
  bool copies = false;  // the first buffer to the second, and nothing else: not needed where they are the same memory
};
// How a kernel loads tiles of one of its buffers by TMA: a CUtensorMap (128 bytes by value), made where it is launched.
inline constexpr size_t kMostTensorMapExtents = 5;
struct TensorMap {
  int32_t buffer;                // index into the launch's buffers
  int32_t element_bytes;         // 1, 2, 4 or 8
  std::vector<Operand> extents;  // innermost first, 2 to 5; what lies beyond them is zero
  std::vector<Operand> strides;  // elements, of the extents but the innermost, whose is 1
  std::vector<int32_t> box;      // extents of a tile, 1 to 256
  int32_t swizzle = 0;           // bytes of a line whose pieces are exchanged: 0, 32, 64, 128
};
// Starts kernel `function` of the specialisation's kernel images on the device, in the order of the stream. Its
// parameters are the addresses of the buffers (device values, contiguous), the scalars as int64, if `reports_errors`
// the address of an int64 error word on the device, into which it may store one of TccKernelError, and, unless
// `counters` is Imm(0), the address of so many int32 on the device, all zero, which it leaves zero; then come the
// tensor maps. The call fails with `name` where it ends, or where the host next waits for the device. Nothing is
// started where an extent of the grid is 0.
struct DeviceLaunch {
  int32_t function;  // index into Plan::functions
  std::vector<ValueId> buffers;
  std::vector<Operand> scalars;
  std::array<Operand, 3> grid;
  std::array<int32_t, 3> block;  // at most 1024 threads in all
  Operand shared_bytes;          // dynamic shared memory
  bool reports_errors = false;
  std::string name;     // for profiles and errors: the source ops
  bool copies = false;  // as in Launch
  Operand counters = Operand::Imm(0);
  bool has_counters() const { return counters != Operand::Imm(0); }
  std::vector<TensorMap> tensor_maps = {};
};
// Calls a reference kernel, on host values. `int_lists` are attributes whose values are known only at run time.
struct Library {
  std::string op;
  Attributes attributes;
  std::vector<std::pair<std::string, std::vector<Operand>>> int_lists;
  std::vector<ValueId> inputs;
  struct Result {
    ValueId value;
    DType dtype;
    std::vector<Operand> dims;  // Imm(-1): the kernel finds out
  };
  std::vector<Result> results;
  std::string name;
};
// values[result] = a tensor of these extents with the given elements (shape arithmetic as data).
struct MakeTensor {
  ValueId result;
  DType dtype;
  std::vector<int64_t> dims;  // static
  std::vector<Operand> elements;
};
// registers[result] = extent `axis` of values[source].
struct ReadExtent {
  RegisterId result;
  ValueId source;
  int32_t axis;
};
// registers[result] = element `index` (row-major) of an integer or bool tensor on the host.
struct ReadElement {
  RegisterId result;
  ValueId source;
  int64_t index;
};
// An InvalidArgument error with `message` unless lhs == rhs.
struct CheckEqual {
  Operand lhs, rhs;
  std::string message;
};
// values[to] = values[from], sharing memory. Inside a loop's body a value in a slot is copied, since the next iteration
// uses the slot again: carried values are better allocated fresh.
struct Move {
  ValueId to;
  ValueId from;
};
// Runs one of two blocks on the bool scalar values[condition]; both blocks Move their results into the same values.
struct If {
  ValueId condition;
  std::vector<Block> blocks;  // then, else
};
// for (i = 0; i < trip_count (if any) && condition; ++i) body. The body reads values[iteration] (i64 scalar), updates
// the carried values with Move and writes values[condition] (bool scalar). Each scan output is the stack, along a new
// axis 0, of the value that the body left in `element` at each iteration; with no iteration it is empty, with `dims` as
// the extents of one element.
struct Loop {
  ValueId trip_count = kNoValue;  // i64 scalar
  ValueId condition = kNoValue;   // bool scalar, read before each iteration
  ValueId iteration = kNoValue;
  std::vector<Block> blocks;  // the body, one
  struct ScanOutput {
    ValueId result;
    ValueId element;
    DType dtype;
    std::vector<Operand> dims;
  };
  std::vector<ScanOutput> scan_outputs;
};
// Drops the reference to a value, so that its memory can go back.
struct Release {
  ValueId value;
};
// values[result] = a row-major copy of values[source], which is in the other space, in fresh memory. From the host any
// strides, all types but strings; the instructions that read the result on the host wait for it. A constant (itself,
// not a view of it) is copied to the device once for all calls. An input that the caller has on the device already is
// not copied. A transfer to the space where the source is anyway shares its memory.
struct Transfer {
  ValueId result;
  ValueId source;
  Space to = Space::kDevice;
};

}  // namespace plan

using Instruction = std::variant<plan::Compute, plan::Allocate, plan::View, plan::Launch, plan::Library,
                                 plan::MakeTensor, plan::ReadExtent, plan::ReadElement, plan::CheckEqual, plan::Move,
                                 plan::If, plan::Loop, plan::Release, plan::DeviceLaunch, plan::Transfer>;

struct Block {
  std::vector<Instruction> instructions;
};

// A constant of the package: bytes in the constants entry, row-major. Strings are stored length-prefixed (u32) one
// after another.
struct PlanConstant {
  ValueId value;
  DType dtype;
  std::vector<int64_t> dims;
  int64_t offset = 0;  // in the constants entry, 64-byte aligned
  int64_t bytes = 0;
};

struct Plan {
  int32_t num_values = 0;
  int32_t num_registers = 0;
  std::vector<ValueId> inputs;               // one slot per graph input; kNoValue: not used
  std::vector<ValueId> outputs;              // one slot per graph output; what is on the device is copied to the host
  std::vector<RegisterId> symbol_registers;  // register of each input symbol s0, s1, ... of the specialisation
  std::vector<PlanConstant> constants;
  std::vector<Operand> slot_bytes;  // size of each memory slot, computed before its first use
  // Symbols: in the code object those of Launch, in the kernel images those of DeviceLaunch.
  std::vector<std::string> functions;
  Block body;
};

}  // namespace tcc
