// Whether a function that we declare takes what another header's declaration says. Its handles are pointers to structs
// of other names, its enumerations integers: what is compared is what the ABI sees, pointers and numbers of the same
// sizes in order.
#pragma once

#include <type_traits>

namespace tcc::devices {

template <typename A, typename B>
inline constexpr bool kSameInAbi =
    (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
    (!std::is_pointer_v<A> && !std::is_pointer_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
     sizeof(A) == sizeof(B));

template <typename Ours, typename Theirs>
struct AbiMatches : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct AbiMatches<R (*)(A...), S (*)(B...)> : std::bool_constant<kSameInAbi<R, S> && (kSameInAbi<A, B> && ...)> {};

// The text of a name after macros: what the library calls it.
#define TCC_TEXT_OF(name) #name
#define TCC_SYMBOL(name) TCC_TEXT_OF(name)

}  // namespace tcc::devices
