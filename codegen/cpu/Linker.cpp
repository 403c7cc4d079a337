//===- Linker.cpp - object files to a freestanding shared object ----------===//
#include "codegen/cpu/Linker.h"

#include <map>
#include <mutex>

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

namespace tcc::codegen {
namespace {

using Elf = llvm::object::ELF64LE;

std::mutex linkMutex;

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream << bytes;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return llvm::createStringError(code, "cannot write the object file " + path + ": " + code.message());
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::vector<std::string>> undefinedSymbols(llvm::ArrayRef<ObjectBytes> objects) {
  std::map<std::string, bool> defined;
  for (const ObjectBytes &bytes : objects) {
    auto buffer = llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "object");
    auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
    if (!file)
      return file.takeError();
    for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
      auto flags = symbol.getFlags();
      auto name = symbol.getName();
      if (!flags || !name)
        return llvm::joinErrors(flags.takeError(), name.takeError());
      if (!name->empty() &&
          (*flags & llvm::object::SymbolRef::SF_Global || *flags & llvm::object::SymbolRef::SF_Undefined))
        defined[name->str()] |= !(*flags & llvm::object::SymbolRef::SF_Undefined);
    }
  }
  std::vector<std::string> names;
  for (auto &[name, isDefined] : defined)
    // The assembler names the table that position-independent code is relative to; the linker makes it.
    if (!isDefined && name != "_GLOBAL_OFFSET_TABLE_")
      names.push_back(name);
  return names;
}

llvm::Expected<std::string> linkSharedObject(llvm::ArrayRef<ObjectBytes> objects) {
  llvm::SmallString<128> folder;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("tcc-link", folder))
    return llvm::createStringError(code, "cannot make a temporary folder to link in (set TMPDIR to a writable one): " +
                                             code.message());
  auto cleanup = llvm::make_scope_exit([&] { llvm::sys::fs::remove_directories(folder); });

  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "--no-undefined",
                                        "-nostdlib",
                                        "--hash-style=gnu",
                                        "-znoexecstack",
                                        "--build-id=none",
                                        "--gc-sections",
                                        "-zseparate-code",
                                        "--threads=1",
                                        "-o",
                                        (folder + "/code.so").str()};
  for (auto [i, bytes] : llvm::enumerate(objects)) {
    std::string path = (folder + "/" + llvm::Twine(i) + ".o").str();
    if (llvm::Error error = writeFile(path, llvm::StringRef(bytes.data(), bytes.size())))
      return std::move(error);
    arguments.push_back(path);
  }
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());

  std::string output, errors;
  llvm::raw_string_ostream outputStream(output), errorStream(errors);
  {
    std::lock_guard lock(linkMutex);
    lld::Result result = lld::lldMain(pointers, outputStream, errorStream, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode != 0)
      return llvm::createStringError("linking generated code failed: " + errors);
  }
  auto buffer = llvm::MemoryBuffer::getFile(folder + "/code.so", /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read the linked code back: " + buffer.getError().message());
  if (llvm::Error error = checkFreestanding((*buffer)->getBuffer()))
    return std::move(error);
  return (*buffer)->getBuffer().str();
}

llvm::Error checkFreestanding(llvm::StringRef sharedObject) {
  auto fault = [](const llvm::Twine &what) {
    return llvm::createStringError("generated code is not freestanding: " + what);
  };
  auto file = llvm::object::ELFFile<Elf>::create(sharedObject);
  if (!file)
    return file.takeError();
  auto headers = file->program_headers();
  auto sections = file->sections();
  auto dynamic = file->dynamicEntries();
  if (!headers || !sections || !dynamic)
    return llvm::joinErrors(headers.takeError(), llvm::joinErrors(sections.takeError(), dynamic.takeError()));
  for (auto &header : *headers)
    if (header.p_type == llvm::ELF::PT_TLS)
      return fault("it has thread-local storage");
  for (auto &entry : *dynamic)
    switch (entry.d_tag) {
    case llvm::ELF::DT_NEEDED:
      return fault("it needs another library");
    case llvm::ELF::DT_INIT:
    case llvm::ELF::DT_FINI:
    case llvm::ELF::DT_INIT_ARRAY:
    case llvm::ELF::DT_FINI_ARRAY:
    case llvm::ELF::DT_PREINIT_ARRAY:
      return fault("it has constructors or destructors");
    }
  for (auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_DYNSYM)
      continue;
    auto symbols = file->symbols(&section);
    auto names = file->getStringTableForSymtab(section);
    if (!symbols || !names)
      return llvm::joinErrors(symbols.takeError(), names.takeError());
    for (auto &symbol : symbols->drop_front()) {
      auto name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      if (symbol.isUndefined())
        return fault("it calls " + *name);
    }
  }
  return llvm::Error::success();
}

} // namespace tcc::codegen
