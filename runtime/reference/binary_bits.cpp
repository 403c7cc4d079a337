// Logic and shifts.
#include "runtime/reference/pointwise.h"

namespace tcc::reference {
namespace {

template <typename Supported, typename F>
Results Bitwise(const Call& call, Supported types, F f) {
  const Tensor& a = call.inputs[0];
  return Dispatch(types, a.dtype(), [&]<typename T>() { return MapBinary<T, T>(a, call.inputs[1], f); });
}

// Bool as the integer 0 or 1, integers as they are.
inline int Bits(Bool a) { return a ? 1 : 0; }
template <typename T>
T Bits(T a) {
  return a;
}

// A shift amount as unsigned: a negative one is more than any width.
template <typename T>
uint64_t Amount(T b) {
  return static_cast<uint64_t>(b);
}

}  // namespace

Results And(const Call& call) {
  return Bitwise(call, Bools() + Ints(), []<typename T>(T a, T b) -> T { return static_cast<T>(Bits(a) & Bits(b)); });
}
Results Or(const Call& call) {
  return Bitwise(call, Bools() + Ints(), []<typename T>(T a, T b) -> T { return static_cast<T>(Bits(a) | Bits(b)); });
}
Results Xor(const Call& call) {
  return Bitwise(call, Bools() + Ints(), []<typename T>(T a, T b) -> T { return static_cast<T>(Bits(a) ^ Bits(b)); });
}
Results ShiftLeft(const Call& call) {
  return Bitwise(call, Ints(), []<typename T>(T a, T b) -> T {
    if (Amount(b) >= sizeof(T) * 8) return 0;
    return static_cast<T>(static_cast<uint64_t>(a) << Amount(b));
  });
}
Results ShiftRight(const Call& call) {
  return Bitwise(call, Ints(), []<typename T>(T a, T b) -> T {
    if (Amount(b) < sizeof(T) * 8) return static_cast<T>(a >> Amount(b));
    return std::is_signed_v<T> ? static_cast<T>(a >> (sizeof(T) * 8 - 1)) : T(0);
  });
}

}  // namespace tcc::reference
