#include "runtime/plan_json.h"

#include <array>

#include "runtime/attributes_json.h"
#include "runtime/json_reader.h"

namespace tcc {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
constexpr int kMaxDepth = 64;
constexpr std::array<const char*, 10> kIntOps = {"add", "sub", "mul", "floordiv", "ceildiv",
                                                 "mod", "min", "max", "eq",       "lt"};
constexpr std::array<const char*, 2> kSpaces = {"host", "device"};

// Writing.

Json ToJson(const Operand& operand) {
  if (operand.is_register) return absl::StrCat("r", operand.value);
  return operand.value;
}

Json ToJson(const std::vector<Operand>& operands) {
  Json list = Json::array();
  for (const Operand& operand : operands) list.push_back(ToJson(operand));
  return list;
}

Json ToJson(const Block& block);

struct InstructionToJson {
  Json operator()(const plan::Compute& i) const {
    return {{"do", "compute"},
            {"result", i.result},
            {"op", kIntOps.at(static_cast<size_t>(i.op))},
            {"lhs", ToJson(i.lhs)},
            {"rhs", ToJson(i.rhs)}};
  }
  Json operator()(const plan::Allocate& i) const {
    Json json = {{"do", "allocate"}, {"result", i.result}, {"dtype", DTypeName(i.dtype)}, {"dims", ToJson(i.dims)}};
    if (i.slot != plan::kFreshSlot) {
      json["slot"] = i.slot;
      json["offset"] = i.offset;
    }
    if (i.over != kNoValue) json["over"] = i.over;
    if (i.space != Space::kHost) json["space"] = kSpaces.at(static_cast<size_t>(i.space));
    return json;
  }
  Json operator()(const plan::View& i) const {
    return {{"do", "view"},           {"result", i.result},           {"source", i.source},
            {"dims", ToJson(i.dims)}, {"strides", ToJson(i.strides)}, {"offset", ToJson(i.offset)}};
  }
  Json operator()(const plan::Launch& i) const {
    Json json = {{"do", "launch"},
                 {"function", i.function},
                 {"buffers", i.buffers},
                 {"scalars", ToJson(i.scalars)},
                 {"items", ToJson(i.items)},
                 {"grain", i.grain},
                 {"scratch", ToJson(i.scratch_bytes)},
                 {"name", i.name}};
    if (i.copies) json["copies"] = true;
    return json;
  }
  Json operator()(const plan::Library& i) const {
    Json lists = Json::array();
    for (const auto& [name, operands] : i.int_lists) lists.push_back({{"name", name}, {"values", ToJson(operands)}});
    Json results = Json::array();
    for (const auto& result : i.results) {
      results.push_back({{"value", result.value}, {"dtype", DTypeName(result.dtype)}, {"dims", ToJson(result.dims)}});
    }
    return {{"do", "library"},
            {"op", i.op},
            {"attributes", AttributesToJson(i.attributes)},
            {"int_lists", std::move(lists)},
            {"inputs", i.inputs},
            {"results", std::move(results)},
            {"name", i.name}};
  }
  Json operator()(const plan::MakeTensor& i) const {
    return {{"do", "make_tensor"},
            {"result", i.result},
            {"dtype", DTypeName(i.dtype)},
            {"dims", i.dims},
            {"elements", ToJson(i.elements)}};
  }
  Json operator()(const plan::ReadExtent& i) const {
    return {{"do", "read_extent"}, {"result", i.result}, {"source", i.source}, {"axis", i.axis}};
  }
  Json operator()(const plan::ReadElement& i) const {
    return {{"do", "read_element"}, {"result", i.result}, {"source", i.source}, {"index", i.index}};
  }
  Json operator()(const plan::CheckEqual& i) const {
    return {{"do", "check_equal"}, {"lhs", ToJson(i.lhs)}, {"rhs", ToJson(i.rhs)}, {"message", i.message}};
  }
  Json operator()(const plan::Move& i) const { return {{"do", "move"}, {"to", i.to}, {"from", i.from}}; }
  Json operator()(const plan::If& i) const {
    Json blocks = Json::array();
    for (const Block& block : i.blocks) blocks.push_back(ToJson(block));
    return {{"do", "if"}, {"condition", i.condition}, {"blocks", std::move(blocks)}};
  }
  Json operator()(const plan::Loop& i) const {
    Json blocks = Json::array(), scans = Json::array();
    for (const Block& block : i.blocks) blocks.push_back(ToJson(block));
    for (const auto& scan : i.scan_outputs) {
      scans.push_back({{"result", scan.result},
                       {"element", scan.element},
                       {"dtype", DTypeName(scan.dtype)},
                       {"dims", ToJson(scan.dims)}});
    }
    return {{"do", "loop"},
            {"trip_count", i.trip_count},
            {"condition", i.condition},
            {"iteration", i.iteration},
            {"blocks", std::move(blocks)},
            {"scan_outputs", std::move(scans)}};
  }
  Json operator()(const plan::Release& i) const { return {{"do", "release"}, {"value", i.value}}; }
  Json operator()(const plan::DeviceLaunch& i) const {
    Json grid = Json::array();
    for (const Operand& extent : i.grid) grid.push_back(ToJson(extent));
    Json json = {{"do", "device_launch"},
                 {"function", i.function},
                 {"buffers", i.buffers},
                 {"scalars", ToJson(i.scalars)},
                 {"grid", std::move(grid)},
                 {"block", i.block},
                 {"shared", ToJson(i.shared_bytes)},
                 {"name", i.name}};
    if (i.reports_errors) json["reports_errors"] = true;
    if (i.copies) json["copies"] = true;
    if (i.has_counters()) json["counters"] = ToJson(i.counters);
    if (!i.tensor_maps.empty()) {
      Json maps = Json::array();
      for (const plan::TensorMap& map : i.tensor_maps) {
        maps.push_back({{"buffer", map.buffer},
                        {"element_bytes", map.element_bytes},
                        {"extents", ToJson(map.extents)},
                        {"strides", ToJson(map.strides)},
                        {"box", map.box},
                        {"swizzle", map.swizzle}});
      }
      json["tensor_maps"] = std::move(maps);
    }
    return json;
  }
  Json operator()(const plan::Transfer& i) const {
    return {
        {"do", "transfer"}, {"result", i.result}, {"source", i.source}, {"to", kSpaces.at(static_cast<size_t>(i.to))}};
  }
};

Json ToJson(const Block& block) {
  Json list = Json::array();
  for (const Instruction& instruction : block.instructions)
    list.push_back(std::visit(InstructionToJson(), instruction));
  return list;
}

// Reading.

class PlanReader : public JsonReader {
 public:
  Plan ReadPlan(const Json& json) {
    Plan plan;
    plan.num_values = Id(json, "num_values");
    plan.num_registers = Id(json, "num_registers");
    plan.inputs = Ids(json, "inputs");
    plan.outputs = Ids(json, "outputs");
    plan.symbol_registers = Ids(json, "symbol_registers");
    plan.constants = List(json, "constants", [this](const Json& value) {
      PlanConstant constant;
      constant.value = Id(value, "value");
      constant.dtype = Type(value, "dtype");
      constant.dims = Ints(value, "dims");
      constant.offset = Int(value, "offset", 0);
      constant.bytes = Int(value, "bytes", 0);
      return constant;
    });
    plan.slot_bytes = Operands(json, "slot_bytes");
    plan.functions = Strings(json, "functions");
    const Scope scope(*this, "body");
    plan.body = ReadBlock(Field(json, "body"), 0);
    return plan;
  }

