// UTF-8 <-> Unicode code points. Internal to runtime/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tcc {

// False, and nothing is appended, for what is not a Unicode scalar value.
bool AppendUtf8(uint32_t point, std::string* text);
// False where the bytes are not UTF-8 (overlong forms and surrogates included); `points` then holds what came before.
bool DecodeUtf8(std::string_view text, std::vector<uint32_t>* points);

}  // namespace tcc
