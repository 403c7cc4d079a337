// Calls of cuBLASLt in place of kernels, with one that computes on the host (fake_cublaslt.cpp).
#include "runtime/devices/extern/library_call.h"

#include <stdlib.h>

#include "runtime/devices/extern/cublaslt.h"
#include "runtime/devices/extern/gemm_descriptor.h"
#include "runtime/dispatch.h"
#include "tests/devices/device_test.h"
#include "tests/devices/operands_on_sim.h"

namespace tcc::devices {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LibraryCallTest : public ::testing::Test {
 protected:
  LibraryCallTest() { ::setenv("TCC_CUBLASLT_SIM", TCC_FAKE_CUBLASLT, 1); }
  ~LibraryCallTest() override {
    ::unsetenv("TCC_CUBLASLT_SIM");
    ::unsetenv("FAKE_CUBLASLT_FAIL");
  }
};

GemmDescriptor Product(DType element = DType::kF32) {
  GemmDescriptor d;
  d.element = element;
  d.m = 3;
  d.n = 4;
  d.k = 5;
  d.a = {0, false, 0, 5, 0};
  d.b = {1, false, 0, 4, 0};
  d.c = {2, false, 0, 4, 0};
  return d;
}

double Element(const Tensor& tensor, const GemmDescriptor::Matrix& matrix, int64_t g, int64_t row, int64_t column) {
  const int64_t at = matrix.transposed ? column * matrix.pitch + row : row * matrix.pitch + column;
  return LoadDouble(tensor.data(), tensor.dtype(), matrix.start + g * matrix.batch_stride + at);
}

// Runs the call on the simulated device; the first difference, or the error.
std::string Check(const GemmDescriptor& d) {
  OperandsOnSim operands(d.element);
  if (std::string error = operands.Run(ToBytes(d)); !error.empty()) return error;
  for (int64_t g = 0; g < d.batch; ++g) {
    for (int64_t m = 0; m < d.m; ++m) {
      for (int64_t n = 0; n < d.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < d.k; ++k) {
          sum += Element(operands.host[0], d.a, g, m, k) * Element(operands.host[1], d.b, g, k, n);
        }
        if (d.addend.parameter >= 0) sum += Element(operands.host[4], d.addend, g, m, n);
        if (d.bias >= 0) sum += LoadDouble(operands.host[3].data(), d.element, n);
        if (d.relu) sum = std::max(sum, 0.0);
        const double got = Element(operands.result, d.c, g, m, n);
        if (std::abs(got - sum) > 0.02 * std::max(1.0, std::abs(sum))) {
          return absl::StrCat("(", g, ", ", m, ", ", n, ") is ", got, ", not ", sum);
        }
      }
    }
  }
  return "";
}

TEST_F(LibraryCallTest, Products) {
  for (const DType element : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        GemmDescriptor d = Product(element);
        if (ta) d.a = {0, true, 0, 3, 0};
        if (tb) d.b = {1, true, 0, 5, 0};
        EXPECT_EQ(Check(d), "") << DTypeName(element) << ta << tb;
      }
    }
  }
}

TEST_F(LibraryCallTest, BatchesPitchesAndEpilogues) {
  GemmDescriptor d = Product();
  d.batch = 3;
  d.a = {0, false, 8, 9, 40};
  d.b = {1, true, 0, 6, 0};  // one for all
  d.c = {2, false, 4, 7, 30};
  EXPECT_EQ(Check(d), "");
  d.bias = 3;
  EXPECT_EQ(Check(d), "");
  d.relu = true;
  EXPECT_EQ(Check(d), "");
  d.bias = -1;
  EXPECT_EQ(Check(d), "");
  d.addend = {4, false, 2, 9, 50};
  EXPECT_EQ(Check(d), "");
  d.bias = 3;
  d.workspace = 5;
  d.workspace_bytes = 512;
  EXPECT_EQ(Check(d), "");
  // Where the matrices start at no multiple of 16 bytes, another way is found.
  d.a.start = 1;
  d.c.start = 3;
  EXPECT_EQ(Check(d), "");
}

