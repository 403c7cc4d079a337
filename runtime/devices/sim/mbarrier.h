// The 64 bits of an mbarrier in shared memory, as the simulator fills them. (Hardware does not say what is in them.)
#pragma once

#include <cstdint>

namespace tcc::sim {

struct Mbarrier {
  static constexpr uint64_t kFieldMask = (uint64_t{1} << 20) - 1;
  static constexpr int64_t kBytesBias = int64_t{1} << 21;

  unsigned phase = 0;
  unsigned expected = 0;  // arrivals of a phase
  unsigned pending = 0;   // of this one, still to come
  int64_t bytes = 0;      // that copies are still to deliver in this phase

  // False: no mbarrier_init was here. (Fresh shared memory is all ones.)
  static bool Unpack(uint64_t word, Mbarrier& barrier) {
    if (word >> 63 != 0) return false;
    barrier.phase = word & 1;
    barrier.expected = static_cast<unsigned>(word >> 1 & kFieldMask);
    barrier.pending = static_cast<unsigned>(word >> 21 & kFieldMask);
    barrier.bytes = static_cast<int64_t>(word >> 41 & 0x3fffff) - kBytesBias;
    return barrier.expected != 0;
  }
  uint64_t Pack() const {
    return phase | uint64_t{expected} << 1 | uint64_t{pending} << 21 | static_cast<uint64_t>(bytes + kBytesBias) << 41;
  }
  // The next phase begins when all arrivals and bytes of this one are there.
  void Advance() {
    if (pending != 0 || bytes != 0) return;
    phase ^= 1;
    pending = expected;
  }
};

}  // namespace tcc::sim
