#include "runtime/utf8.h"

namespace tcc {

bool AppendUtf8(uint32_t point, std::string* text) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) {
    *text += static_cast<char>(point);
  } else if (point < 0x800) {
    *text += static_cast<char>(0xc0 | point >> 6);
    *text += tail(0);
  } else if (point < 0x10000) {
    if (point >= 0xd800 && point < 0xe000) return false;
    *text += static_cast<char>(0xe0 | point >> 12);
    *text += tail(6);
    *text += tail(0);
  } else if (point < 0x110000) {
    *text += static_cast<char>(0xf0 | point >> 18);
    *text += tail(12);
    *text += tail(6);
    *text += tail(0);
  } else {
    return false;
  }
  return true;
}

bool DecodeUtf8(std::string_view text, std::vector<uint32_t>* points) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (length == 0 || text.size() - i < static_cast<size_t>(length)) return false;
    uint32_t point = length == 1 ? first : first & (0x7fu >> length);
    for (int j = 1; j < length; ++j) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<size_t>(j)]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3f);
    }
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length] || point >= 0x110000 || (point >= 0xd800 && point < 0xe000)) return false;
    points->push_back(point);
    i += static_cast<size_t>(length);
  }
  return true;
}

}  // namespace tcc
