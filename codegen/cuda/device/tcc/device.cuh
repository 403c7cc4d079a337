// The device library of tcc: what generated CUDA kernels include, and nothing else. NVRTC compiles it without any header
// of the CUDA toolkit; with TCC_SIM defined, clang compiles it for the simulated device.
#pragma once

#include "tcc/platform.cuh"
#include "tcc/scalar.cuh"
#include "tcc/float16.cuh"
#include "tcc/convert.cuh"
#include "tcc/vec.cuh"
#include "tcc/any_vec.cuh"
#include "tcc/lanes.cuh"
#include "tcc/reduce.cuh"
#include "tcc/statistics.cuh"
#include "tcc/atomics.cuh"
#include "tcc/last_block.cuh"
#include "tcc/cp_async.cuh"
#include "tcc/ldmatrix.cuh"
#include "tcc/mma.cuh"
#include "tcc/barrier.cuh"
#include "tcc/tma.cuh"
#include "tcc/wgmma.cuh"
