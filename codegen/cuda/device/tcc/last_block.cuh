// Work that several blocks share: the block that is done last finishes it, in the same launch.
//
// Each block writes its part to memory and calls is_last_of. The last one sees the parts of all others there, reads them
// (not through __restrict__ or __ldg: those caches may be older) and adds them up in an order that does not depend on
// who comes when.
#pragma once

#include "tcc/platform.cuh"

namespace tcc {

/// Whether this block is the last of `blocks` to come here with counters[which]; all of its threads call it, in blocks
/// that lie along x. The counter, 0 at first, is 0 again after the last one.
TCC_DEVICE bool is_last_of(int* counters, long long which, unsigned blocks) {
  // The barrier, the fence and the counter hand on what all threads of the block have written: to the last block by the
  // counter, a fence and a barrier.
  __syncthreads();
  int last = 0;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(reinterpret_cast<unsigned*>(counters) + which, blocks - 1) == blocks - 1;
    __threadfence();
  }
  return __syncthreads_or(last) != 0;
}

}  // namespace tcc
