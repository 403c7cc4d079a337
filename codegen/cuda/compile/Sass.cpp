//===- Sass.cpp - counting instructions ------------------------------------===//
#include <algorithm>
#include <set>

#include "codegen/cuda/compile/CudaFiles.h"
#include "codegen/cuda/compile/KernelReport.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace tcc::codegen {
namespace {

namespace fs = llvm::sys::fs;

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.str().c_str());
}

/// What a listing says in one line: a label, or an instruction.
struct Line {
  llvm::StringRef label;
  llvm::StringRef opcode;   // "LDG.E.128.CONSTANT"
  llvm::StringRef operands; // the rest
};

// ".L_x_2:" and "        /*0110*/               @P0 BRA `(.L_x_1) ;"
std::optional<Line> parseLine(llvm::StringRef text) {
  text = text.trim();
  if (text.starts_with(".L") && text.ends_with(":"))
    return Line{text.drop_back(), "", ""};
  if (!text.consume_front("/*"))
    return std::nullopt;
  auto [address, rest] = text.split("*/");
  if (address.empty() || !llvm::all_of(address, llvm::isHexDigit))
    return std::nullopt;
  rest = rest.ltrim();
  if (rest.starts_with("@"))
    rest = rest.split(' ').second.ltrim();
  size_t end = rest.find_first_of(" ;");
  llvm::StringRef opcode = rest.take_front(end);
  if (opcode.empty() || !llvm::isUpper(opcode.front()))
    return std::nullopt;
  return Line{"", opcode, end == llvm::StringRef::npos ? "" : rest.substr(end)};
}

// `(.L_x_1)
llvm::StringRef targetOf(llvm::StringRef operands) { return operands.split("`(").second.split(')').first; }

/// The names under which an instruction is counted.
llvm::SmallVector<std::string, 2> namesOf(llvm::StringRef opcode) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  opcode.split(parts, '.');
  llvm::SmallVector<std::string, 2> names = {parts[0].str()};
  static const char *const kWide[] = {"LDG", "STG", "LDS", "STS", "LDGSTS", "LDL", "STL", "LD", "ST"};
  if (llvm::is_contained(kWide, parts[0]))
    for (llvm::StringRef width : {"64", "128", "256"})
      if (llvm::is_contained(parts, width))
        names.push_back((parts[0] + "." + width).str());
  return names;
}

int countIn(const std::map<std::string, int> &counts, llvm::StringRef name) {
  auto it = counts.find(name.str());
  return it == counts.end() ? 0 : it->second;
}

} // namespace

int SassCounts::count(llvm::StringRef name) const { return countIn(instructions, name); }
int SassCounts::countInLoops(llvm::StringRef name) const { return countIn(inLoops, name); }

SassCounts countSass(llvm::StringRef listing) {
  struct Instruction {
    llvm::StringRef opcode, target;
  };
  std::vector<Instruction> instructions;
  llvm::StringMap<size_t> labels; // -> the instruction behind
  while (!listing.empty()) {
    auto [text, rest] = listing.split('\n');
    listing = rest;
    std::optional<Line> line = parseLine(text);
    if (!line)
      continue;
    if (!line->label.empty())
      labels[line->label] = instructions.size();
    else
      instructions.push_back({line->opcode, line->opcode.starts_with("BRA") ? targetOf(line->operands) : ""});
  }
  // How many loops begin at an instruction, less those that ended at the one before.
  std::vector<int> steps(instructions.size() + 1);
  for (size_t i = 0; i < instructions.size(); ++i) {
    auto target = labels.find(instructions[i].target);
    // (A branch to itself ends the code: nothing runs behind.)
    if (instructions[i].target.empty() || target == labels.end() || target->second >= i)
      continue;
    ++steps[target->second];
    --steps[i + 1];
  }
  SassCounts counts;
  int depth = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    depth += steps[i];
    // Filling behind the end.
    if (instructions[i].opcode == "NOP")
      continue;
    ++counts.total;
    for (const std::string &name : namesOf(instructions[i].opcode)) {
      ++counts.instructions[name];
      if (depth > 0)
        ++counts.inLoops[name];
    }
  }
  return counts;
}

llvm::Expected<std::string> disassemble(llvm::StringRef cubin, llvm::StringRef nvrtc) {
  llvm::Expected<std::string> tool = findCudaTool("nvdisasm", nvrtc);
  if (!tool)
    return tool.takeError();
  llvm::SmallString<128> input, output;
  int descriptor = -1;
  if (std::error_code error = fs::createTemporaryFile("tcc", "cubin", descriptor, input))
    return failure("no temporary file: " + error.message());
  llvm::FileRemover removeInput(input);
  {
    llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
    file << cubin;
    file.close();
    if (std::error_code error = file.error()) {
      file.clear_error();
      return failure("'" + input + "': " + error.message());
    }
  }
  if (std::error_code error = fs::createTemporaryFile("tcc", "sass", output))
    return failure("no temporary file: " + error.message());
  llvm::FileRemover removeOutput(output);
  const llvm::StringRef arguments[] = {*tool, "-c", input};
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(output),
                                                      llvm::StringRef(output)};
  std::string message;
  const int code = llvm::sys::ExecuteAndWait(*tool, arguments, std::nullopt, redirects, 0, 0, &message);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text = llvm::MemoryBuffer::getFile(output);
  const std::string listing = text ? (*text)->getBuffer().str() : "";
  if (code != 0)
    return failure("'" + *tool + "' cannot disassemble the kernel: " + (message.empty() ? listing : message));
  return listing;
}

} // namespace tcc::codegen
