// Kernels that are wrong are reported, with kernel, block, thread and line.
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Faults : public testing::Test {
 protected:
  // What a checked run of the kernel says; it must name the line with the kernel's mark.
  template <typename... Args>
  std::string Message(const std::string& kernel, Dim grid, Dim block, size_t shared_bytes, Args... args) {
    return MessageOf(checked_, kernel, grid, block, shared_bytes, args...);
  }
  // The same without checks of accesses.
  template <typename... Args>
  std::string PlainMessage(const std::string& kernel, Dim grid, Dim block, Args... args) {
    return MessageOf(plain_, kernel, grid, block, 0, args...);
  }

  Kernels checked_{"faults", Where::kChecked}, plain_{"faults", Where::kPlain};
  Buffer<float> x_{std::vector<float>(256, 1.0f)}, y_{size_t{256}};

 private:
  template <typename... Args>
  std::string MessageOf(Kernels& kernels, const std::string& kernel, Dim grid, Dim block, size_t shared_bytes,
                        Args... args) {
    const absl::Status status = kernels.RunWith(kernel, grid, block, shared_bytes, LaunchOptions(), args...);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    std::string message(status.message());
    EXPECT_THAT(message, AllOf(HasSubstr(absl::StrCat("kernel '", kernel, "'")), HasSubstr("block ("),
                               HasSubstr(absl::StrCat("faults.cu:", LineOf("faults", kernel)))));
    return message;
  }
};

TEST_F(Faults, MissingBarrier) {
  EXPECT_THAT(Message("missing_barrier", {1}, {64}, 0, x_.get()),
              HasSubstr("reads 4 bytes of shared memory that no thread of the block has written yet"));
  EXPECT_THAT(Message("missing_second_barrier", {1}, {64}, 0, x_.get()),
              AllOf(HasSubstr("race: reads 4 bytes of shared memory"), HasSubstr("thread (32, 0, 0) at faults.cu:"),
                    HasSubstr("wrote, with no barrier in between")));
  EXPECT_THAT(Message("missing_syncwarp", {1}, {32}, 0, x_.get()), HasSubstr("race: reads 4 bytes of shared memory"));
}

TEST_F(Faults, RacesInGlobalMemory) {
  EXPECT_THAT(Message("global_race", {1}, {64}, 0, x_.get()), HasSubstr("of global memory"));
  EXPECT_THAT(Message("race_of_blocks", {4}, {64}, 0, x_.get()), HasSubstr("another block that runs at the same time"));
  Buffer<float> parts(4);
  Buffer<unsigned> done(1, 0u);
  EXPECT_THAT(Message("missing_fence", {4}, {1}, 0, parts.get(), done.get(), y_.get()), HasSubstr("race: reads"));
  Buffer<int> word(1);
  EXPECT_THAT(Message("plain_and_atomic", {1}, {64}, 0, word.get()), HasSubstr("race: atomically updates"));
}

TEST_F(Faults, AsynchronousCopies) {
  EXPECT_THAT(Message("missing_wait", {1}, {32}, 0, x_.get(), y_.get()),
              HasSubstr("that no thread of the block has written yet"));
  EXPECT_THAT(Message("missing_barrier_after_wait", {1}, {64}, 0, x_.get(), y_.get()), HasSubstr("shared memory"));
}

TEST_F(Faults, UninitialisedSharedMemory) {
  EXPECT_THAT(Message("uninitialised", {1}, {64}, 0, x_.get()), HasSubstr("thread (63, 0, 0)"));
}

TEST_F(Faults, OutOfBounds) {
  EXPECT_THAT(Message("read_past_end", {3}, {100}, 0, x_.get(), y_.get(), 256),
              AllOf(HasSubstr("block (2, 0, 0), thread (56, 0, 0)"), HasSubstr("reads 4 bytes"),
                    HasSubstr("0 bytes past the end of the buffer of 1024 bytes")));
  EXPECT_THAT(Message("write_before_start", {1}, {32}, 0, x_.get()),
              AllOf(HasSubstr("out of bounds: writes 4 bytes"), HasSubstr("thread (0, 0, 0)")));
  EXPECT_THAT(Message("shared_past_end", {1}, {32}, 0, x_.get()),
              AllOf(HasSubstr("a shared variable of 128 bytes"), HasSubstr("thread (31, 0, 0)")));
  EXPECT_THAT(Message("dynamic_past_end", {1}, {32}, size_t{100}, x_.get()),
              AllOf(HasSubstr("dynamic shared memory of 100 bytes"), HasSubstr("thread (25, 0, 0)")));
  EXPECT_THAT(Message("null_pointer", {1}, {32}, 0, static_cast<float*>(nullptr)), HasSubstr("a null pointer"));
  EXPECT_THAT(Message("vector_past_end", {1}, {65}, 0, x_.get(), y_.get()),
              AllOf(HasSubstr("reads 16 bytes"), HasSubstr("thread (64, 0, 0)")));
}

