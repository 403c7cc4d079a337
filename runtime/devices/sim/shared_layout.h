// Where the static shared variables of a kernel's object lie in the shared memory of a block.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/devices/sim/sim_abi.h"

namespace tcc::sim {

// Dynamic shared memory is at the start of a block's shared memory, static variables from here on, each with an unused
// stretch around it so that an index past its end is not another variable.
inline constexpr size_t kStaticSharedStart = size_t{256} << 10;
inline constexpr size_t kStaticSharedEnd = size_t{768} << 10;
inline constexpr size_t kSharedGap = 256;
// What is in shared memory before a kernel writes it: NaN as any float, -1 as any integer.
inline constexpr unsigned char kSharedPoison = 0xff;

// Variables are placed when a thread first reaches them. Thread-safe.
class SharedLayout {
 public:
  // The layout of a module. `fresh`: it has just been loaded, maybe where another one was.
  static std::shared_ptr<SharedLayout> Of(const TccSimModule* module, bool fresh = false);

  struct Variable {
    size_t offset, bytes;
  };
  // The offset of a variable from the start of shared memory; 0: there is no room.
  size_t Place(TccSimShared* variable);
  size_t end() const;    // of the placed variables
  size_t bytes() const;  // of the variables, without gaps
  std::vector<Variable> variables() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Variable> variables_;
  size_t end_ = kStaticSharedStart;
  size_t bytes_ = 0;
};

}  // namespace tcc::sim
