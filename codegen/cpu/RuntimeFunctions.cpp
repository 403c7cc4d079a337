//===- RuntimeFunctions.cpp - what LLVM calls without being asked ---------===//
#include "codegen/cpu/RuntimeFunctions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

namespace tcc::codegen {
namespace {

struct Definition {
  llvm::StringLiteral name, text;
};

// Written for size: generated code moves data with loops of its own, these serve what slips through.
constexpr Definition kDefinitions[] = {
    {"memset", R"(
define hidden ptr @memset(ptr %to, i32 %value, i64 %count) {
entry:
  %byte = trunc i32 %value to i8
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %to, i64 %i
  store i8 %byte, ptr %p
  %next = add nuw i64 %i, 1
  %last = icmp eq i64 %next, %count
  br i1 %last, label %done, label %loop
done:
  ret ptr %to
})"},
    {"memcpy", R"(
define hidden ptr @memcpy(ptr %to, ptr %from, i64 %count) {
entry:
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %from, i64 %i
  %q = getelementptr i8, ptr %to, i64 %i
  %v = load i8, ptr %p
  store i8 %v, ptr %q
  %next = add nuw i64 %i, 1
  %last = icmp eq i64 %next, %count
  br i1 %last, label %done, label %loop
done:
  ret ptr %to
})"},
    {"memmove", R"(
define hidden ptr @memmove(ptr %to, ptr %from, i64 %count) {
entry:
  %a = ptrtoint ptr %to to i64
  %b = ptrtoint ptr %from to i64
  %up = icmp ule i64 %a, %b
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %last.i = sub i64 %count, 1
  %down = sub i64 %last.i, %i
  %at = select i1 %up, i64 %i, i64 %down
  %p = getelementptr i8, ptr %from, i64 %at
  %q = getelementptr i8, ptr %to, i64 %at
  %v = load i8, ptr %p
  store i8 %v, ptr %q
  %next = add nuw i64 %i, 1
  %last = icmp eq i64 %next, %count
  br i1 %last, label %done, label %loop
done:
  ret ptr %to
})"},
    // The ABI returns bfloat in xmm0, as here. Rounds to nearest even, keeps NaN.
    {"__truncsfbf2", R"(
define hidden bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %bits, %bias
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %nan = fcmp uno float %x, %x
  %either = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %either to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
})"},
};

} // namespace

llvm::Expected<std::unique_ptr<llvm::Module>> makeRuntimeFunctions(llvm::LLVMContext &context,
                                                                   llvm::ArrayRef<std::string> names) {
  std::string text;
  std::vector<std::string> unknown;
  for (const std::string &name : names) {
    const Definition *found = llvm::find_if(kDefinitions, [&](const Definition &d) { return d.name == name; });
    if (found == std::end(kDefinitions))
      unknown.push_back(name);
    else
      text += found->text;
  }
  if (!unknown.empty())
    return llvm::createStringError("generated code calls functions that it does not contain: " +
                                   llvm::join(unknown, ", "));
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  if (!module)
    return llvm::createStringError("internal error in a runtime function: " + diagnostic.getMessage());
  return module;
}

} // namespace tcc::codegen
