//===- Constants.cpp - the constants of a plan ----------------------------===//
#include "codegen/plan/Constants.h"

#include <cstring>
#include <string>

#include "llvm/ADT/Hashing.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

namespace tcc::codegen {
namespace {

constexpr int64_t kAlignment = 64;

llvm::ArrayRef<uint8_t> bytesOf(const Tensor &tensor) {
  return {static_cast<const uint8_t *>(tensor.data()), tensor.bytes()};
}

uint64_t hash(const Tensor &tensor) {
  uint64_t h = llvm::hash_combine(static_cast<int>(tensor.dtype()),
                                  llvm::hash_combine_range(tensor.dims().begin(), tensor.dims().end()));
  // Strings are rare and small: equal ones are not looked for.
  if (tensor.dtype() == DType::kString)
    return h;
  return llvm::hash_combine(h, llvm::xxh3_64bits(bytesOf(tensor)));
}

bool equal(const Tensor &a, const Tensor &b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims() || a.dtype() == DType::kString)
    return false;
  return a.data() == b.data() || bytesOf(a) == bytesOf(b);
}

} // namespace

int32_t ConstantPool::add(const Tensor &tensor, bool &added) {
  // The two reserved keys of DenseMap.
  uint64_t key = hash(tensor) & ~(uint64_t(3) << 62);
  for (int32_t index : byHash[key]) {
    if (equal(tensors[index], tensor)) {
      added = false;
      return index;
    }
  }
  added = true;
  tensors.push_back(tensor);
  byHash[key].push_back(static_cast<int32_t>(tensors.size()) - 1);
  return static_cast<int32_t>(tensors.size()) - 1;
}

int64_t storedBytes(const Tensor &tensor) {
  if (tensor.dtype() != DType::kString)
    return static_cast<int64_t>(tensor.bytes());
  int64_t bytes = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    bytes += 4 + static_cast<int64_t>(tensor.data_as<std::string>()[i].size());
  return bytes;
}

int64_t ConstantPool::layOut(std::vector<PlanConstant> &constants) const {
  int64_t offset = 0;
  for (size_t i = 0; i < constants.size(); ++i) {
    constants[i].offset = offset;
    constants[i].bytes = storedBytes(tensors[i]);
    offset = llvm::alignTo(offset + constants[i].bytes, kAlignment);
  }
  return offset;
}

} // namespace tcc::codegen
