#include "tests/codegen_cuda_print/compiled.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "codegen/cuda/device/DeviceLibrary.h"
#include "codegen/cuda/print/Print.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/devices/sim/sim_api.h"
#include "tests/cuda_compile/compile_test_util.h"

namespace tcc {

void loadDialects(mlir::MLIRContext& context) {
  context
      .loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::gpu::GPUDialect, mlir::math::MathDialect,
                   mlir::memref::MemRefDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
}

Compiled::Compiled(mlir::MLIRContext& context, const std::string& mlirText) { build(context, mlirText); }

void Compiled::build(mlir::MLIRContext& context, const std::string& mlirText) {
  parsed = mlir::parseSourceString<mlir::ModuleOp>(mlirText, &context);
  if (!parsed) {
    ADD_FAILURE() << mlirText;
    return;
  }
  std::string plain, first;
  for (auto function : parsed->getOps<mlir::func::FuncOp>()) {
    if (!function->hasAttr("tcc.block")) continue;
    mlir::FailureOr<std::string> text = codegen::printCudaKernel(function);
    if (mlir::failed(text)) {
      ADD_FAILURE() << "not printed: " << function.getName().str();
      continue;
    }
    if (first.empty()) first = function.getName().str();
    plain += *text;
    source += *text + sim::ExportText(function.getName().str()) + "\n";
  }
  std::string pattern = ::testing::TempDir() + "/tcc_print_XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  folder = pattern;
  std::error_code error;
  std::filesystem::create_directories(folder + "/tcc", error);
  for (const codegen::DeviceFile& file : codegen::deviceLibrary())
    std::ofstream(folder + "/" + std::string(file.name)) << file.text;
  std::ofstream(folder + "/kernels.cu") << source;
  // Signed overflow wraps on the simulated device, but not on a GPU.
  std::string command = std::string(TCC_TEST_CXX) + " -I" + folder;
  for (const std::string& flag : sim::CompileFlags(/*checked=*/false))
    if (flag != "-fwrapv" && flag != "-O2") command += " " + flag;
  command +=
      " -O1 -fno-wrapv -fsanitize=signed-integer-overflow,integer-divide-by-zero,shift,float-cast-overflow "
      "-fsanitize-trap=all -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function "
      "-Wno-unused-variable -o " +
      folder + "/kernels.so " + folder + "/kernels.cu 2>" + folder + "/log";
  if (std::system(command.c_str()) != 0) {
    std::ifstream log(folder + "/log");
    ADD_FAILURE() << std::string(std::istreambuf_iterator<char>(log), {}).substr(0, 6000) << "\n"
                  << source.substr(0, 20000);
    return;
  }
  library = dlopen((folder + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  // The same text for a GPU, where there is an NVRTC.
  if (codegen::nvrtcPlace().empty()) return;
  codegen::KernelSource kernels{first, plain, {}};
  llvm::Expected<std::vector<codegen::KernelBinary>> binaries =
      codegen::KernelCompiler(codegen::nvrtcOptions()).compile(kernels, "sm_80");
  if (!binaries) ADD_FAILURE() << llvm::toString(binaries.takeError()).substr(0, 6000);
}

Compiled::~Compiled() {
  if (library) dlclose(library);
  std::error_code error;
  if (!folder.empty() && !getenv("TCC_KEEP")) std::filesystem::remove_all(folder, error);
}

Compiled::Kernel Compiled::kernel(const std::string& name) const {
  return library ? reinterpret_cast<Kernel>(dlsym(library, (name + "__sim").c_str())) : nullptr;
}

}  // namespace tcc
