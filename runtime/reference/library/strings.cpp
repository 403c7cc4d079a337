// String operations of ONNX. Elements are bytes, UTF-8 by convention; case changes touch ASCII letters.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "re2/re2.h"
#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

absl::StatusOr<std::vector<std::string>> StringsOf(const Attributes& attributes, const char* name) {
  const auto it = attributes.values().find(name);
  if (it == attributes.values().end()) return std::vector<std::string>();
  if (const auto* list = std::get_if<std::vector<std::string>>(&it->second)) return *list;
  // An empty list carries no type.
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&it->second); ints != nullptr && ints->empty()) {
    return std::vector<std::string>();
  }
  return Invalid("attribute ", name, " must be a list of strings");
}

// At most `limit` splits (negative: all). An empty delimiter splits at runs of white space.
std::vector<std::string> Split(const std::string& text, const std::string& delimiter, int64_t limit) {
  std::vector<std::string> parts;
  if (delimiter.empty()) {
    size_t i = 0;
    while (true) {
      while (i < text.size() && absl::ascii_isspace(text[i])) ++i;
      if (i == text.size()) return parts;
      if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
        parts.push_back(std::string(absl::StripTrailingAsciiWhitespace(text.substr(i))));
        return parts;
      }
      const size_t start = i;
      while (i < text.size() && !absl::ascii_isspace(text[i])) ++i;
      parts.push_back(text.substr(start, i - start));
    }
  }
  size_t start = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t at = text.find(delimiter, start);
    if (at == std::string::npos) break;
    parts.push_back(text.substr(start, at - start));
    start = at + delimiter.size();
  }
  parts.push_back(text.substr(start));
  return parts;
}

}  // namespace

// string_concat(a, b): elementwise, broadcasting.
Results StringConcat(const Call& call) {
  for (const Tensor& t : call.inputs) TCC_RETURN_IF_ERROR(CheckDType(t, DType::kString, "each operand"));
  TCC_ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(call.inputs[0].dims(), call.inputs[1].dims()));
  TCC_ASSIGN_OR_RETURN(const Tensor a, BroadcastView(call.inputs[0], dims));
  TCC_ASSIGN_OR_RETURN(const Tensor b, BroadcastView(call.inputs[1], dims));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kString, dims));
  std::string* out = y.data_as<std::string>();
  for (Counter at(dims); at.more(); at.Next()) {
    *out++ = a.data_as<std::string>()[at.Offset(a.strides())] + b.data_as<std::string>()[at.Offset(b.strides())];
  }
  return One(std::move(y));
}

// string_split(x; delimiter, maxsplit) -> parts [.., most], padded with "", and their numbers, i64.
Results StringSplit(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[0], DType::kString, "x"));
  TCC_ASSIGN_OR_RETURN(const std::vector<std::string> texts, ToVector<std::string>(call.inputs[0]));
  const std::string delimiter = call.attributes.StringOr("delimiter", "");
  const int64_t limit = call.attributes.IntOr("maxsplit", -1);
  std::vector<std::vector<std::string>> parts;
  size_t most = 0;
  for (const std::string& text : texts) {
    parts.push_back(Split(text, delimiter, limit));
    most = std::max(most, parts.back().size());
  }
  Dims dims = call.inputs[0].dims();
  TCC_ASSIGN_OR_RETURN(Tensor counts, Tensor::Allocate(DType::kI64, dims));
  dims.push_back(static_cast<int64_t>(most));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kString, dims));
  for (size_t i = 0; i < parts.size(); ++i) {
    counts.data_as<int64_t>()[i] = static_cast<int64_t>(parts[i].size());
    std::move(parts[i].begin(), parts[i].end(), y.data_as<std::string>() + i * most);
  }
  return std::vector<Tensor>{std::move(y), std::move(counts)};
}

// regex_full_match(x; pattern) -> bool.
Results RegexFullMatch(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[0], DType::kString, "x"));
  TCC_ASSIGN_OR_RETURN(const std::string pattern, call.attributes.String("pattern"));
  // ONNX names RE2's syntax; RE2 takes time linear in the text whatever the pattern, and bounded memory.
  re2::RE2::Options options(re2::RE2::Quiet);
  const re2::RE2 regex(pattern, options);
  if (!regex.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("regex_full_match: pattern '", pattern, "': ", regex.error()));
  }
  TCC_ASSIGN_OR_RETURN(const std::vector<std::string> texts, ToVector<std::string>(call.inputs[0]));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kBool, call.inputs[0].dims()));
  for (size_t i = 0; i < texts.size(); ++i) y.data_as<Bool>()[i] = re2::RE2::FullMatch(texts[i], regex);
  return One(std::move(y));
}

// string_normalizer(x [C] or [1, C]; case_change_action NONE/LOWER/UPPER, is_case_sensitive, stopwords): stop words go,
// the rest changes case; nothing left gives one empty string.
Results StringNormalizer(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_RETURN_IF_ERROR(CheckDType(x, DType::kString, "x"));
  if (x.rank() != 1 && !(x.rank() == 2 && x.dim(0) == 1)) return Invalid("x must be [C] or [1, C]");
  const std::string action = call.attributes.StringOr("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    return Invalid("case_change_action '", action, "' is none of NONE, LOWER, UPPER");
  }
  const bool sensitive = call.attributes.IntOr("is_case_sensitive", 0) != 0;
  TCC_ASSIGN_OR_RETURN(const std::vector<std::string> listed, StringsOf(call.attributes, "stopwords"));
  std::set<std::string> stop;
  for (const std::string& word : listed) stop.insert(sensitive ? word : absl::AsciiStrToLower(word));
  TCC_ASSIGN_OR_RETURN(const std::vector<std::string> texts, ToVector<std::string>(x));
  std::vector<std::string> kept;
  for (const std::string& text : texts) {
    if (stop.count(sensitive ? text : absl::AsciiStrToLower(text)) != 0) continue;
    kept.push_back(action == "LOWER"   ? absl::AsciiStrToLower(text)
                   : action == "UPPER" ? absl::AsciiStrToUpper(text)
                                       : text);
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims{static_cast<int64_t>(kept.size())};
  if (x.rank() == 2) dims.insert(dims.begin(), 1);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kString, dims));
  std::move(kept.begin(), kept.end(), y.data_as<std::string>());
  return One(std::move(y));
}

