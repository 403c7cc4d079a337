#include "runtime/npy.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "runtime/dispatch.h"
#include "runtime/file_util.h"
#include "runtime/status.h"
#include "runtime/utf8.h"

namespace tcc {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
constexpr uint64_t kMaxHeader = uint64_t{1} << 20;

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("npy: ", what)); }

// How the elements of a file are encoded.
struct Encoding {
  DType dtype = DType::kInvalid;
  int64_t item_bytes = 0;
  int64_t word_bytes = 1;  // the unit whose bytes are swapped
  bool big_endian = false;
  char kind = 0;  // 'U' and 'S' for strings
};

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// The header is a Python dict literal of three known keys; this reads what numpy writes, and nothing more.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  absl::StatusOr<Header> Parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    if (!Take('{')) return Bad("header is not a dict");
    while (!Take('}')) {
      const std::optional<std::string> key = String();
      if (!key || !Take(':')) return Bad("header has no key");
      if (*key == "descr") {
        const std::optional<std::string> value = String();
        if (!value) return absl::UnimplementedError("npy: structured types are not supported");
        header.descr = *value;
        descr = true;
      } else if (*key == "fortran_order") {
        const std::string_view word = Word();
        if (word != "True" && word != "False") return Bad("fortran_order is neither True nor False");
        header.fortran_order = word == "True";
        order = true;
      } else if (*key == "shape") {
        if (!Shape(&header.shape)) return Bad("shape is not a tuple of extents");
        shape = true;
      } else {
        return Bad(absl::StrCat("unknown key '", *key, "'"));
      }
      if (!Take(',') && !Peek('}')) return Bad("header is not a dict");
    }
    if (!descr || !order || !shape) return Bad("header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Peek(char c) {
    SkipSpace();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Take(char c) {
    if (!Peek(c)) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> String() {
    SkipSpace();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::string_view Word() {
    SkipSpace();
    const size_t start = at_;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_]))) ++at_;
    return text_.substr(start, at_ - start);
  }
  bool Shape(std::vector<int64_t>* shape) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      std::string_view digits = Word();
      if (!digits.empty() && digits.back() == 'L') digits.remove_suffix(1);  // Python 2
      int64_t extent = 0;
      if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &extent) || extent < 0) return false;
      shape->push_back(extent);
      if (shape->size() > 64) return false;
      if (!Take(',') && !Peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

absl::StatusOr<Encoding> ParseDescr(const std::string& descr) {
  const auto unsupported = [&] {
    return absl::UnimplementedError(absl::StrCat("npy: type '", descr, "' is not supported"));
  };
  Encoding encoding;
  int64_t size = 0;
  if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos ||
      !absl::SimpleAtoi(absl::string_view(descr).substr(2), &size) || size < 0) {
    if (descr.find('O') != std::string::npos) {
      return absl::UnimplementedError("npy: object arrays hold pickles, which are not loaded: save them as numbers");
    }
    return unsupported();
  }
  encoding.big_endian = descr[0] == '>';
  encoding.kind = descr[1];
  encoding.item_bytes = size;
  encoding.word_bytes = size;
  switch (descr[1]) {
    case 'b':
      if (size == 1) encoding.dtype = DType::kBool;
      break;
    case 'i':
      encoding.dtype = size == 1   ? DType::kI8
                       : size == 2 ? DType::kI16
                       : size == 4 ? DType::kI32
                       : size == 8 ? DType::kI64
                                   : DType::kInvalid;
      break;
    case 'u':
      encoding.dtype = size == 1   ? DType::kU8
                       : size == 2 ? DType::kU16
                       : size == 4 ? DType::kU32
                       : size == 8 ? DType::kU64
                                   : DType::kInvalid;
      break;
    case 'f':
      encoding.dtype = size == 2 ? DType::kF16 : size == 4 ? DType::kF32 : size == 8 ? DType::kF64 : DType::kInvalid;
      break;
    case 'c':
      encoding.dtype = size == 8 ? DType::kC64 : size == 16 ? DType::kC128 : DType::kInvalid;
      encoding.word_bytes = size / 2;
      break;
    case 'V':
      if (size == 2) encoding.dtype = DType::kBF16;
      break;
    case 'U':
      if (size > int64_t{1} << 28) return unsupported();
      encoding.dtype = DType::kString;
      encoding.item_bytes = size * 4;
      encoding.word_bytes = 4;
      break;
    case 'S':
      if (size > int64_t{1} << 30) return unsupported();
      encoding.dtype = DType::kString;
      encoding.word_bytes = 1;
      break;
    default:
      break;
  }
  if (encoding.dtype == DType::kInvalid) return unsupported();
  return encoding;
}

