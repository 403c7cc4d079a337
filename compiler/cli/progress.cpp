#include <unistd.h>

#include <cstdio>

#include "compiler/cli/command.h"

namespace tcc::cli {
namespace {
bool shown = false;
}

ProgressFunction TerminalProgress() {
  if (::isatty(STDERR_FILENO) == 0) return nullptr;
  return [](Phase phase, int done, int total) {
    const std::string name(PhaseName(phase));
    if (total > 0) {
      std::fprintf(stderr, "\r\033[Kcompiling: %s %d/%d", name.c_str(), done, total);
    } else {
      std::fprintf(stderr, "\r\033[Kcompiling: %s", name.c_str());
    }
    std::fflush(stderr);
    shown = true;
  };
}

void ClearProgress() {
  if (!shown) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown = false;
}

}  // namespace tcc::cli
