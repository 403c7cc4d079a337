// Turns places in code into file and line.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tcc::sim {

// Stands for a place in a message: an address just behind a call.
std::string At(const void* pc);

// The message with each At() replaced by "softmax.cu:12", with the functions it was inlined through where there are
// any: "tcc/reduce.cuh:40 in warp_sum, called from softmax.cu:12". llvm-symbolizer of $PATH (or the one that
// $TCC_SYMBOLIZER names) reads the lines; without it, the offset in the object. Starts a process: for failures only.
// `object`: the bytes of the shared object, or null: those of its file, where that is still to be had.
std::string ReplacePlaces(absl::string_view message, const std::string* object);

}  // namespace tcc::sim
