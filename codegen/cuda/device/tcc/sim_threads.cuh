// Thread indices, barriers, shuffles and votes.
#pragma once

namespace tcc_sim {
__attribute__((noinline, const)) TCC_SIM_RAW inline uint3 index_of(int which) {
  const TccSimThread* t = self();
  const TccSimIndex& i = which == 0 ? t->thread : which == 1 ? t->block : which == 2 ? t->block_dim : t->grid_dim;
  return {i.x, i.y, i.z};
}
TCC_SIM_RAW inline unsigned lane() { return self()->linear % 32; }
}  // namespace tcc_sim

#define threadIdx (::tcc_sim::index_of(0))
#define blockIdx (::tcc_sim::index_of(1))
#define blockDim (::tcc_sim::index_of(2))
#define gridDim (::tcc_sim::index_of(3))
#define warpSize 32

inline TCC_SIM_CALL void __syncthreads() { ::tcc_sim::api->barrier(0, 0, kTccSimNoReduction, 0, TCC_SIM_PC); }
inline TCC_SIM_CALL int __syncthreads_count(int value) {
  return ::tcc_sim::api->barrier(0, 0, kTccSimCount, value, TCC_SIM_PC);
}
inline TCC_SIM_CALL int __syncthreads_and(int value) { return ::tcc_sim::api->barrier(0, 0, kTccSimAnd, value, TCC_SIM_PC); }
inline TCC_SIM_CALL int __syncthreads_or(int value) { return ::tcc_sim::api->barrier(0, 0, kTccSimOr, value, TCC_SIM_PC); }
inline TCC_SIM_CALL void __threadfence() { ::tcc_sim::api->fence(1); }
inline TCC_SIM_CALL void __threadfence_block() { ::tcc_sim::api->fence(0); }
inline TCC_SIM_CALL void __nanosleep(unsigned) { ::tcc_sim::api->yield(TCC_SIM_PC); }

namespace tcc_sim {
TCC_SIM_RAW inline const char* combine_nothing(void* const*, unsigned) { return nullptr; }
inline const TccSimWarpOp syncwarp_op = {"__syncwarp", combine_nothing, kTccSimOrdersMemory};
}  // namespace tcc_sim
inline TCC_SIM_CALL void __syncwarp(unsigned mask = ~0u) {
  ::tcc_sim::api->warp(&::tcc_sim::syncwarp_op, mask, nullptr, TCC_SIM_PC);
}

namespace tcc_sim {
template <class T>
struct Shuffle {
  T value, result;
  unsigned source;
};
template <class T>
TCC_SIM_RAW const char* combine_shuffle(void* const* lanes, unsigned arrived) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lanes[lane] == nullptr) continue;
    auto* mine = static_cast<Shuffle<T>*>(lanes[lane]);
    if ((arrived >> mine->source & 1) == 0) return "a lane reads from one that takes no part: it has returned, does not exist, or is not in the mask";
    mine->result = static_cast<Shuffle<T>*>(lanes[mine->source])->value;
  }
  return nullptr;
}
template <class T>
inline const TccSimWarpOp shfl_op = {"__shfl_sync", combine_shuffle<T>, 0};
template <class T>
inline const TccSimWarpOp shfl_up_op = {"__shfl_up_sync", combine_shuffle<T>, 0};
template <class T>
inline const TccSimWarpOp shfl_down_op = {"__shfl_down_sync", combine_shuffle<T>, 0};
template <class T>
inline const TccSimWarpOp shfl_xor_op = {"__shfl_xor_sync", combine_shuffle<T>, 0};

template <class T>
TCC_SIM_RAW inline T shuffle(const TccSimWarpOp* op, unsigned mask, T value, unsigned source, const void* pc) {
  static_assert(sizeof(T) <= 8, "shuffles move 4 or 8 bytes");
  Shuffle<T> mine = {value, value, source};
  api->warp(op, mask, &mine, pc);
  return mine.result;
}
}  // namespace tcc_sim