// Buffers side by side in one allocation.
TEST_F(Faults, OutOfTheBuffersOfTheLaunch) {
  const auto place = reinterpret_cast<uintptr_t>(x_.get());
  LaunchOptions options;
  options.buffers = {{place + 512, place + 1024}, {place, place + 512}, {place + 100, place + 200}};
  const auto run = [&](unsigned threads) {
    return checked_.RunWith("vector_past_end", {1}, {threads}, 0, options, x_.get(), x_.get() + 128);
  };
  EXPECT_EQ(run(32), absl::OkStatus());
  options.buffers[1].end = place + 480;
  const absl::Status status = run(32);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("thread (30, 0, 0)"), HasSubstr("0 bytes past the end of the buffer of 480 bytes")));
}

TEST_F(Faults, Misaligned) {
  EXPECT_THAT(Message("misaligned_element", {1}, {32}, 0, reinterpret_cast<const char*>(x_.get()), y_.get()),
              HasSubstr("misaligned read of 4 bytes"));
  for (const bool checked : {false, true}) {
    const auto message = [&](const char* kernel, auto... args) {
      return checked ? Message(kernel, {1}, {32}, 0, args...) : PlainMessage(kernel, {1}, {32}, args...);
    };
    EXPECT_THAT(message("misaligned_vector", x_.get(), y_.get()), HasSubstr("misaligned"));
    EXPECT_THAT(message("misaligned_async", x_.get(), y_.get()), HasSubstr("misaligned cp.async"));
    EXPECT_THAT(message("misaligned_ldmatrix", y_.get()), HasSubstr("not a multiple of 16"));
  }
}

TEST_F(Faults, DivergentCollectives) {
  EXPECT_THAT(PlainMessage("barrier_in_branch", {1}, {64}, x_.get()),
              AllOf(HasSubstr("no thread can go on"), HasSubstr("warp 0, lanes 0-15: __syncthreads at"),
                    HasSubstr("warp 0, lanes 16-31: __shfl_xor_sync with mask 0xffffffff, waiting for lanes 0-15")));
  EXPECT_THAT(PlainMessage("different_barriers", {1}, {64}, x_.get()), HasSubstr("divergent barrier"));
  EXPECT_THAT(PlainMessage("shuffle_in_branch", {1}, {32}, x_.get()),
              AllOf(HasSubstr("lanes 0-19: __shfl_down_sync"), HasSubstr("lanes 20-31: __syncthreads")));
  EXPECT_THAT(PlainMessage("mask_without_caller", {1}, {32}, x_.get()), HasSubstr("does not name the calling lane 16"));
  EXPECT_THAT(PlainMessage("read_from_absent_lane", {1}, {32}, x_.get()), HasSubstr("takes no part"));
  EXPECT_THAT(PlainMessage("mma_in_branch", {1}, {32}, x_.get()), HasSubstr("divergent mma.sync"));
}

// A launch that failed leaves nothing behind.
TEST_F(Faults, TheNextLaunchIsFine) {
  PlainMessage("barrier_in_branch", {1}, {64}, x_.get());
  Kernels kernels("threads", Where::kPlain);
  Buffer<int> out(64);
  ASSERT_TRUE(kernels.Run("write_indices", {1}, {64}, out.get()).ok());
  EXPECT_EQ(out[63], 63);
}

// The file is deleted after loading, as packages load their code. With no help of the system (which shows mapped files
// only to the privileged), the bytes that FindKernel was given have the lines.
TEST_F(Faults, LinesOfObjectsWithoutFile) {
  const std::string path = testing::TempDir() + "/cuda_device_faults_copy.so";
  std::stringstream bytes;
  bytes << std::ifstream(std::string(TCC_KERNEL_OBJECTS) + "/faults.checked.so", std::ios::binary).rdbuf();
  std::ofstream(path, std::ios::binary) << bytes.str();
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  std::remove(path.c_str());
  float* null = nullptr;
  void* params[] = {&null};
  for (const bool given : {true, false}) {
    absl::StatusOr<Kernel> kernel =
        FindKernel(handle, "null_pointer", given ? std::make_shared<const std::string>(bytes.str()) : nullptr);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const std::string message(Launch(*kernel, {1}, {32}, 0, params).message());
    const std::string line = absl::StrCat("faults.cu:", LineOf("faults", "null_pointer"));
    EXPECT_THAT(message, given ? testing::Matcher<std::string>(HasSubstr(line))
                               : testing::AnyOf(HasSubstr(line), HasSubstr("offset 0x")));
  }
  dlclose(handle);
}

TEST_F(Faults, WhatNoDeviceTakes) {
  const auto code = [&](Dim grid, Dim block, size_t shared) {
    return checked_.RunWith("null_pointer", grid, block, shared, LaunchOptions(), x_.get()).code();
  };
  EXPECT_EQ(code({1}, {1025}, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {64, 64}, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1, 65536}, {32}, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0}, {32}, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {32}, size_t{256} << 10), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(checked_.Run("no_such_kernel", {1}, {32}, x_.get()).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tcc::sim
