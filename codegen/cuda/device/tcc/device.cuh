// The device library of tcc: what generated CUDA kernels include, and nothing else. NVRTC compiles it without any header
// of the CUDA toolkit; with TCC_SIM defined, clang compiles it for the simulated device.
#pragma once

#include "tcc/platform.cuh"
#include "tcc/float16.cuh"
#include "tcc/scalar.cuh"
