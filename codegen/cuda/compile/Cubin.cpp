//===- Cubin.cpp -----------------------------------------------------------===//
#include "codegen/cuda/compile/Cubin.h"

#include <algorithm>

#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

namespace tcc::codegen {
namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

// Attributes of .nv.info. Each is a byte for the form of its value, a byte for its name, then two bytes: the value, or
// (form kSized) its length, and the value behind.
constexpr uint8_t kSized = 4;
constexpr uint8_t kMaxThreads = 0x05;    // x, y, z
constexpr uint8_t kRequiredSize = 0x10;  // x, y, z
constexpr uint8_t kFrameSize = 0x11;     // symbol, bytes
constexpr uint8_t kRegisterCount = 0x2f; // symbol, registers

/// From 9.0 on, the section of shared memory begins with what the system keeps for itself.
constexpr int64_t kReservedShared = 1024;

/// The capability that a cubin is for, from the flags of its header: their place depends on the version of the format.
unsigned capabilityOf(const Elf &elf) {
  const auto &header = elf.getHeader();
  return (header.e_ident[llvm::ELF::EI_ABIVERSION] >= 8 ? header.e_flags >> 8 : header.e_flags) & 0xff;
}

template <typename T> std::optional<T> value(llvm::Expected<T> result) {
  if (result)
    return std::move(*result);
  llvm::consumeError(result.takeError());
  return std::nullopt;
}

/// Calls `visit` with the name and the words of each sized attribute.
template <typename Visit> void visitAttributes(llvm::ArrayRef<uint8_t> bytes, const Visit &visit) {
  while (bytes.size() >= 4) {
    size_t length = bytes[0] == kSized ? llvm::support::endian::read16le(bytes.data() + 2) : 0;
    if (bytes.size() < 4 + length)
      return;
    if (bytes[0] == kSized) {
      llvm::SmallVector<uint32_t, 8> words;
      for (size_t i = 0; i + 4 <= length; i += 4)
        words.push_back(llvm::support::endian::read32le(bytes.data() + 4 + i));
      visit(bytes[1], llvm::ArrayRef<uint32_t>(words));
    }
    bytes = bytes.drop_front(4 + length);
  }
}

} // namespace

std::optional<KernelResources> readCubin(llvm::StringRef cubin, llvm::StringRef kernel) {
  std::optional<Elf> elf = value(Elf::create(cubin));
  if (!elf)
    return std::nullopt;
  auto sections = value(elf->sections());
  if (!sections)
    return std::nullopt;

  // The kernel's number in the table of symbols.
  std::optional<uint32_t> symbol;
  for (const auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = value(elf->symbols(&section));
    auto names = value(elf->getStringTableForSymtab(section, *sections));
    if (!symbols || !names)
      return std::nullopt;
    for (uint32_t i = 0; i < symbols->size(); ++i)
      if (std::optional<llvm::StringRef> name = value((*symbols)[i].getName(*names));
          name == kernel && (*symbols)[i].getType() == llvm::ELF::STT_FUNC)
        symbol = i;
  }
  if (!symbol)
    return std::nullopt;

  KernelResources resources;
  for (const auto &section : *sections) {
    std::optional<llvm::StringRef> name = value(elf->getSectionName(section));
    if (!name)
      continue;
    if (*name == (".nv.shared." + kernel).str())
      resources.sharedBytes = std::max<int64_t>(
          static_cast<int64_t>(section.sh_size) - (capabilityOf(*elf) >= 90 ? kReservedShared : 0), 0);
    const bool ofModule = *name == ".nv.info", ofKernel = *name == (".nv.info." + kernel).str();
    if (!ofModule && !ofKernel)
      continue;
    auto bytes = value(elf->getSectionContents(section));
    if (!bytes)
      continue;
    visitAttributes(*bytes, [&](uint8_t attribute, llvm::ArrayRef<uint32_t> words) {
      if (words.size() >= 2 && words[0] == *symbol && attribute == kRegisterCount)
        resources.registers = static_cast<int>(words[1]);
      if (words.size() >= 2 && words[0] == *symbol && attribute == kFrameSize)
        resources.stack = words[1];
      if (ofKernel && words.size() >= 3 && (attribute == kMaxThreads || attribute == kRequiredSize))
        resources.maxThreads = static_cast<int>(std::min<uint64_t>(uint64_t{words[0]} * words[1] * words[2], 1024));
    });
  }
  return resources;
}

} // namespace tcc::codegen
