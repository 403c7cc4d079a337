//===- CompileLog.cpp ------------------------------------------------------===//
#include "codegen/cuda/compile/CompileLog.h"

#include <algorithm>
#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tcc::codegen {
namespace {

constexpr size_t kMaxMessages = 5;
constexpr size_t kMaxDetailLines = 12;
constexpr unsigned kLinesAround = 1;

bool isNumber(llvm::StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }

/// "error", "catastrophic error", "warning #177-D", "fatal error", "Warning #629-D", ... -> the kind, if it is one.
std::optional<bool> isErrorKind(llvm::StringRef text) {
  llvm::StringRef kind = text.split(':').first;
  std::string lower = kind.lower();
  if (llvm::StringRef(lower).contains("error") && kind.size() < 40)
    return true;
  if (llvm::StringRef(lower).starts_with("warning"))
    return false;
  return std::nullopt;
}

/// NVRTC: "file(12): error: text", "file(12): warning #177-D: text".
std::optional<CompileMessage> nvrtcMessage(llvm::StringRef line) {
  size_t close = line.find("): ");
  if (close == llvm::StringRef::npos)
    return std::nullopt;
  size_t open = line.rfind('(', close);
  if (open == llvm::StringRef::npos || !isNumber(line.slice(open + 1, close)))
    return std::nullopt;
  std::optional<bool> error = isErrorKind(line.substr(close + 3));
  if (!error)
    return std::nullopt;
  CompileMessage message;
  message.file = line.take_front(open).str();
  line.slice(open + 1, close).getAsInteger(10, message.line);
  message.error = *error;
  message.text = line.substr(close + 3).str();
  return message;
}

/// clang: "file:12:5: error: text".
std::optional<CompileMessage> clangMessage(llvm::StringRef line) {
  for (size_t colon = line.find(':'); colon != llvm::StringRef::npos; colon = line.find(':', colon + 1)) {
    auto [number, afterLine] = line.substr(colon + 1).split(':');
    auto [column, rest] = afterLine.split(':');
    if (!isNumber(number) || !isNumber(column))
      continue;
    llvm::StringRef text = rest.ltrim();
    std::optional<bool> error = isErrorKind(text);
    if (!error)
      return std::nullopt; // a note
    CompileMessage message;
    message.file = line.take_front(colon).str();
    number.getAsInteger(10, message.line);
    message.error = *error;
    message.text = text.str();
    return message;
  }
  return std::nullopt;
}

/// "ptxas error   : text", "ptxas fatal   : text", "ptxas /tmp/x, line 12; error   : text", and what ptxas calls an
/// information although it is about code that will be slow: "ptxas info    : (C7510) Potential Performance Loss: ...".
std::optional<CompileMessage> ptxasMessage(llvm::StringRef line) {
  if (!line.consume_front("ptxas") && !line.consume_front("nvlink"))
    return std::nullopt;
  CompileMessage message;
  message.text = ("ptxas" + line).str();
  llvm::StringRef kind = line.split(" : ").first;
  message.error = kind.contains("error") || kind.contains("fatal");
  if (message.error || kind.contains("warning") || line.contains(": (C"))
    return message;
  return std::nullopt;
}

/// What -v prints: "ptxas info    : Used 32 registers", and lines of it that are broken: "ptxas         .     0 bytes".
bool isResourceLine(llvm::StringRef line) {
  if (line.consume_front("ptxas") || line.consume_front("nvlink")) {
    llvm::StringRef rest = line.ltrim();
    return rest.starts_with("info") || rest.starts_with(".");
  }
  return line.ends_with("spill loads");
}

/// "1 error detected in the compilation of ...", "Remark: The warnings can be suppressed ...".
bool isSummary(llvm::StringRef line) {
  if (line.starts_with("Remark: The warnings can be suppressed"))
    return true;
  auto [count, rest] = line.split(' ');
  if (line.starts_with("Compilation terminated") || line.starts_with("Compilation aborted"))
    return true;
  if (!isNumber(count))
    return false;
  return rest.contains("detected in") || rest.ends_with("generated.");
}

llvm::StringRef lineOf(llvm::StringRef text, unsigned number) {
  for (unsigned i = 1; i < number; ++i)
    text = text.split('\n').second;
  return text.split('\n').first;
}

std::vector<CompileMessage> parse(llvm::StringRef log,
                                  std::optional<CompileMessage> (*messageOf)(llvm::StringRef line)) {
  std::vector<CompileMessage> messages;
  bool details = false; // lines belong to the last message
  std::string includes; // clang: how the file of the next message was reached
  while (!log.empty()) {
    auto [line, rest] = log.split('\n');
    log = rest;
    line = line.rtrim();
    if (line.trim().empty() || isSummary(line))
      continue;
    std::optional<CompileMessage> message = messageOf(line);
    if (!message)
      message = ptxasMessage(line);
    if (message) {
      message->details = std::exchange(includes, "");
      messages.push_back(std::move(*message));
      details = true;
    } else if (line.starts_with("In file included from ") || line.starts_with("                 from ")) {
      includes += (line + "\n").str();
    } else if (isResourceLine(line)) {
      details = false;
    } else if (details) {
      messages.back().details += (line + "\n").str();
    } else {
      CompileMessage other;
      other.error = isErrorKind(line).value_or(line.contains_insensitive("error"));
      other.text = line.str();
      messages.push_back(std::move(other));
      details = true;
    }
  }
  return messages;
}

/// The number in front of `unit`: 32 of "Used 32 registers, ...".
int64_t numberBefore(llvm::StringRef line, llvm::StringRef unit) {
  size_t at = line.find(unit);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef before = line.take_front(at).rtrim();
  size_t start = before.find_last_not_of("0123456789");
  int64_t value = 0;
  before.substr(start == llvm::StringRef::npos ? 0 : start + 1).getAsInteger(10, value);
  return value;
}

} // namespace

