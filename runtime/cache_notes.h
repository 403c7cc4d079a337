// What the cache remembers about a model besides its packages, so that a new process need not learn it again: how the
// model was called, and for which signatures it was compiled.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/signature.h"
#include "runtime/tensor.h"

namespace tcc {

struct CallNotes {
  // Axes, by input, whose extents varied from call to call: symbols in later specialisations.
  using Axes = std::map<std::string, std::set<int>>;
  Axes dynamic;
  // The extents that each input came with first, once for each rank: what later calls are compared with.
  std::map<std::string, std::vector<Dims>> seen;
  // Entries of the cache, oldest first. Only the last kMaxSpecialisations are kept.
  struct Specialisation {
    std::string key;
    Signature signature;
  };
  static constexpr size_t kMaxSpecialisations = 256;
  std::vector<Specialisation> specialisations;

  bool Has(const std::string& key) const;
};

}  // namespace tcc
