// String ops: library kernels on host-only elements.
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

static SmallVector<StringRef> refs(const std::vector<std::string> &strings) { return {strings.begin(), strings.end()}; }

void convertStringConcat(NodeBuilder &b) {
  Value x = b.input(0), y = b.input(1);
  Exprs target = b.broadcastExtents(b.extents(x), b.extents(y));
  for (AffineExpr &e : target)
    if (!e)
      e = b.freshExtent("broadcast");
  b.result(b.libraryOne("string_concat", {x, y}, {}, b.tensorType(target, b.elementType(x))));
}

void convertStringSplit(NodeBuilder &b) {
  Value x = b.input(0);
  Exprs counts = b.extents(x), parts = counts;
  parts.push_back(b.freshExtent("parts"));
  Values results =
      b.library("string_split", {x},
                {b.str("delimiter", b.stringAttr("delimiter", "")), b.i64("maxsplit", b.intAttr("maxsplit", -1))},
                {b.tensorType(parts, b.elementType(x)), b.tensorType(counts, b.i64Type())});
  for (size_t i = 0; i < std::min<size_t>(2, b.numOutputs()); ++i)
    b.result(i, results[i]);
}

void convertRegexFullMatch(NodeBuilder &b) {
  Value x = b.input(0);
  b.result(b.libraryOne("regex_full_match", {x}, b.str("pattern", b.stringAttr("pattern", "")),
                        b.tensorType(b.extents(x), b.i1Type())));
}

void convertStringNormalizer(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) == 1 || b.rank(x) == 2, "needs an input of rank 1 or 2");
  Exprs target = b.extents(x);
  target.back() = b.freshExtent("strings");
  std::vector<std::string> stopwords = b.stringsAttr("stopwords").value_or(std::vector<std::string>());
  b.result(b.libraryOne("string_normalizer", {x},
                        {b.str("case_change_action", b.stringAttr("case_change_action", "NONE")),
                         b.i64("is_case_sensitive", b.intAttr("is_case_sensitive", 0)),
                         b.attr("stopwords", b.builder.getStrArrayAttr(refs(stopwords)))},
                        b.tensorType(target, b.elementType(x))));
}

// https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html
void convertTfIdfVectorizer(NodeBuilder &b) {
  Value x = b.input(0);
  b.check(b.rank(x) == 1 || b.rank(x) == 2, "needs an input of rank 1 or 2");
  SmallVector<NamedAttribute> config{b.str("mode", b.stringAttr("mode", "")),
                                     b.i64("min_gram_length", b.requiredInt("min_gram_length")),
                                     b.i64("max_gram_length", b.requiredInt("max_gram_length")),
                                     b.i64("max_skip_count", b.requiredInt("max_skip_count"))};
  int64_t columns = 0;
  for (StringRef name : {"ngram_counts", "ngram_indexes", "pool_int64s"}) {
    if (std::optional<Ints> values = b.intsAttr(name)) {
      config.push_back(b.i64s(name, *values));
      if (name == "ngram_indexes")
        for (int64_t index : *values) {
          b.check(index < int64_t(1) << 48, "attribute '" + name + "' has an entry of " + Twine(index));
          columns = std::max(columns, index + 1);
        }
    }
  }
  if (auto strings = b.stringsAttr("pool_strings"))
    config.push_back(b.attr("pool_strings", b.builder.getStrArrayAttr(refs(*strings))));
  if (auto weights = b.floatsAttr("weights"))
    config.push_back(b.f64s("weights", *weights));
  Exprs target = b.extents(x);
  target.back() = b.expr(columns);
  b.result(b.libraryOne("tfidf_vectorizer", {x}, config, b.tensorType(target, b.f32Type())));
}

} // namespace tcc::onnx