 private:
  int32_t AsId(const Json& value) { return static_cast<int32_t>(AsInt(value, -1, kMaxId)); }
  int32_t Id(const Json& object, const char* name) { return static_cast<int32_t>(Int(object, name, -1, kMaxId)); }
  std::vector<int32_t> Ids(const Json& object, const char* name) {
    return List(object, name, [this](const Json& value) { return AsId(value); });
  }

  Operand AsOperand(const Json& value) {
    if (!value.is_string()) return Operand::Imm(AsInt(value));
    const std::string text = value.get<std::string>();
    int32_t id = 0;
    if (text.size() < 2 || text[0] != 'r' || !absl::SimpleAtoi(absl::string_view(text).substr(1), &id) || id < 0) {
      Fail("expected an integer or a register such as \"r3\"");
    }
    return Operand::Reg(id);
  }
  Operand ReadOperand(const Json& object, const char* name) {
    const Scope scope(*this, name);
    return AsOperand(Field(object, name));
  }
  std::vector<Operand> Operands(const Json& object, const char* name) {
    return List(object, name, [this](const Json& value) { return AsOperand(value); });
  }

  Block ReadBlock(const Json& json, int depth) {
    if (depth > kMaxDepth) {
      Fail(absl::StrCat("blocks nested more than ", kMaxDepth, " deep"));
      return {};
    }
    return Block{AsList(json, [&](const Json& value) { return ReadInstruction(value, depth); })};
  }
  std::vector<Block> Blocks(const Json& object, int depth) {
    return List(object, "blocks", [&](const Json& value) { return ReadBlock(value, depth + 1); });
  }

