//===- StaticTargets.cpp - what a static lld asks for and tcc does not have ----===//
//
// Only with TCC_STATIC_LLVM. lld initialises every target of LLVM and links its LTO with Polly; tcc has code for x86
// alone. Without these, sixty megabytes of other targets would be linked.
//
//===----------------------------------------------------------------------===//
#include "llvm/Passes/PassPlugin.h"

// X86 is there: under this name nobody calls what is defined here.
#define X86 Unused
#define TCC_DEFINE(Name, What)                                                                                         \
  extern "C" void LLVMInitialize##Name##What();                                                                        \
  extern "C" void LLVMInitialize##Name##What() {}
#define LLVM_TARGET(Name) TCC_DEFINE(Name, Target) TCC_DEFINE(Name, TargetInfo) TCC_DEFINE(Name, TargetMC)
#include "llvm/Config/Targets.def"
#define LLVM_ASM_PARSER(Name) TCC_DEFINE(Name, AsmParser)
#include "llvm/Config/AsmParsers.def"
#define LLVM_ASM_PRINTER(Name) TCC_DEFINE(Name, AsmPrinter)
#include "llvm/Config/AsmPrinters.def"
#define LLVM_DISASSEMBLER(Name) TCC_DEFINE(Name, Disassembler)
#include "llvm/Config/Disassemblers.def"

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "", [](llvm::PassBuilder &) {}};
}
