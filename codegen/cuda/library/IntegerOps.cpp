//===- IntegerOps.cpp - powers of integers, n-grams, on the device --------===//
#include <map>
#include <set>

#include "codegen/cuda/library/ShapeText.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 256;

void applyPow(LibraryKernel &kernel) {
  AffineExpr count = kernel.product(ir::getExtents(kernel.op->getResult(0).getType()));
  kernel.launch("integer_pow", "integer_pow.cuh", kThreads, count.ceilDiv(kThreads),
                {{kernel.input(0), "x"}, {kernel.input(1), "exponents"}, {kernel.result(0), "y", true}},
                {{"count", count}}, "  tcc::integer_powers(x, exponents, y, count);\n");
}

bool isPow(Operation *op) {
  return isa<ir::PowOp>(op) && isa<IntegerType>(elementTypeOf(op->getResult(0))) &&
         !elementTypeOf(op->getResult(0)).isInteger(1);
}

/// The pool as the kernel takes it; nothing where the reference has an error to report.
struct Pool {
  std::vector<int64_t> tokens, begins, lengths, slots;
  std::vector<float> weights;
};
std::optional<Pool> readPool(const tcc::Attributes &attributes) {
  std::vector<int64_t> starts = attributes.IntsOr("ngram_counts", {}), indexes = attributes.IntsOr("ngram_indexes", {});
  std::vector<double> weights = attributes.FloatsOr("weights", {});
  std::string mode = attributes.StringOr("mode", "");
  Pool pool;
  pool.tokens = attributes.IntsOr("pool_int64s", {});
  auto size = static_cast<int64_t>(pool.tokens.size());
  int64_t least = attributes.IntOr("min_gram_length", 0), most = attributes.IntOr("max_gram_length", 0);
  if ((mode != "TF" && mode != "IDF" && mode != "TFIDF") || least < 1 || most < least ||
      attributes.IntOr("max_skip_count", -1) < 0 || (!weights.empty() && weights.size() != indexes.size()))
    return std::nullopt;
  struct Gram {
    int64_t begin, length;
    float weight;
  };
  // By result; of n-grams that are there twice the first counts.
  std::map<int64_t, std::vector<Gram>> bySlot;
  std::set<std::vector<int64_t>> known;
  size_t number = 0;
  int64_t results = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t begin = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : size, length = static_cast<int64_t>(i) + 1;
    if (begin < 0 || end < begin || end > size || (end - begin) % length != 0)
      return std::nullopt;
    for (; begin < end; begin += length, ++number) {
      if (number >= indexes.size() || indexes[number] < 0 || indexes[number] > (int64_t(1) << 24))
        return std::nullopt;
      results = std::max(results, indexes[number] + 1);
      std::vector<int64_t> gram(pool.tokens.begin() + begin, pool.tokens.begin() + begin + length);
      if (!known.insert(std::move(gram)).second)
        continue;
      bool weighs = mode != "TF" && !weights.empty();
      bySlot[indexes[number]].push_back({begin, length, weighs ? static_cast<float>(weights[number]) : 1.0f});
    }
  }
  if (number != indexes.size())
    return std::nullopt;
  pool.slots.push_back(0);
  for (int64_t slot = 0; slot < results; ++slot) {
    if (auto found = bySlot.find(slot); found != bySlot.end())
      for (const Gram &gram : found->second) {
        pool.begins.push_back(gram.begin);
        pool.lengths.push_back(gram.length);
        pool.weights.push_back(gram.weight);
      }
    pool.slots.push_back(static_cast<int64_t>(pool.begins.size()));
  }
  return pool;
}

template <typename T> tcc::Tensor tensorOf(const std::vector<T> &values) {
  absl::StatusOr<tcc::Tensor> tensor =
      tcc::Tensor::Allocate(tcc::kDTypeOf<T>, {static_cast<int64_t>(std::max<size_t>(values.size(), 1))});
  if (!tensor.ok())
    llvm::report_fatal_error("no memory for the n-grams of a model");
  std::copy(values.begin(), values.end(), tensor->template data_as<T>());
  return *tensor;
}

void applyNgrams(LibraryKernel &kernel) {
  Operation *op = kernel.op;
  tcc::Attributes attributes = attributesOf(op);
  Pool pool = *readPool(attributes);
  ir::Exprs x = ir::getExtents(op->getOperand(0).getType()), y = ir::getExtents(op->getResult(0).getType());
  AffineExpr count = kernel.product(y);
  SmallVector<LibraryKernel::Buffer> buffers = {{kernel.input(0), "x"}, {kernel.result(0), "y", true}};
  for (auto [name, values] : {std::pair{"tokens", &pool.tokens},
                              {"begins", &pool.begins},
                              {"lengths", &pool.lengths},
                              {"slots", &pool.slots}})
    buffers.push_back({kernel.constantBuffer(tensorOf(*values), "long long"), name});
  buffers.push_back({kernel.constantBuffer(tensorOf(pool.weights), "float"), "weights"});
  auto number = [&](const char *name) { return std::to_string(attributes.IntOr(name, 0)); };
  kernel.launch("count_ngrams", "ngrams.cuh", kThreads, count.ceilDiv(kThreads), buffers,
                {{"columns", x.back()}, {"results", y.back()}, {"count", count}},
                "  const tcc::Ngrams pool = {tokens, begins, lengths, slots, weights, " + number("min_gram_length") +
                    ", " + number("max_gram_length") + ", " + number("max_skip_count") + "};\n  tcc::count_ngrams<" +
                    elementText(elementTypeOf(op->getOperand(0))) + ", " +
                    (attributes.StringOr("mode", "") == "IDF" ? "true" : "false") +
                    ">(x, y, pool, columns, results, count);\n");
}

bool isNgrams(Operation *op) {
  if (!isa<ir::LibraryOp>(op) || op->getNumOperands() != 1 || !isa<IntegerType>(elementTypeOf(op->getOperand(0))) ||
      elementTypeOf(op->getOperand(0)).isInteger(1))
    return false;
  std::optional<Pool> pool = readPool(attributesOf(op));
  ir::Exprs y = ir::getExtents(op->getResult(0).getType());
  return pool && !y.empty() && ir::getConstant(y.back()) == static_cast<int64_t>(pool->slots.size()) - 1;
}

} // namespace

const LibrarySchedule integerPowSchedule = {"pow", isPow, applyPow};
const LibrarySchedule tfidfSchedule = {"tfidf_vectorizer", isNgrams, applyNgrams};

} // namespace tcc::codegen::cuda
