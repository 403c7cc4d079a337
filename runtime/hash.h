// Content hashes: XXH3, 128 bits, as 32 hexadecimal digits. Fast, and against accidents only: not against an adversary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tcc {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void Update(std::string_view bytes);
  void UpdateZeros(int64_t count);
  // A part with its length before it, so that ("ab", "c") and ("a", "bc") differ.
  void UpdatePart(std::string_view bytes);
  std::string Hex() const;

 private:
  void* state_;
};

std::string Hash128(std::string_view bytes);
bool IsHash128(std::string_view text);

}  // namespace tcc
