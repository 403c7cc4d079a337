//===- ReshapeGroups.cpp - which axes a reshape merges and splits ----------===//
#include "ir/transforms/ReshapeGroups.h"

namespace tcc::ir {

llvm::SmallVector<ReshapeGroup> groupAxes(llvm::ArrayRef<mlir::AffineExpr> from, llvm::ArrayRef<mlir::AffineExpr> to) {
  llvm::SmallVector<ReshapeGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // Unit axes left over at the end go with the last group.
    if (i == from.size() || j == to.size()) {
      if (groups.empty())
        return {};
      for (; i < from.size(); ++i)
        groups.back().from.push_back(i);
      for (; j < to.size(); ++j)
        groups.back().to.push_back(j);
      break;
    }
    ReshapeGroup group;
    mlir::AffineExpr left = from[i], right = to[j];
    group.from.push_back(i++);
    group.to.push_back(j++);
    while (left != right) {
      auto leftConstant = getConstant(left), rightConstant = getConstant(right);
      bool growLeft;
      if (leftConstant && rightConstant)
        growLeft = *leftConstant < *rightConstant;
      else // a unit side cannot be the larger one; otherwise follow the side with more axes left
        growLeft = leftConstant == 1 || (rightConstant != 1 && from.size() - i >= to.size() - j);
      if (growLeft && i < from.size()) {
        left = simplifyExtent(left * from[i]);
        group.from.push_back(i++);
      } else if (!growLeft && j < to.size()) {
        right = simplifyExtent(right * to[j]);
        group.to.push_back(j++);
      } else {
        return {};
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

} // namespace tcc::ir
