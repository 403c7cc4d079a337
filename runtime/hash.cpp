#include "runtime/hash.h"

#include <algorithm>
#include <array>
#include <new>

#define XXH_STATIC_LINKING_ONLY
#include "xxhash.h"

namespace tcc {
namespace {

std::string ToHex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : canonical.digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

XXH3_state_t* State(void* state) { return static_cast<XXH3_state_t*>(state); }

}  // namespace

Hasher::Hasher() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(State(state_));
}
Hasher::~Hasher() { XXH3_freeState(State(state_)); }

void Hasher::Update(std::string_view bytes) { XXH3_128bits_update(State(state_), bytes.data(), bytes.size()); }

void Hasher::UpdateZeros(int64_t count) {
  static constexpr std::array<char, 4096> kZeros = {};
  for (; count > 0; count -= static_cast<int64_t>(kZeros.size())) {
    Update({kZeros.data(), static_cast<size_t>(std::min<int64_t>(count, kZeros.size()))});
  }
}

void Hasher::UpdatePart(std::string_view bytes) {
  const uint64_t size = bytes.size();
  char prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<char>(size >> (8 * i));
  Update({prefix, sizeof(prefix)});
  Update(bytes);
}

std::string Hasher::Hex() const { return ToHex(XXH3_128bits_digest(State(state_))); }

std::string Hash128(std::string_view bytes) { return ToHex(XXH3_128bits(bytes.data(), bytes.size())); }

bool IsHash128(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace tcc