TEST_F(LibraryCallTest, StatusCodesAreErrors) {
  ::setenv("FAKE_CUBLASLT_FAIL", "matmul:13", 1);
  EXPECT_THAT(Check(Product()), AllOf(HasSubstr("product"), HasSubstr("cuBLASLt 13.0: cannot compute"),
                                      HasSubstr("failed to launch"), HasSubstr("(13)")));
  ::setenv("FAKE_CUBLASLT_FAIL", "heuristic:15", 1);
  EXPECT_THAT(Check(Product()), AllOf(HasSubstr("find a way"), HasSubstr("not supported (15)")));
  ::setenv("FAKE_CUBLASLT_FAIL", "none:1", 1);
  EXPECT_THAT(Check(Product()), HasSubstr("not supported (15)"));
  ::setenv("FAKE_CUBLASLT_FAIL", "create:1", 1);
  EXPECT_THAT(Check(Product()), HasSubstr("cannot start"));
}

// A package that is damaged: parameters that the launch does not have, more than the buffers hold.
TEST_F(LibraryCallTest, WhatTheLaunchDoesNotGive) {
  GemmDescriptor d = Product();
  d.b.parameter = 6;
  EXPECT_THAT(Check(d), AllOf(HasSubstr("parameter 6 of a launch with 6"), HasSubstr("damaged")));
  d = Product();
  d.c.start = 5000;
  EXPECT_THAT(Check(d), AllOf(HasSubstr("of parameter 2, which has 16384"), HasSubstr("damaged")));
  d = Product();
  d.batch = int64_t{1} << 30;
  d.a.batch_stride = int64_t{1} << 39;
  d.c.batch_stride = int64_t{1} << 39;
  EXPECT_THAT(Check(d), HasSubstr("of parameter 0"));
  // More matrices than the library counts; results in each other.
  d.batch = (int64_t{1} << 32) + 1;
  EXPECT_FALSE(GemmDescriptorFrom(ToBytes(d)).ok());
  d = Product();
  d.batch = 2;
  d.c.batch_stride = (d.m - 1) * d.c.pitch + d.n;  // one behind the other
  EXPECT_TRUE(GemmDescriptorFrom(ToBytes(d)).ok());
  --d.c.batch_stride;
  EXPECT_FALSE(GemmDescriptorFrom(ToBytes(d)).ok());
  d.c.batch_stride = d.n;  // row by row
  d.c.pitch = 2 * d.n;
  EXPECT_TRUE(GemmDescriptorFrom(ToBytes(d)).ok());
  --d.c.pitch;
  EXPECT_FALSE(GemmDescriptorFrom(ToBytes(d)).ok());
}

TEST_F(LibraryCallTest, WhichLibrary) {
  using cublaslt::Library;
  const auto missing = Library::Load("/nowhere/libcublasLt.so.13");
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()),
              AllOf(HasSubstr("no cuBLASLt"), HasSubstr("/nowhere/libcublasLt.so.13"), HasSubstr("TCC_CUBLASLT")));
  const auto old = Library::Load(TCC_FAKE_CUBLASLT_OLD);
  EXPECT_THAT(std::string(old.status().message()),
              AllOf(HasSubstr("too old"), HasSubstr("is 11.5"), HasSubstr("needs 12.0")));
  const auto partial = Library::Load(TCC_FAKE_CUBLASLT_PARTIAL);
  EXPECT_THAT(std::string(partial.status().message()), HasSubstr("has no function cublasLtCreate"));
  const auto other = Library::Load(TCC_FAKE_CUDA_DRIVER);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("is no cuBLASLt"));
  // One that is installed while the process runs.
  const TempFolder folder;
  EXPECT_TRUE(absl::IsNotFound(Library::Load(folder / "later.so").status()));
  WriteFile(folder / "later.so", ReadFile(TCC_FAKE_CUBLASLT));
  EXPECT_TRUE(Library::Load(folder / "later.so").ok());
  EXPECT_EQ(LibraryVersion(kCublasLt, Kind::kCudaSim).value_or(""), "cuBLASLt 13.0");
  ::unsetenv("TCC_CUBLASLT_SIM");
  EXPECT_THAT(std::string(LibraryVersion(kCublasLt, Kind::kCudaSim).status().message()),
              HasSubstr("none for the simulated device"));
}