template <class T>
TCC_SIM_CALL T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned lane = ::tcc_sim::lane(), base = lane & ~(width - 1u);
  return ::tcc_sim::shuffle(&::tcc_sim::shfl_op<T>, mask, value, base | (static_cast<unsigned>(source) & (width - 1u)), TCC_SIM_PC);
}
template <class T>
TCC_SIM_CALL T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = ::tcc_sim::lane(), base = lane & ~(width - 1u);
  return ::tcc_sim::shuffle(&::tcc_sim::shfl_up_op<T>, mask, value, lane - base >= delta ? lane - delta : lane, TCC_SIM_PC);
}
template <class T>
TCC_SIM_CALL T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = ::tcc_sim::lane(), base = lane & ~(width - 1u);
  return ::tcc_sim::shuffle(&::tcc_sim::shfl_down_op<T>, mask, value, lane - base + delta < unsigned(width) ? lane + delta : lane, TCC_SIM_PC);
}
template <class T>
TCC_SIM_CALL T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const unsigned lane = ::tcc_sim::lane(), last = (lane & ~(width - 1u)) + width - 1u;
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  return ::tcc_sim::shuffle(&::tcc_sim::shfl_xor_op<T>, mask, value, source <= last ? source : lane, TCC_SIM_PC);
}

namespace tcc_sim {
struct Vote {
  unsigned long long value;
  unsigned result;
};
TCC_SIM_RAW inline const char* combine_ballot(void* const* lanes, unsigned) {
  unsigned ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lanes[lane] != nullptr && static_cast<Vote*>(lanes[lane])->value != 0) ballot |= 1u << lane;
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lanes[lane] != nullptr) static_cast<Vote*>(lanes[lane])->result = ballot;
  }
  return nullptr;
}
TCC_SIM_RAW inline const char* combine_all(void* const* lanes, unsigned arrived) {
  combine_ballot(lanes, arrived);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lanes[lane] != nullptr) static_cast<Vote*>(lanes[lane])->result = static_cast<Vote*>(lanes[lane])->result == arrived;
  }
  return nullptr;
}
TCC_SIM_RAW inline const char* combine_match(void* const* lanes, unsigned) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lanes[lane] == nullptr) continue;
    auto* mine = static_cast<Vote*>(lanes[lane]);
    mine->result = 0;
    for (unsigned other = 0; other < 32; ++other) {
      if (lanes[other] != nullptr && static_cast<Vote*>(lanes[other])->value == mine->value) mine->result |= 1u << other;
    }
  }
  return nullptr;
}
inline const TccSimWarpOp ballot_op = {"__ballot_sync", combine_ballot, 0};
inline const TccSimWarpOp any_op = {"__any_sync", combine_ballot, 0};
inline const TccSimWarpOp all_op = {"__all_sync", combine_all, 0};
inline const TccSimWarpOp match_op = {"__match_any_sync", combine_match, 0};
TCC_SIM_RAW inline unsigned vote(const TccSimWarpOp* op, unsigned mask, unsigned long long value, const void* pc) {
  Vote mine = {value, 0};
  api->warp(op, mask, &mine, pc);
  return mine.result;
}
}  // namespace tcc_sim

inline TCC_SIM_CALL unsigned __ballot_sync(unsigned mask, int value) {
  return ::tcc_sim::vote(&::tcc_sim::ballot_op, mask, value != 0, TCC_SIM_PC);
}
inline TCC_SIM_CALL int __any_sync(unsigned mask, int value) {
  return ::tcc_sim::vote(&::tcc_sim::any_op, mask, value != 0, TCC_SIM_PC) != 0;
}
inline TCC_SIM_CALL int __all_sync(unsigned mask, int value) {
  return ::tcc_sim::vote(&::tcc_sim::all_op, mask, value != 0, TCC_SIM_PC) != 0;
}
template <class T>
TCC_SIM_CALL unsigned __match_any_sync(unsigned mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "matches 4 or 8 bytes");
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof value);
  return ::tcc_sim::vote(&::tcc_sim::match_op, mask, bits, TCC_SIM_PC);
}
