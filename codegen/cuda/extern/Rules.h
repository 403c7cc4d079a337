//===- Rules.h - when the default mode calls a library ------------*- C++ -*-===//
//
// Generated kernels are preferred, but where they are known to be weaker by their structure. No GPU has confirmed any
// of these rules: they follow from what the instructions can do, and max-autotune measures.
//
// | rule                                                  | reason                                                   |
// |-------------------------------------------------------|----------------------------------------------------------|
// | compute capability 9 to 11 (Hopper, Blackwell of data | their tensor cores reach their rate by wgmma or tcgen05; |
// | centres), unless the schedule takes wgmma             | generated kernels use mma.sync                           |
// | float16, bfloat16, float32 as tf32                    | the types that tensor cores multiply, and calls know     |
// | as many tiles of 128 x 128 as there are               | smaller ones wait for memory and for launches, where a   |
// | multiprocessors, and 512 of k                         | generated kernel with its own tiles is no weaker         |
// | k and n (input and output channels of a group)        | what TMA copies; other extents take slower kernels of    |
// | multiples of 16 bytes                                 | the libraries                                            |
// | convolutions: channels last, one group                | channels first take transposes in cuDNN, groups are      |
// |                                                       | small products                                           |
//
// Besides, the library has to be there: compiling for the GPU of this machine, and finding the library on it
// (ScheduleOptions::findsLibrary). For machines elsewhere there are no calls.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaDescription.h"
#include "codegen/cuda/extern/Library.h"

namespace tcc::codegen::cuda {

/// Whether the rules prefer the call. `wgmma`: the schedule takes wgmma by itself.
bool prefersLibrary(const LibraryCall &call, const CudaDescription &device, bool wgmma);

} // namespace tcc::codegen::cuda