void SwapBytes(char* data, int64_t bytes, int64_t word) {
  for (char* end = data + bytes; data < end; data += word) std::reverse(data, data + word);
}

absl::Status ReadStrings(const ByteSource& read, const Encoding& encoding, const Tensor& tensor) {
  std::string item(static_cast<size_t>(encoding.item_bytes), '\0');
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    TCC_RETURN_IF_ERROR(read(item.data(), item.size()));
    std::string& text = tensor.data_as<std::string>()[i];
    if (encoding.kind == 'S') {
      text = item.substr(0, item.find_last_not_of('\0') + 1);
      continue;
    }
    if (encoding.big_endian) SwapBytes(item.data(), encoding.item_bytes, 4);
    std::vector<uint32_t> points(item.size() / 4);
    if (!points.empty()) std::memcpy(points.data(), item.data(), item.size());
    while (!points.empty() && points.back() == 0) points.pop_back();
    for (const uint32_t point : points) {
      if (!AppendUtf8(point, &text)) return Bad("a string holds what is not a Unicode character");
    }
  }
  return absl::OkStatus();
}

std::string HeaderBytes(const std::string& descr, absl::Span<const int64_t> dims) {
  std::string text = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                                  absl::StrJoin(dims, ", "), dims.size() == 1 ? "," : "", "), }");
  // The data begins at a multiple of 64.
  const size_t unpadded = kMagicSize + 4 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string bytes(kMagic, kMagicSize);
  bytes += {1, 0, static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return bytes + text;
}

std::string DescrOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kI8:
      return "|i1";
    case DType::kU8:
      return "|u1";
    case DType::kBF16:
      return "<V2";
    default:
      break;
  }
  const char kind = IsSignedInt(dtype) ? 'i' : IsUnsignedInt(dtype) ? 'u' : IsComplex(dtype) ? 'c' : 'f';
  return absl::StrCat("<", std::string(1, kind), DTypeBits(dtype) / 8);
}

absl::StatusOr<std::string> StringBytes(const Tensor& flat) {
  std::vector<std::vector<uint32_t>> decoded;
  size_t longest = 1, longest_bytes = 1;
  bool utf8 = true;
  for (int64_t i = 0; i < flat.num_elements(); ++i) {
    const std::string& text = flat.data_as<std::string>()[i];
    longest_bytes = std::max(longest_bytes, text.size());
    utf8 = utf8 && DecodeUtf8(text, &decoded.emplace_back());
    longest = std::max(longest, decoded.back().size());
  }
  std::string bytes = HeaderBytes(utf8 ? absl::StrCat("<U", longest) : absl::StrCat("|S", longest_bytes), flat.dims());
  for (int64_t i = 0; i < flat.num_elements(); ++i) {
    const std::string& text = flat.data_as<std::string>()[i];
    if (utf8) {
      std::vector<uint32_t>& points = decoded[static_cast<size_t>(i)];
      points.resize(longest);
      bytes.append(reinterpret_cast<const char*>(points.data()), points.size() * 4);
    } else {
      bytes += text;
      bytes.append(longest_bytes - text.size(), '\0');
    }
  }
  return bytes;
}

// Types that numpy has no code for.
absl::StatusOr<Tensor> Widen(const Tensor& flat) {
  const DType from = flat.dtype();
  const bool is_float = IsFloat(from);
  const DType to = is_float ? DType::kF32 : IsSignedInt(from) ? DType::kI8 : DType::kU8;
  TCC_ASSIGN_OR_RETURN(const Tensor wide, Tensor::Allocate(to, flat.dims()));
  for (int64_t i = 0; i < flat.num_elements(); ++i) {
    if (is_float) {
      StoreDouble(wide.data(), to, i, LoadDouble(flat.data(), from, i));
    } else {
      StoreInt(wide.data(), to, i, LoadInt(flat.data(), from, i));
    }
  }
  return wide;
}

}  // namespace

