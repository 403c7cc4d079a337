//===- KernelEntry.cpp -----------------------------------------------------===//
#include "codegen/cuda/compile/KernelEntry.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tcc::codegen {

std::string serialize(const KernelEntry &entry) {
  llvm::json::Object json;
  if (entry.resources) {
    const KernelResources &resources = *entry.resources;
    json["registers"] = resources.registers;
    json["spill_stores"] = resources.spillStores;
    json["spill_loads"] = resources.spillLoads;
    json["stack"] = resources.stack;
    json["shared"] = resources.sharedBytes;
    json["constant"] = resources.constantBytes;
    json["max_threads"] = resources.maxThreads;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(json)) << '\n' << entry.bytes;
  return text;
}

std::optional<KernelEntry> deserialize(llvm::StringRef text) {
  auto [line, bytes] = text.split('\n');
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(line);
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = json->getAsObject();
  if (object == nullptr || bytes.empty())
    return std::nullopt;
  KernelEntry entry;
  entry.bytes = bytes.str();
  if (object->empty())
    return entry;
  KernelResources &resources = entry.resources.emplace();
  bool complete = true;
  auto read = [&](llvm::StringRef name, auto &value) {
    std::optional<int64_t> number = object->getInteger(name);
    complete = complete && number.has_value();
    value = static_cast<std::remove_reference_t<decltype(value)>>(number.value_or(0));
  };
  read("registers", resources.registers);
  read("spill_stores", resources.spillStores);
  read("spill_loads", resources.spillLoads);
  read("stack", resources.stack);
  read("shared", resources.sharedBytes);
  read("constant", resources.constantBytes);
  read("max_threads", resources.maxThreads);
  if (!complete)
    return std::nullopt;
  return entry;
}

} // namespace tcc::codegen
