//===- TuningStore.h - measured choices on disk -----------------*- C++ -*-===//
//
// One small JSON file for each kernel, named by the hash of its key. Files are replaced atomically: any number of
// processes may use the folder at the same time. Whatever cannot be read counts as not there, whatever cannot be
// written is lost; neither is an error.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tcc::compiler {

struct TuningRecord {
  struct Candidate {
    std::vector<int64_t> parameters; ///< empty: the default
    double seconds = -1;             ///< negative: not usable
    bool operator==(const Candidate &) const = default;
  };
  std::vector<Candidate> candidates; ///< the default first
  size_t winner = 0;
  bool operator==(const TuningRecord &) const = default;
};

class TuningStore {
public:
  /// Empty: keeps nothing.
  explicit TuningStore(std::string folder) : folder(std::move(folder)) {}

  /// `key`: all that the choice depends on, as text.
  std::optional<TuningRecord> find(const std::string &key) const;
  void add(const std::string &key, const TuningRecord &record) const;
  std::string pathOf(const std::string &key) const;

private:
  std::string folder;
};

} // namespace tcc::compiler