  Instruction ReadInstruction(const Json& json, int depth) {
    const std::string kind = String(json, "do");
    if (kind == "compute") {
      const std::string op = String(json, "op");
      size_t index = 0;
      while (index < kIntOps.size() && op != kIntOps[index]) ++index;
      if (index == kIntOps.size()) Fail(absl::StrCat("unknown op '", op, "'"));
      return plan::Compute{Id(json, "result"), static_cast<IntOp>(index), ReadOperand(json, "lhs"),
                           ReadOperand(json, "rhs")};
    }
    if (kind == "allocate") {
      plan::Allocate i{Id(json, "result"), Type(json, "dtype"), Operands(json, "dims")};
      if (Has(json, "slot")) {
        i.slot = Id(json, "slot");
        i.offset = Int(json, "offset", 0);
      }
      if (Has(json, "over")) i.over = Id(json, "over");
      if (Has(json, "space")) i.space = ReadSpace(json, "space");
      return i;
    }
    if (kind == "view") {
      return plan::View{Id(json, "result"), Id(json, "source"), Operands(json, "dims"), Operands(json, "strides"),
                        ReadOperand(json, "offset")};
    }
    if (kind == "launch") {
      return plan::Launch{Id(json, "function"),       Ids(json, "buffers"),  Operands(json, "scalars"),
                          ReadOperand(json, "items"), Int(json, "grain", 1), ReadOperand(json, "scratch"),
                          String(json, "name"),       Has(json, "copies")};
    }
    if (kind == "library") return ReadLibrary(json);
    if (kind == "make_tensor") {
      return plan::MakeTensor{Id(json, "result"), Type(json, "dtype"), Ints(json, "dims"), Operands(json, "elements")};
    }
    if (kind == "read_extent") return plan::ReadExtent{Id(json, "result"), Id(json, "source"), Id(json, "axis")};
    if (kind == "read_element") return plan::ReadElement{Id(json, "result"), Id(json, "source"), Int(json, "index", 0)};
    if (kind == "check_equal") {
      return plan::CheckEqual{ReadOperand(json, "lhs"), ReadOperand(json, "rhs"), String(json, "message")};
    }
    if (kind == "move") return plan::Move{Id(json, "to"), Id(json, "from")};
    if (kind == "if") return plan::If{Id(json, "condition"), Blocks(json, depth)};
    if (kind == "loop") return ReadLoop(json, depth);
    if (kind == "release") return plan::Release{Id(json, "value")};
    if (kind == "device_launch") return ReadDeviceLaunch(json);
    if (kind == "transfer") {
      return plan::Transfer{Id(json, "result"), Id(json, "source"), ReadSpace(json, "to")};
    }
    Fail(absl::StrCat("unknown instruction '", kind, "'"));
    return plan::Release{0};
  }