std::vector<CompileMessage> parseNvrtcLog(llvm::StringRef log) { return parse(log, nvrtcMessage); }
std::vector<CompileMessage> parseClangLog(llvm::StringRef log) { return parse(log, clangMessage); }

std::optional<KernelResources> parseResources(llvm::StringRef log, llvm::StringRef kernel) {
  KernelResources resources;
  bool found = false;
  bool inKernel = false; // registers are those of the entry
  while (!log.empty()) {
    auto [line, rest] = log.split('\n');
    log = rest;
    if (line.contains("Compiling entry function"))
      inKernel = line.contains(("'" + kernel + "'").str());
    if (line.contains("bytes stack frame")) {
      resources.stack += numberBefore(line, " bytes stack frame");
      resources.spillStores += numberBefore(line, " bytes spill stores");
      resources.spillLoads += numberBefore(line, " bytes spill loads");
    }
    if (inKernel && line.contains(" registers")) {
      found = true;
      resources.registers = static_cast<int>(numberBefore(line, " registers"));
      resources.sharedBytes = numberBefore(line, " bytes smem");
      resources.constantBytes = numberBefore(line, " bytes cmem[0]");
    }
  }
  if (!found)
    return std::nullopt;
  return resources;
}

std::string describeMessages(const KernelSource &kernel, llvm::StringRef title, llvm::StringRef fileName,
                             llvm::ArrayRef<CompileMessage> messages, llvm::ArrayRef<DeviceHeader> headers) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << "kernel '" << kernel.symbol << "' " << title;
  if (!kernel.sources.empty()) {
    os << "\n  made from: ";
    llvm::interleaveComma(kernel.sources, os);
  }
  // Errors first: warnings beside them are seldom why.
  std::vector<const CompileMessage *> shown;
  for (bool error : {true, false})
    for (const CompileMessage &message : messages)
      if (message.error == error)
        shown.push_back(&message);
  for (size_t i = 0; i < shown.size() && i < kMaxMessages; ++i) {
    const CompileMessage &message = *shown[i];
    llvm::StringRef text;
    if (message.line != 0 && message.file == fileName)
      text = kernel.text;
    for (const DeviceHeader &header : headers)
      if (message.line != 0 && llvm::StringRef(message.file).ends_with(header.name))
        text = header.text;
    os << "\n  ";
    if (message.line != 0)
      os << (message.file == fileName ? "" : message.file + ", ") << "line " << message.line << ": ";
    os << message.text;
    if (text.empty() || message.file != fileName) {
      // The compiler's own words: how the line of a header was reached.
      llvm::SmallVector<llvm::StringRef> lines;
      llvm::StringRef(message.details).split(lines, '\n', -1, /*KeepEmpty=*/false);
      for (size_t l = 0; l < lines.size() && l < kMaxDetailLines; ++l)
        os << "\n    " << lines[l];
    }
    if (text.empty())
      continue;
    unsigned last = message.line + kLinesAround;
    for (unsigned l = message.line > kLinesAround ? message.line - kLinesAround : 1; l <= last; ++l) {
      llvm::StringRef source = lineOf(text, l);
      if (l != message.line && source.trim().empty())
        continue;
      os << '\n'
         << (l == message.line ? "  > " : "    ") << llvm::right_justify(std::to_string(l), 4) << " | " << source;
    }
  }
  if (shown.size() > kMaxMessages)
    os << "\n  and " << shown.size() - kMaxMessages << " more messages";
  return result;
}

} // namespace tcc::codegen
