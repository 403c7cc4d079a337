#include <functional>

#include "runtime/reference/pointwise.h"

namespace tcc::reference {
namespace {

template <typename F>
Results Ordered(const Call& call, F f) {
  const Tensor& a = call.inputs[0];
  return Dispatch(Numbers() + Bools() + Strings(), a.dtype(),
                  [&]<typename T>() { return MapBinary<T, Bool>(a, call.inputs[1], f); });
}
template <typename F>
Results Equality(const Call& call, F f) {
  const Tensor& a = call.inputs[0];
  return Dispatch(Numbers() + Bools() + Strings() + Complexes(), a.dtype(),
                  [&]<typename T>() { return MapBinary<T, Bool>(a, call.inputs[1], f); });
}

}  // namespace

Results Compare(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const std::string predicate, call.attributes.String("predicate"));
  if (predicate == "eq") return Equality(call, [](const auto& a, const auto& b) -> Bool { return a == b; });
  if (predicate == "ne") return Equality(call, [](const auto& a, const auto& b) -> Bool { return a != b; });
  if (predicate == "lt") return Ordered(call, [](const auto& a, const auto& b) -> Bool { return a < b; });
  if (predicate == "le") return Ordered(call, [](const auto& a, const auto& b) -> Bool { return a <= b; });
  if (predicate == "gt") return Ordered(call, [](const auto& a, const auto& b) -> Bool { return a > b; });
  if (predicate == "ge") return Ordered(call, [](const auto& a, const auto& b) -> Bool { return a >= b; });
  return Invalid("predicate '", predicate, "' is none of eq, ne, lt, le, gt, ge");
}

}  // namespace tcc::reference
