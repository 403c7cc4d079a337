// Mutations of protobuf messages for libFuzzer. Bytes flipped at random are nearly always no message any more; these
// change fields and keep the lengths around them right. No schema: whatever of a field reads as a message is one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
constexpr int kMaxDepth = 24;

struct Field {
  uint32_t number = 0, type = 0;
  uint64_t value = 0;         // of a varint
  std::string bytes;          // of everything else, unless it is a message
  std::vector<Field> fields;  // of a message
  bool is_message = false;
};

std::optional<uint64_t> ReadVarint(std::string_view& text) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && !text.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(text[0]);
    text.remove_prefix(1);
    if (shift < 64) value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

void WriteVarint(uint64_t value, std::string& out) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

bool Parse(std::string_view text, int depth, std::vector<Field>& fields) {
  while (!text.empty()) {
    const std::optional<uint64_t> tag = ReadVarint(text);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 60) return false;
    Field& field = fields.emplace_back();
    field.number = static_cast<uint32_t>(*tag >> 3);
    field.type = static_cast<uint32_t>(*tag & 7);
    uint64_t size = 0;
    switch (field.type) {
      case kVarint: {
        const std::optional<uint64_t> value = ReadVarint(text);
        if (!value) return false;
        field.value = *value;
        continue;
      }
      case kFixed64:
        size = 8;
        break;
      case kFixed32:
        size = 4;
        break;
      case kBytes: {
        const std::optional<uint64_t> length = ReadVarint(text);
        if (!length) return false;
        size = *length;
        break;
      }
      default:
        return false;
    }
    if (size > text.size()) return false;
    field.bytes = std::string(text.substr(0, size));
    text.remove_prefix(size);
    if (field.type != kBytes || size < 2 || depth >= kMaxDepth) continue;
    std::vector<Field> inner;
    if (Parse(field.bytes, depth + 1, inner)) {
      field.fields = std::move(inner);
      field.is_message = true;
      field.bytes.clear();
    }
  }
  return true;
}

void Write(const std::vector<Field>& fields, std::string& out) {
  for (const Field& field : fields) {
    WriteVarint(field.number << 3 | field.type, out);
    if (field.type == kVarint) {
      WriteVarint(field.value, out);
      continue;
    }
    std::string inner;
    if (field.is_message) Write(field.fields, inner);
    const std::string& bytes = field.is_message ? inner : field.bytes;
    if (field.type == kBytes) WriteVarint(bytes.size(), out);
    out += bytes;
  }
}

struct Place {
  std::vector<Field>* fields;
  size_t index;
  Field& field() const { return (*fields)[index]; }
};

void Collect(std::vector<Field>& fields, std::vector<Place>& places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    places.push_back({&fields, i});
    Collect(fields[i].fields, places);
  }
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  void Mutate(std::vector<Field>& root, std::vector<Field>* other) {
    std::vector<Place> places, from;
    Collect(root, places);
    if (places.empty()) return;
    const Place place = Pick(places);
    Collect(other != nullptr ? *other : root, from);
    std::vector<Field>& fields = *place.fields;
    switch (random_() % 8) {
      case 0:
        fields.erase(fields.begin() + static_cast<ptrdiff_t>(place.index));
        return;
      case 1:
        fields.push_back(Field(place.field()));
        return;
      case 2:
        std::swap(place.field(), fields[random_() % fields.size()]);
        return;
      case 3: {  // a copy of what stands elsewhere under the same number
        std::vector<Field> alike;
        for (const Place& p : from) {
          if (p.field().number == place.field().number && p.field().type == place.field().type)
            alike.push_back(p.field());
        }
        if (!alike.empty()) place.field() = Pick(alike);
        return;
      }
      case 4:
        if (!from.empty()) fields.push_back(Field(Pick(from).field()));
        return;
      default:
        Change(place.field());
    }
  }

 private:
  template <typename T>
  T& Pick(std::vector<T>& items) {
    return items[random_() % items.size()];
  }

  void Change(Field& field) {
    if (field.type == kVarint) {
      static constexpr int64_t kNotable[] = {0,       1,       2,         3,         7,         10,       16,   -1,
                                             -2,      127,     128,       -9,        255,       256,      1023, 4096,
                                             1 << 20, 1 << 24, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
      switch (random_() % 4) {
        case 0:
          field.value += random_() % 2 ? 1 : -1;
          return;
        case 1:
          field.value = random_() % 24;
          return;
        case 2:
          field.value = uint64_t{1} << random_() % 64;
          return;
        default:
          field.value = static_cast<uint64_t>(kNotable[random_() % std::size(kNotable)]);
          return;
      }
    }
    if (field.is_message) {
      if (!field.fields.empty()) Change(Pick(field.fields));
      return;
    }
    if (field.type != kBytes) {
      for (char& c : field.bytes) c = static_cast<char>(random_());
      return;
    }
    const size_t size = field.bytes.size();
    field.bytes.resize(size + 16);
    field.bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(field.bytes.data()), size, size + 16));
  }

  std::mt19937 random_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::vector<Field> fields;
  if (seed % 16 == 0 || !Parse({reinterpret_cast<const char*>(data), size}, 0, fields) || fields.empty()) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  Mutator mutator(seed);
  for (unsigned i = 0; i <= seed / 16 % 4; ++i) mutator.Mutate(fields, nullptr);
  std::string out;
  Write(fields, out);
  if (out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other, size_t other_size,
                                            uint8_t* to, size_t max_size, unsigned seed) {
  std::vector<Field> fields, others;
  std::string out;
  if (Parse({reinterpret_cast<const char*>(data), size}, 0, fields) &&
      Parse({reinterpret_cast<const char*>(other), other_size}, 0, others)) {
    Mutator mutator(seed);
    for (int i = 0; i < 3; ++i) mutator.Mutate(fields, &others);
    Write(fields, out);
  }
  if (out.empty() || out.size() > max_size)
    out = std::string(reinterpret_cast<const char*>(data), std::min(size, max_size));
  std::memcpy(to, out.data(), out.size());
  return out.size();
}
