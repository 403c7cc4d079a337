// https://onnx.ai/onnx/operators/onnx__Einsum.html: operands contracted one after another, each a batched matrix
// product.
#include "frontend/onnx/import/Conversions.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tcc::onnx {

namespace {
/// A tensor and a label for each of its axes. Labels of the ellipsis are negative: its last axis is -1.
struct Term {
  Value value;
  Ints labels;

  std::optional<int64_t> axisOf(int64_t label) const {
    auto it = llvm::find(labels, label);
    return it == labels.end() ? std::nullopt : std::optional<int64_t>(it - labels.begin());
  }
};
} // namespace

static Ints parseLabels(NodeBuilder &b, StringRef text, std::optional<int64_t> rank) {
  Ints labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ')
      continue;
    if (text.substr(i).starts_with("...")) {
      std::string rest = text.drop_front(i + 3).str();
      llvm::erase(rest, ' ');
      int64_t covered = rank ? *rank - static_cast<int64_t>(labels.size() + rest.size()) : 0;
      b.check(covered >= 0, "the equation has more labels than an operand has axes");
      for (int64_t k = covered; k > 0; --k)
        labels.push_back(-k);
      i += 2;
      continue;
    }
    b.check(llvm::isAlnum(text[i]), "the equation has the character '" + Twine(text[i]) + "'");
    labels.push_back(text[i]);
  }
  b.check(!rank || labels.size() == static_cast<size_t>(*rank), "the equation does not fit the rank of an operand");
  return labels;
}

static void sumOut(NodeBuilder &b, Term &t, function_ref<bool(int64_t)> keep) {
  Ints axes, kept;
  for (auto [axis, label] : llvm::enumerate(t.labels)) {
    if (keep(label))
      kept.push_back(label);
    else
      axes.push_back(axis);
  }
  t.value = b.reduce(t.value, ir::ReduceKind::Sum, axes, /*keepDims=*/false);
  t.labels = kept;
}

// A label that occurs twice in one operand picks the diagonal: everything off it is zeroed and summed away.
static void takeDiagonals(NodeBuilder &b, Term &t) {
  for (size_t i = 0; i < t.labels.size(); ++i) {
    for (size_t k = i + 1; k < t.labels.size();) {
      if (t.labels[k] != t.labels[i]) {
        ++k;
        continue;
      }
      Exprs e = b.extents(t.value);
      Value same = b.compare(b.iota(e, i, b.i64Type()), b.iota(e, k, b.i64Type()), ir::Predicate::Eq);
      Value only = b.select(same, t.value, b.like(t.value, 0));
      t.value = b.reduce(only, ir::ReduceKind::Sum, {static_cast<int64_t>(k)}, /*keepDims=*/false);
      t.labels.erase(t.labels.begin() + k);
    }
  }
}

static Value arrange(NodeBuilder &b, const Term &t, ArrayRef<int64_t> order) {
  Ints permutation;
  for (int64_t label : order)
    permutation.push_back(*t.axisOf(label));
  return b.transpose(t.value, permutation);
}

static Term contract(NodeBuilder &b, Term x, Term y, function_ref<bool(int64_t)> neededLater) {
  // An ellipsis axis of extent 1 broadcasts: drop it, the other operand has it.
  for (Term *t : {&x, &y}) {
    Term &other = t == &x ? y : x;
    for (int64_t axis = t->labels.size() - 1; axis >= 0; --axis)
      if (other.axisOf(t->labels[axis]) && b.constantExtent(t->value, axis) == 1 &&
          b.constantExtent(other.value, *other.axisOf(t->labels[axis])) != 1) {
        t->value = b.squeeze(t->value, {axis});
        t->labels.erase(t->labels.begin() + axis);
      }
  }
  sumOut(b, x, [&](int64_t label) { return y.axisOf(label) || neededLater(label); });
  sumOut(b, y, [&](int64_t label) { return x.axisOf(label) || neededLater(label); });
  Ints batch, inner, left, right;
  for (int64_t label : x.labels)
    (!y.axisOf(label) ? left : neededLater(label) ? batch : inner).push_back(label);
  for (int64_t label : y.labels)
    if (!x.axisOf(label))
      right.push_back(label);
  auto flat = [&](const Term &t, ArrayRef<int64_t> labels) {
    Exprs e;
    for (int64_t label : labels)
      e.push_back(b.extent(t.value, *t.axisOf(label)));
    return ir::product(b.context(), e);
  };
  auto joined = [](ArrayRef<Ints> parts) {
    Ints all;
    for (const Ints &part : parts)
      all.append(part.begin(), part.end());
    return all;
  };
  Value a = b.reshape(arrange(b, x, joined({batch, left, inner})), {flat(x, batch), flat(x, left), flat(x, inner)});
  Value c = b.reshape(arrange(b, y, joined({batch, inner, right})), {flat(x, batch), flat(y, inner), flat(y, right)});
  Value product = b.matmul(a, c);
  Term result{{}, joined({batch, left, right})};
  Exprs target;
  for (int64_t label : result.labels) {
    const Term &from = x.axisOf(label) ? x : y;
    target.push_back(b.extent(from.value, *from.axisOf(label)));
  }
  result.value = b.reshape(product, target);
  return result;
}

void convertEinsum(NodeBuilder &b) {
  std::string equation = b.stringAttr("equation", "");
  auto [left, right] = StringRef(equation).split("->");
  bool explicitOutput = StringRef(equation).contains("->");
  SmallVector<StringRef> texts;
  left.split(texts, ',');
  b.check(texts.size() == b.numInputs() && !texts.empty(),
          "the equation has " + Twine(texts.size()) + " operands, the node " + Twine(b.numInputs()));
  SmallVector<Term> terms;
  Ints order; // labels in order of appearance
  llvm::SmallDenseMap<int64_t, int> uses;
  int64_t ellipsis = 0;
  for (auto [i, text] : llvm::enumerate(texts)) {
    Term t{b.input(i), parseLabels(b, text, b.rank(b.input(i)))};
    for (int64_t label : t.labels) {
      ++uses[label];
      ellipsis = std::max(ellipsis, -label);
      if (!llvm::is_contained(order, label))
        order.push_back(label);
    }
    takeDiagonals(b, t);
    terms.push_back(t);
  }
  Ints output;
  if (explicitOutput) {
    // The ellipsis of the output stands for the longest one of the operands.
    size_t letters = llvm::count_if(right, [](char c) { return llvm::isAlnum(c); });
    output = parseLabels(b, right, right.contains("...") ? std::optional<int64_t>(letters + ellipsis) : std::nullopt);
  } else {
    for (int64_t k = ellipsis; k > 0; --k)
      output.push_back(-k);
    llvm::sort(order);
    for (int64_t label : order)
      if (label > 0 && uses[label] == 1)
        output.push_back(label);
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    result = contract(b, result, terms[i], [&](int64_t label) {
      if (llvm::is_contained(output, label))
        return true;
      for (size_t k = i + 1; k < terms.size(); ++k)
        if (terms[k].axisOf(label))
          return true;
      return false;
    });
  }
  sumOut(b, result, [&](int64_t label) { return llvm::is_contained(output, label); });
  b.check(result.labels.size() == output.size(), "the equation's output names labels that no operand has");
  b.result(arrange(b, result, output));
}

} // namespace tcc::onnx