// A kernel with a call beside it: the call where the library is there and knows how, else the kernel.
TEST_F(LibraryCallTest, KernelsAreThereWhereTheLibraryIsNot) {
  const auto device = MakeSimDevice();
  const std::string call = ToBytes(Product()), kernel = ReadFile(TCC_TEST_KERNELS);
  KernelImageView image;
  image.symbol = "add";
  image.source = "// ...";
  image.binaries = {{"cublaslt", call}, {"sim", kernel}};
  EXPECT_EQ(ChooseBinary(*device, image).value_or(""), call);
  const auto loads = [&] { return LoadedImages::Load(device, {image}, {"add"}, nullptr).status(); };
  EXPECT_EQ(loads(), absl::OkStatus());
  ::setenv("FAKE_CUBLASLT_FAIL", "heuristic:15", 1);
  EXPECT_EQ(loads(), absl::OkStatus());
  ::unsetenv("TCC_CUBLASLT_SIM");
  EXPECT_TRUE(ChooseBinary(*device, image).value_or("") == kernel);
  EXPECT_EQ(loads(), absl::OkStatus());
  // Without a kernel it is an error.
  image.binaries.erase("sim");
  EXPECT_TRUE(absl::IsFailedPrecondition(loads()));
  ::setenv("TCC_CUBLASLT_SIM", TCC_FAKE_CUBLASLT, 1);
  EXPECT_THAT(std::string(loads().message()), HasSubstr("not supported"));
}

// The CUDA device takes calls, too (its driver here computes on the host).
TEST_F(LibraryCallTest, OnACudaDevice) {
  ::setenv("TCC_CUBLASLT", TCC_FAKE_CUBLASLT, 1);
  ::setenv("FAKE_CUBLASLT_SHIFT", std::to_string(int64_t{1} << 52).c_str(), 1);
  const auto device = Make("fake-cuda");
  ASSERT_NE(device, nullptr);
  EXPECT_GT(device->Suits("cublaslt"), device->Suits("sm_80"));
  StreamHandle* const stream = *device->CreateStream();
  const auto module = device->LoadModule(ToBytes(Product()), "product");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<float> host(64, 0.5F);
  std::vector<void*> memory, params;
  for (int i = 0; i < 3; ++i) {
    memory.push_back(*device->Allocate(256));
    EXPECT_TRUE(device->CopyToDevice(memory.back(), host.data(), 256, stream).ok());
  }
  for (void*& place : memory) params.push_back(&place);
  EXPECT_EQ(device->Launch(*device->Function(*module, "any"), {}, absl::MakeSpan(params), stream), absl::OkStatus());
  EXPECT_TRUE(device->CopyToHost(host.data(), memory[2], 256, stream).ok());
  EXPECT_TRUE(device->Synchronize(stream).ok());
  EXPECT_EQ(host[0], 5 * 0.25F);
  EXPECT_EQ(host[11], 5 * 0.25F);
  EXPECT_EQ(host[12], 0.5F);
  for (void* place : memory) device->Free(place, 256);
  device->UnloadModule(*module);
  device->DestroyStream(stream);
  ::unsetenv("TCC_CUBLASLT");
  ::unsetenv("FAKE_CUBLASLT_SHIFT");
}

TEST(GemmDescriptorTest, BytesAndBack) {
  GemmDescriptor d = Product(DType::kBF16);
  d.batch = 7;
  d.a = {4, true, 5, 6, 7};
  d.c.batch_stride = 12;
  d.addend = {6, false, 1, 8, 9};
  d.workspace = 10;
  d.workspace_bytes = 99;
  d.bias = 9;
  d.relu = true;
  const std::string bytes = ToBytes(d);
  EXPECT_EQ(LibraryOf(bytes), kCublasLt);
  const auto back = GemmDescriptorFrom(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, d);
  EXPECT_EQ(LibraryOf("\177ELF"), "");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"m\":3", "\"m\":0"},
                                                        {"\"m\":3", "\"m\":99999999999999"},
                                                        {"\"n\":4", "\"n\":\"4\""},
                                                        {"\"pitch\":6", "\"pitch\":2"},
                                                        {"\"bias\":9", "\"bias\":-2"},
                                                        {"\"workspace\":10", "\"workspace\":-1"},
                                                        {"\"tf32\":false", "\"tf32\":true"},
                                                        {"bf16", "i32"},
                                                        {"gemm", "conv"},
                                                        {"}", ""}}) {
    std::string damaged = bytes;
    ASSERT_NE(damaged.find(from), std::string::npos) << from << bytes;
    damaged.replace(damaged.find(from), from.size(), to);
    EXPECT_FALSE(GemmDescriptorFrom(damaged).ok()) << damaged;
  }
}

}  // namespace
}  // namespace tcc::devices
