#include "runtime/code_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "runtime/file_util.h"
#include "runtime/status.h"

namespace tcc {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
constexpr int kMachine = EM_NONE;
#endif

absl::Status CheckElf(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header)) return absl::InvalidArgumentError("code: too short for a shared object");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN) {
    return absl::InvalidArgumentError("code: not a 64-bit ELF shared object");
  }
  if (header.e_machine != kMachine) {
    return absl::FailedPreconditionError(absl::StrCat("code: made for ELF machine ", header.e_machine, ", this one is ",
                                                      kMachine, ": compile for this machine"));
  }
  // What the dynamic loader reads before it checks anything.
  const uint64_t table = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes.size() ||
      table > bytes.size() - header.e_phoff) {
    return absl::InvalidArgumentError("code: program headers lie outside the object");
  }
  // And what it maps: pages behind the end of a file cannot be touched.
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset) {
      return absl::InvalidArgumentError("code: the object is truncated");
    }
  }
  return absl::OkStatus();
}

// dlopen takes a name it has seen for the library it loaded then, even after that descriptor was closed and its number
// reused. So each load spells the path of its descriptor in a way of its own: the bits of a counter as "./" and ".//".
std::string UniquePath(int descriptor) {
  static std::atomic<uint64_t> counter{1};
  std::string path = "/proc/self/fd/";
  for (uint64_t n = counter.fetch_add(1); n != 0; n >>= 1) path += (n & 1) != 0 ? ".//" : "./";
  return absl::StrCat(path, descriptor);
}

std::string LoaderError() {
  const char* message = dlerror();
  return message == nullptr ? "unknown error" : message;
}

absl::StatusOr<void*> LoadFromMemory(std::string_view bytes, const std::string& name) {
  FileDescriptor file(memfd_create(absl::StrCat("tcc:", name).substr(0, 200).c_str(), MFD_CLOEXEC));
  if (!file.valid()) return absl::UnavailableError(absl::StrCat("memfd_create: ", std::strerror(errno)));
  TCC_RETURN_IF_ERROR(file.Write(bytes));
  void* handle = dlopen(UniquePath(file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::UnavailableError(LoaderError());
  return handle;
}

absl::StatusOr<void*> LoadFromTemporaryFile(std::string_view bytes) {
  const char* folder = getenv("TMPDIR");
  std::string path = absl::StrCat(folder != nullptr && *folder != '\0' ? folder : "/tmp", "/tcc-code-XXXXXX");
  FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid()) return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  const absl::Status written = file.Write(bytes);
  // The name is used once: mkostemp never gives the same one while the library is loaded. (A later one could only meet
  // it after unlink; the inode, which dlopen compares too, is still taken then.)
  void* handle = written.ok() ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const std::string error = handle == nullptr && written.ok() ? LoaderError() : "";
  unlink(path.c_str());
  TCC_RETURN_IF_ERROR(written);
  if (handle == nullptr) return absl::UnavailableError(error);
  return handle;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CodeObject>> CodeObject::Load(std::string_view bytes, const std::string& name) {
  TCC_RETURN_IF_ERROR(CheckElf(bytes));
  absl::StatusOr<void*> handle = LoadFromMemory(bytes, name);
  if (!handle.ok()) {
    const absl::Status first = handle.status();
    handle = LoadFromTemporaryFile(bytes);
    if (!handle.ok()) {
      return absl::FailedPreconditionError(absl::StrCat("code '", name,
                                                        "' cannot be loaded: from memory: ", first.message(),
                                                        "; from a temporary file: ", handle.status().message()));
    }
  }
  return std::shared_ptr<const CodeObject>(new CodeObject(*handle));
}

CodeObject::~CodeObject() { dlclose(handle_); }

absl::StatusOr<TccKernelFunction> CodeObject::Function(const std::string& name) const {
  void* symbol = dlsym(handle_, name.c_str());
  if (symbol == nullptr) return absl::NotFoundError(absl::StrCat("code: no function '", name, "'"));
  return reinterpret_cast<TccKernelFunction>(symbol);
}

}  // namespace tcc