  Space ReadSpace(const Json& object, const char* name) {
    const std::string text = String(object, name);
    for (size_t i = 0; i < kSpaces.size(); ++i) {
      if (text == kSpaces.at(i)) return static_cast<Space>(i);
    }
    Fail(absl::StrCat("unknown space '", text, "'"));
    return Space::kHost;
  }

  plan::DeviceLaunch ReadDeviceLaunch(const Json& json) {
    plan::DeviceLaunch i;
    i.function = Id(json, "function");
    i.buffers = Ids(json, "buffers");
    i.scalars = Operands(json, "scalars");
    const std::vector<Operand> grid = Operands(json, "grid");
    const std::vector<int32_t> block = Ids(json, "block");
    if (ok() && (grid.size() != 3 || block.size() != 3)) Fail("grid and block have three extents each");
    for (size_t axis = 0; ok() && axis < 3; ++axis) {
      i.grid[axis] = grid[axis];
      i.block[axis] = block[axis];
    }
    i.shared_bytes = ReadOperand(json, "shared");
    i.name = String(json, "name");
    i.reports_errors = Has(json, "reports_errors");
    i.copies = Has(json, "copies");
    if (Has(json, "counters")) i.counters = ReadOperand(json, "counters");
    if (Has(json, "tensor_maps")) {
      i.tensor_maps = List(json, "tensor_maps", [this](const Json& value) {
        plan::TensorMap map;
        map.buffer = Id(value, "buffer");
        map.element_bytes = Id(value, "element_bytes");
        map.extents = Operands(value, "extents");
        map.strides = Operands(value, "strides");
        map.box = Ids(value, "box");
        map.swizzle = Id(value, "swizzle");
        return map;
      });
    }
    return i;
  }

  plan::Library ReadLibrary(const Json& json) {
    plan::Library i;
    i.op = String(json, "op");
    {
      const Scope scope(*this, "attributes");
      i.attributes = AttributesFromJson(*this, Field(json, "attributes"));
    }
    i.int_lists = List(json, "int_lists", [this](const Json& value) {
      return std::pair<std::string, std::vector<Operand>>(String(value, "name"), Operands(value, "values"));
    });
    i.inputs = Ids(json, "inputs");
    i.results = List(json, "results", [this](const Json& value) {
      return plan::Library::Result{Id(value, "value"), Type(value, "dtype"), Operands(value, "dims")};
    });
    i.name = String(json, "name");
    return i;
  }

  plan::Loop ReadLoop(const Json& json, int depth) {
    plan::Loop i;
    i.trip_count = Id(json, "trip_count");
    i.condition = Id(json, "condition");
    i.iteration = Id(json, "iteration");
    i.blocks = Blocks(json, depth);
    i.scan_outputs = List(json, "scan_outputs", [this](const Json& value) {
      return plan::Loop::ScanOutput{Id(value, "result"), Id(value, "element"), Type(value, "dtype"),
                                    Operands(value, "dims")};
    });
    return i;
  }
};

}  // namespace

std::string PlanToJson(const Plan& plan) {
  Json constants = Json::array();
  for (const PlanConstant& constant : plan.constants) {
    constants.push_back({{"value", constant.value},
                         {"dtype", DTypeName(constant.dtype)},
                         {"dims", constant.dims},
                         {"offset", constant.offset},
                         {"bytes", constant.bytes}});
  }
  const Json json = {{"num_values", plan.num_values},
                     {"num_registers", plan.num_registers},
                     {"inputs", plan.inputs},
                     {"outputs", plan.outputs},
                     {"symbol_registers", plan.symbol_registers},
                     {"constants", std::move(constants)},
                     {"slot_bytes", ToJson(plan.slot_bytes)},
                     {"functions", plan.functions},
                     {"body", ToJson(plan.body)}};
  // Names come from model files and need not be UTF-8: what is not is replaced, names are for people.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Plan> PlanFromJson(std::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("plan: not JSON");
  PlanReader reader;
  Plan plan = reader.ReadPlan(json);
  if (!reader.ok()) return reader.status("plan");
  if (absl::Status status = ValidatePlan(plan); !status.ok()) return status;
  return plan;
}

}  // namespace tcc
