// Pieces of tcc.kernel text.
#pragma once

#include <string>
#include <vector>

namespace tcc::codegen::testing {

using Extents = std::vector<std::string>;

// As an extent list and a type, with `?` and the encoding where an extent is a symbol ("s0"): Type({"s0", "3"}, "f32").
std::string Type(const std::vector<std::string>& extents, const std::string& element);
std::string List(const Extents& extents);
std::string Identity(size_t rank);
// "%i0, %i1, ..." and the block header that defines them.
std::string Arguments(size_t rank);
std::string BlockArguments(size_t rank);
// The function around a kernel with arguments %a0, %a1, ... and this body, which yields `yields`.
std::string Kernel(const std::vector<std::string>& inputs, const std::string& body, const std::string& yields,
                   const std::vector<std::string>& results, int symbols = 0);
// A tcc.loops that reads `from` at `map`.
std::string Read(const std::string& name, const Extents& extents, const std::string& from, const std::string& map,
                 const std::string& fromType, const std::string& element);

}  // namespace tcc::codegen::testing