absl::StatusOr<Tensor> ReadNpyFrom(const ByteSource& read, uint64_t size) {
  char start[12];
  if (size < 10) return Bad("too short");
  TCC_RETURN_IF_ERROR(read(start, 10));
  if (std::memcmp(start, kMagic, kMagicSize) != 0) return Bad("not an npy file");
  const auto byte = [&](size_t i) { return uint64_t{static_cast<unsigned char>(start[i])}; };
  uint64_t header_size = byte(8) | byte(9) << 8, used = 10;
  if (start[6] < 1 || start[6] > 3) return Bad(absl::StrCat("version ", static_cast<int>(start[6])));
  if (start[6] > 1) {
    if (size < 12) return Bad("too short");
    TCC_RETURN_IF_ERROR(read(start + 10, 2));
    header_size |= byte(10) << 16 | byte(11) << 24;
    used = 12;
  }
  if (header_size > kMaxHeader || header_size > size - used) return Bad("the header is longer than the file");
  std::string text(header_size, '\0');
  TCC_RETURN_IF_ERROR(read(text.data(), text.size()));
  used += header_size;

  TCC_ASSIGN_OR_RETURN(Header header, HeaderParser(text).Parse());
  TCC_ASSIGN_OR_RETURN(const Encoding encoding, ParseDescr(header.descr));
  const absl::StatusOr<int64_t> count = NumElements(header.shape);
  int64_t bytes = 0;
  if (!count.ok() || __builtin_mul_overflow(*count, encoding.item_bytes, &bytes)) return Bad("extents overflow");
  if (static_cast<uint64_t>(bytes) != size - used) {
    return Bad(absl::StrCat("shape (", absl::StrJoin(header.shape, ","), ") takes ", bytes, " bytes, the file has ",
                            size - used));
  }
  // Strings of no length take no bytes in the file, but memory.
  if (encoding.item_bytes == 0 && *count > int64_t{1} << 20) return Bad("too many empty strings");
  if (header.fortran_order) std::reverse(header.shape.begin(), header.shape.end());
  TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(encoding.dtype, header.shape));
  if (encoding.dtype == DType::kString) {
    TCC_RETURN_IF_ERROR(ReadStrings(read, encoding, tensor));
  } else {
    TCC_RETURN_IF_ERROR(read(tensor.data_as<char>(), static_cast<size_t>(bytes)));
    if (encoding.big_endian && encoding.word_bytes > 1) SwapBytes(tensor.data_as<char>(), bytes, encoding.word_bytes);
    if (encoding.dtype == DType::kBool) {
      auto* values = tensor.data_as<uint8_t>();
      for (int64_t i = 0; i < *count; ++i)
        values[i] = values[i] != 0;  // other bytes would break what relies on 0 and 1
    }
  }
  if (!header.fortran_order) return tensor;
  Dims dims(header.shape.rbegin(), header.shape.rend()), strides(tensor.strides().rbegin(), tensor.strides().rend());
  return tensor.View(dims, strides, 0).Contiguous();
}

absl::StatusOr<Tensor> ReadNpy(std::string_view bytes) {
  size_t at = 0;
  const ByteSource read = [&](char* buffer, size_t size) -> absl::Status {
    if (size > bytes.size() - at) return Bad("truncated");
    if (size > 0) std::memcpy(buffer, bytes.data() + at, size);
    at += size;
    return absl::OkStatus();
  };
  return ReadNpyFrom(read, bytes.size());
}

absl::StatusOr<Tensor> LoadNpy(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  absl::StatusOr<Tensor> tensor = ReadNpy(file->bytes());
  if (!tensor.ok()) return WithContext(path, tensor.status());
  return tensor;
}

absl::StatusOr<std::string> NpyBytes(const Tensor& tensor) {
  if (!tensor.valid()) return absl::InvalidArgumentError("npy: an absent tensor cannot be written");
  if (tensor.device() != Device{}) return absl::UnimplementedError("npy: the tensor is on a device");
  TCC_ASSIGN_OR_RETURN(Tensor flat, tensor.Contiguous());
  if (flat.dtype() == DType::kString) return StringBytes(flat);
  const bool small_float = IsFloat(flat.dtype()) && DTypeBits(flat.dtype()) < 16;
  if (small_float || IsPacked(flat.dtype())) {
    TCC_ASSIGN_OR_RETURN(flat, Widen(flat));
  }
  std::string bytes = HeaderBytes(DescrOf(flat.dtype()), flat.dims());
  bytes.append(flat.data_as<char>(), flat.bytes());
  return bytes;
}

absl::Status SaveNpy(const std::string& path, const Tensor& tensor) {
  TCC_ASSIGN_OR_RETURN(const std::string bytes, NpyBytes(tensor));
  return WriteFileAtomically(path, bytes);
}

}  // namespace tcc
