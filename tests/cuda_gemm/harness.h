// Schedules a tcc.kernel given as text for the simulated CUDA device, compiles it, runs it on random inputs and
// compares it with the oracle. Every access is checked: bounds, alignment, races, uninitialised shared memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/gemm/Schedule.h"
#include "tests/codegen_gemm/harness.h"

namespace tcc::codegen::testing {

// Fails the test on any difference. Of the case: text, symbols, constants, tolerance, in_place.
void CheckCuda(const Case& test, const cuda::ScheduleOptions& options = {});

// The texts of a kernel for an architecture, in the order of its launches; empty where there is no schedule.
std::vector<KernelSource> CudaTexts(const Case& test, const std::string& arch, KernelCode* code = nullptr,
                                    const cuda::ScheduleOptions& options = {});

// What is found when each text is changed before it is compiled: an error of the simulated device, or "wrong results";
// "" where nothing is.
std::string FaultOf(const Case& test, const std::function<void(std::string& text)>& change,
                    const cuda::ScheduleOptions& options = {});

}  // namespace tcc::codegen::testing
