// Functions at level 1, and what is expected of them on the way to kernels: tables of one family of ops a file.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace tcc::codegen {

struct Case {
  std::string name;
  std::string text;                       // the function
  std::vector<int64_t> symbols = {};      // values of s0, s1, ...
  int64_t mostKernels = -1;               // after fusion; -1: not checked
  std::vector<int64_t> indexLimits = {};  // for each input: integers are in [-limit, limit); 0: any small value
  std::optional<int64_t> index = {};      // what all elements of int64 inputs are
  bool outOfRange = false;                // an index is, and every stage reports it
};
void PrintTo(const Case& c, std::ostream* out);

/// Each stage computes what the interpreter computes of the function.
class FusionTest : public ::testing::TestWithParam<Case> {};
inline std::string nameOfCase(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

/// One op with one operand in the generic form "(operands) attributes : function type".
std::string single(const std::string& op, const std::string& attributes, const std::string& from,
                   const std::string& to);

}  // namespace tcc::codegen
