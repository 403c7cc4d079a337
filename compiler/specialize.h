// Which extents of a call are numbers in its specialisation, and which are symbols.
//
// First call: all numbers. An extent that differs on a later call becomes a symbol (automatic dynamic), except where it
// is 0 or 1 right now. Users may mark extents dynamic up front. Extents that the model itself fixes stay.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/include/tcc/options.h"
#include "runtime/cache_notes.h"
#include "runtime/signature.h"
#include "runtime/tensor.h"

namespace tcc {

// An input as the model declares it.
struct DeclaredInput {
  struct Dim {
    int64_t value = -1;  // fixed by the model
    std::string param;   // or named
  };
  std::string name;
  DType dtype = DType::kInvalid;  // kInvalid: not said
  bool has_rank = false;
  std::vector<Dim> dims;
  bool optional = false;
};

// What comes in with one call: an invalid type (dtype kInvalid) is an absent input.
using CallTypes = std::vector<TensorType>;

// Not thread-safe.
class ShapePolicy {
 public:
  // `package`: the inputs are those of a package, not of a model (for messages).
  ShapePolicy(std::vector<DeclaredInput> inputs, std::vector<DynamicSpec> user, bool package = false);

  // The user's specs name inputs that exist and have the model's rank.
  absl::Status Validate() const;

  // Element types, ranks and extents against what the model declares, and which inputs may be left out. Missing inputs
  // at the end are added as absent.
  absl::Status CheckCall(CallTypes* types) const;

  // Takes note of a call: extents that differ from those seen before become dynamic. True where any became so.
  bool Observe(const CallTypes& types);

  // The specialisation for a call that was checked and observed. `general`: every extent that may vary is a symbol of
  // its own, 0 and 1 included.
  absl::StatusOr<Signature> Specialize(const CallTypes& types, bool general = false) const;

  // What other processes saw, as if it had been observed here first; and what was seen here, for them.
  void Recall(const CallNotes& notes);
  void AddTo(CallNotes* notes) const;

  // Whether a specialisation of this model is as general as the user asked for: what was marked dynamic is a symbol of
  // no smaller range, what was said to be a number is that number.
  bool IsAsMarked(const Signature& signature) const;

  const std::vector<DeclaredInput>& inputs() const { return inputs_; }

 private:
  const DimSpec* UserDim(size_t input, size_t axis) const;
  bool Observe(size_t input, const Dims& dims);
  const Dims* FirstSeen(size_t input, size_t rank) const;

  std::vector<DeclaredInput> inputs_;
  std::vector<DynamicSpec> user_;
  bool package_ = false;
  std::vector<std::vector<Dims>> seen_;  // by input: the first extents of each rank
  std::set<std::pair<size_t, int>> dynamic_;
};

// Makes the extents of these symbols numbers, and renumbers the others.
void FixSymbols(const std::map<int32_t, int64_t>& values, Signature* signature);

}  // namespace tcc
