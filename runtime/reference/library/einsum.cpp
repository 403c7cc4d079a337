// ONNX Einsum(xs...; equation): general Einstein summation with repeated labels and "...".
#include <algorithm>
#include <map>

#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

// Labels are characters; the axes of an ellipsis get the codes 256, 257, ... counted from its last axis.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

absl::StatusOr<Labels> Parse(const std::string& term, int rank) {
  const size_t dots = term.find("...");
  const int letters = static_cast<int>(term.size()) - (dots == std::string::npos ? 0 : 3);
  const int hidden = rank - letters;  // axes the ellipsis stands for
  if (hidden < 0 || (dots == std::string::npos && hidden != 0)) {
    return Invalid("term '", term, "' does not fit an operand of rank ", rank);
  }
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int k = hidden - 1; k >= 0; --k) labels.push_back(kEllipsis + k);
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels.push_back(term[i]);
    } else {
      return Invalid("'", term, "' in the equation is not made of letters");
    }
  }
  return labels;
}

}  // namespace

Results Einsum(const Call& call) {
  TCC_ASSIGN_OR_RETURN(std::string equation, call.attributes.String("equation"));
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (terms.size() != call.inputs.size()) return Invalid(terms.size(), " terms for ", call.inputs.size(), " operands");
  std::vector<Labels> labels;
  std::map<int, int64_t> extents;
  std::map<int, int> uses;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Tensor& x = call.inputs[i];
    if (!x.valid()) return Invalid("input ", i, " is missing");
    TCC_RETURN_IF_ERROR(CheckDType(x, call.inputs[0].dtype(), "each operand"));
    TCC_ASSIGN_OR_RETURN(Labels term, Parse(terms[i], x.rank()));
    for (int axis = 0; axis < x.rank(); ++axis) {
      const int64_t extent = x.dim(axis);
      int64_t& known = extents.try_emplace(term[axis], extent).first->second;
      if (known == 1) known = extent;
      if (extent != known && extent != 1) return Invalid("extents ", known, " and ", extent, " share a label");
      ++uses[term[axis]];
    }
    labels.push_back(std::move(term));
  }
  // The result's labels: as written, or the ellipsis and then the letters used once, in order.
  Labels out;
  int widest = 0;
  for (const auto& [label, extent] : extents) {
    if (label >= kEllipsis) widest = std::max(widest, label - kEllipsis + 1);
  }
  if (arrow == std::string::npos) {
    for (int k = widest - 1; k >= 0; --k) out.push_back(kEllipsis + k);
    for (const auto& [label, count] : uses) {
      if (label < kEllipsis && count == 1) out.push_back(label);
    }
  } else {
    const std::string term = equation.substr(arrow + 2);
    const bool dots = term.find("...") != std::string::npos;
    const int rank = static_cast<int>(term.size()) - (dots ? 3 : 0) + (dots ? widest : 0);
    TCC_ASSIGN_OR_RETURN(out, Parse(term, rank));
  }
  Dims dims;
  std::map<int, bool> in_result;
  for (int label : out) {
    if (extents.count(label) == 0 || in_result[label]) return Invalid("bad result labels in '", equation, "'");
    in_result[label] = true;
    dims.push_back(extents[label]);
  }
  Labels summed;
  Dims summed_dims;
  for (const auto& [label, extent] : extents) {
    if (in_result[label]) continue;
    summed.push_back(label);
    summed_dims.push_back(extent);
  }
  // Each operand's strides over (result labels) and (summed labels); a repeated label is a diagonal.
  const size_t operands = labels.size();
  std::vector<Dims> outer(operands), inner(operands);
  for (size_t i = 0; i < operands; ++i) {
    const auto stride = [&](int label) {
      int64_t sum = 0;
      for (int axis = 0; axis < call.inputs[i].rank(); ++axis) {
        if (labels[i][axis] == label && call.inputs[i].dim(axis) != 1) sum += call.inputs[i].strides()[axis];
      }
      return sum;
    };
    for (int label : out) outer[i].push_back(stride(label));
    for (int label : summed) inner[i].push_back(stride(label));
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(call.inputs[0].dtype(), dims));
  return Dispatch(Numbers(), y.dtype(), [&]<typename T>() -> Results {
    using A = std::conditional_t<kIsFloat<T>, double, T>;
    std::vector<const T*> bases(operands);
    T* ys = y.data_as<T>();
    for (Counter at(dims); at.more(); at.Next(), ++ys) {
      for (size_t i = 0; i < operands; ++i) bases[i] = call.inputs[i].data_as<T>() + at.Offset(outer[i]);
      A sum = 0;
      if (operands == 2) {
        for (Runs runs(summed_dims, {inner[0], inner[1]}); runs.more(); runs.Next()) {
          const T *a = bases[0] + runs.offset(0), *b = bases[1] + runs.offset(1);
          const int64_t n = runs.length(), da = runs.step(0), db = runs.step(1);
          for (int64_t k = 0; k < n; ++k) {
            sum = WrapAdd(sum, WrapMul(static_cast<A>(a[k * da]), static_cast<A>(b[k * db])));
          }
        }
      } else {
        for (Counter k(summed_dims); k.more(); k.Next()) {
          A product = 1;
          for (size_t i = 0; i < operands; ++i) {
            product = WrapMul(product, static_cast<A>(bases[i][k.Offset(inner[i])]));
          }
          sum = WrapAdd(sum, product);
        }
      }
      *ys = static_cast<T>(sum);
    }
    return One(std::move(y));
  });
}

}  // namespace tcc::reference
