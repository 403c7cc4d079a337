//===- SimCompiler.cpp -----------------------------------------------------===//
#include "codegen/cuda/compile/SimCompiler.h"

#include <cerrno>
#include <cstdlib>
#include <mutex>

#include <sys/stat.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "codegen/cuda/compile/PrivateFolder.h"
#include "runtime/devices/sim/sim_api.h"
#include "runtime/file_util.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace tcc::codegen {
namespace {

namespace fs = llvm::sys::fs;

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.str().c_str());
}

std::string readFile(const std::string &path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

llvm::Error writeFile(const std::string &path, llvm::StringRef text) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  absl::Status status = file.valid() ? file.Write({text.data(), text.size()}) : ErrnoStatus(errno, path, "write");
  return status.ok() ? llvm::Error::success() : failure(std::string(status.message()));
}

/// Runs a program; what it prints goes to `output`. Below zero: it could not be started, or died of a signal.
int run(const std::vector<std::string> &command, const std::string &output, std::string *error) {
  std::vector<llvm::StringRef> arguments(command.begin(), command.end());
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(output),
                                                      llvm::StringRef(output)};
  return llvm::sys::ExecuteAndWait(command[0], arguments, std::nullopt, redirects, 0, 0, error);
}

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

} // namespace

struct SimCompiler::State {
  std::mutex mutex;
  std::unique_ptr<PrivateFolder> folder; // guarded by mutex
  std::once_flag precompiled;
  std::string header; // the precompiled one, empty for none; after `precompiled`
};

SimCompiler::~SimCompiler() = default;

llvm::Expected<std::unique_ptr<SimCompiler>> SimCompiler::create(llvm::StringRef place,
                                                                 llvm::ArrayRef<DeviceHeader> headers, bool checked) {
  std::unique_ptr<SimCompiler> result(new SimCompiler);
  result->state = std::make_unique<State>();
  result->headers = headers.vec();
  const char *variable = std::getenv("TCC_SIM_CXX");
  std::string wanted = !place.empty() ? place.str() : variable == nullptr ? "" : variable;
  if (!wanted.empty()) {
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(wanted);
    if (!found || !fs::can_execute(*found))
      return failure("the compiler of the simulated device, '" + wanted + "' (TCC_SIM_CXX), is no program");
    result->compiler = *found;
  } else {
    for (const char *name : {"clang++-19", "clang++-22", "clang++-21", "clang++-20", "clang++"})
      if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name); found && result->compiler.empty())
        result->compiler = *found;
    if (result->compiler.empty())
      return failure("no clang++ in $PATH: the simulated device (cuda-sim) compiles its kernels with clang 19 or "
                     "newer (Debian: clang-19, lld-19). TCC_SIM_CXX names another one");
  }
  llvm::SmallString<128> output;
  if (std::error_code code = fs::createTemporaryFile("tcc-clang", "txt", output))
    return failure("no temporary file: " + code.message());
  llvm::FileRemover remover(output);
  std::string error;
  int code = run({result->compiler, "--version"}, std::string(output), &error);
  std::string text = readFile(std::string(output));
  result->compilerVersion = llvm::StringRef(text).split('\n').first.str();
  if (code != 0 || !llvm::StringRef(result->compilerVersion).contains("clang version"))
    return failure("'" + result->compiler + "' is not clang" + (error.empty() ? "" : ": " + error) +
                   ": the simulated device needs it");
  result->compilerFlags = sim::CompileFlags(checked);
  return result;
}

llvm::Expected<const PrivateFolder *> SimCompiler::prepare() {
  std::lock_guard<std::mutex> lock(state->mutex);
  if (state->folder != nullptr)
    return state->folder.get();
  llvm::Expected<std::unique_ptr<PrivateFolder>> folder = PrivateFolder::create("tcc-sim");
  if (!folder)
    return folder.takeError();
  for (const DeviceHeader &header : headers) {
    llvm::SmallString<128> file((*folder)->path());
    llvm::sys::path::append(file, header.name);
    if (std::error_code error = fs::create_directories(llvm::sys::path::parent_path(file)))
      return failure("cannot make '" + file + "': " + error.message());
    if (llvm::Error error = writeFile(std::string(file), header.text))
      return error;
  }
  state->folder = std::move(*folder);
  return state->folder.get();
}

const std::string &SimCompiler::precompile(const PrivateFolder &folder) {
  std::call_once(state->precompiled, [&] {
    // What all kernels include; where it cannot be compiled, the kernels themselves say why.
    const std::string source = folder.path() + "/tcc/device.cuh", header = folder.path() + "/device.pch";
    if (!Exists(source))
      return;
    std::vector<std::string> command = {compiler};
    command.insert(command.end(), compilerFlags.begin(), compilerFlags.end());
    command.insert(command.end(), {"-I", folder.path(), "-ffile-prefix-map=" + folder.path() + "/=",
                                   "-Wno-pragma-once-outside-header", "-x", "c++-header", source, "-o", header});
    if (run(command, header + ".txt", nullptr) == 0)
      state->header = header;
  });
  return state->header;
}

llvm::Expected<SimCompiler::Result> SimCompiler::compile(const KernelSource &kernel, llvm::StringRef name,
                                                         bool precompiledHeader) {
  llvm::Expected<const PrivateFolder *> folder = prepare();
  if (!folder)
    return folder.takeError();
  const std::string &root = (*folder)->path();
  std::string work = root + "/kernel-XXXXXX"; // kernels of one name may compile at once
  if (mkdtemp(work.data()) == nullptr)
    return failure(std::string(ErrnoStatus(errno, work, "make").message()));
  auto cleanup = llvm::make_scope_exit([&] { fs::remove_directories(work); });
  const std::string source = work + "/" + name.str(), object = work + "/kernel.so", log = work + "/log.txt";
  // What the simulator finds the kernel by; behind the text, whose lines stay what they are.
  if (llvm::Error error = writeFile(source, kernel.text + sim::ExportText(kernel.symbol)))
    return error;
  std::vector<std::string> command = {compiler};
  command.insert(command.end(), compilerFlags.begin(), compilerFlags.end());
  command.insert(command.end(), {"-I", root, "-ffile-prefix-map=" + work + "/=", "-ffile-prefix-map=" + root + "/=",
                                 "-fno-caret-diagnostics", "-fno-color-diagnostics"});
  if (precompiledHeader)
    if (const std::string &header = precompile(**folder); !header.empty())
      command.insert(command.end(), {"-include-pch", header});
  command.insert(command.end(), {source, "-o", object});
  std::string error;
  int code = run(command, log, &error);
  Result result;
  result.log = readFile(log);
  for (const std::string &prefix : {work + "/", root + "/"})
    replaceAll(result.log, prefix, "");
  if (code < 0)
    return failure("the compiler of the simulated device, '" + compiler + "', " +
                   (error.empty() ? "died" : "failed: " + error) + "\n" + result.log);
  if (code == 0)
    result.bytes = readFile(object);
  result.compiled = !result.bytes.empty();
  return result;
}

} // namespace tcc::codegen