namespace {

// Counts of the pool's n-grams in each row of `tokens` [rows, columns].
template <typename Token>
Results CountNgrams(const Call& call, const std::vector<Token>& pool, const std::vector<Token>& tokens, int64_t rows,
                    int64_t columns) {
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, call.attributes.Ints("ngram_counts"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, call.attributes.Ints("ngram_indexes"));
  TCC_ASSIGN_OR_RETURN(const std::string mode, call.attributes.String("mode"));
  TCC_ASSIGN_OR_RETURN(const int64_t least, call.attributes.Int("min_gram_length"));
  TCC_ASSIGN_OR_RETURN(const int64_t most, call.attributes.Int("max_gram_length"));
  TCC_ASSIGN_OR_RETURN(const int64_t skips, call.attributes.Int("max_skip_count"));
  const std::vector<double> weights = call.attributes.FloatsOr("weights", {});
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return Invalid("mode '", mode, "' is none of TF, IDF, TFIDF");
  if (least < 1 || most < least || skips < 0) return Invalid("bad lengths ", least, " to ", most, ", skips ", skips);
  if (!weights.empty() && weights.size() != slots.size()) return Invalid("weights and ngram_indexes differ in length");
  // n-gram -> its number in the pool.
  std::map<std::vector<Token>, size_t> known;
  size_t number = 0;
  const int64_t size = static_cast<int64_t>(pool.size());
  for (size_t n = 1; n <= starts.size(); ++n) {
    const int64_t begin = starts[n - 1], end = n < starts.size() ? starts[n] : size;
    const int64_t width = static_cast<int64_t>(n);
    if (begin < 0 || end < begin || end > size || (end - begin) % width != 0) return Invalid("bad ngram_counts");
    for (int64_t i = begin; i < end; i += width) {
      known.emplace(std::vector<Token>(pool.begin() + i, pool.begin() + i + width), number++);
    }
  }
  if (number != slots.size()) return Invalid(number, " n-grams in the pool, ", slots.size(), " ngram_indexes");
  int64_t outputs = 0;
  for (int64_t slot : slots) {
    if (slot < 0 || slot > (int64_t{1} << 40)) return OutOfRange("ngram index ", slot);
    outputs = std::max(outputs, slot + 1);
  }
  Dims dims{outputs};
  if (call.inputs[0].rank() == 2) dims.insert(dims.begin(), rows);
  TCC_ASSIGN_OR_RETURN(Tensor y, Zeros(DType::kF32, dims));
  std::vector<Token> gram;
  for (int64_t r = 0; r < rows; ++r) {
    float* out = y.data_as<float>() + r * outputs;
    std::map<size_t, int64_t> counts;
    for (int64_t n = least; n <= std::min<int64_t>(most, static_cast<int64_t>(starts.size())); ++n) {
      // Tokens `stride` apart; single tokens have no distance.
      for (int64_t stride = 1; stride <= (n == 1 ? 1 : std::min(skips + 1, columns)); ++stride) {
        for (int64_t i = 0; i + (n - 1) * stride < columns; ++i) {
          gram.clear();
          for (int64_t k = 0; k < n; ++k) gram.push_back(tokens[r * columns + i + k * stride]);
          if (const auto it = known.find(gram); it != known.end()) ++counts[it->second];
        }
      }
    }
    for (const auto& [gram_number, count] : counts) {
      const double weight = mode == "TF" || weights.empty() ? 1 : weights[gram_number];
      out[slots[gram_number]] = static_cast<float>((mode == "IDF" ? 1.0 : static_cast<double>(count)) * weight);
    }
  }
  return One(std::move(y));
}

}  // namespace

// tfidf_vectorizer(x [C] or [N, C]; ONNX TfIdfVectorizer's attributes under their own names) -> f32.
Results TfidfVectorizer(const Call& call) {
  const Tensor& x = call.inputs[0];
  if (x.rank() != 1 && x.rank() != 2) return Invalid("x must be [C] or [N, C]");
  const int64_t rows = x.rank() == 2 ? x.dim(0) : 1, columns = x.dim(x.rank() - 1);
  if (x.dtype() == DType::kString) {
    TCC_ASSIGN_OR_RETURN(const std::vector<std::string> pool, StringsOf(call.attributes, "pool_strings"));
    TCC_ASSIGN_OR_RETURN(const std::vector<std::string> tokens, ToVector<std::string>(x));
    return CountNgrams(call, pool, tokens, rows, columns);
  }
  if (!IsInteger(x.dtype())) return Invalid("x must be strings or integers, got ", DTypeText(x.dtype()));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> tokens, ToVector<int64_t>(x));
  return CountNgrams(call, call.attributes.IntsOr("pool_int64s", {}), tokens, rows, columns);
}

}  // namespace tcc::reference
