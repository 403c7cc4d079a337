// Calls of cuDNN in place of kernels, with one that computes on the host (fake_cudnn.cpp).
#include <stdlib.h>

#include "runtime/devices/extern/conv_descriptor.h"
#include "runtime/devices/extern/cudnn.h"
#include "runtime/devices/extern/library_call.h"
#include "tests/devices/device_test.h"
#include "tests/devices/operands_on_sim.h"

namespace tcc::devices {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Axis = ConvDescriptor::Axis;

class ConvCallTest : public ::testing::Test {
 protected:
  ConvCallTest() { ::setenv("TCC_CUDNN_SIM", TCC_FAKE_CUDNN, 1); }
  ~ConvCallTest() override {
    for (const char* name : {"TCC_CUDNN_SIM", "FAKE_CUDNN_FAIL", "FAKE_CUDNN_NOTE"}) ::unsetenv(name);
  }
};

// Row-major, with the channels first or last.
std::vector<int64_t> Strides(const std::vector<int64_t>& extents, bool last) {
  std::vector<int64_t> strides(extents.size());
  int64_t step = 1;
  if (last) {
    strides[1] = step;
    step *= extents[1];
  }
  for (size_t i = extents.size(); i-- > 0;) {
    if (last && i == 1) continue;
    strides[i] = step;
    step *= extents[i];
  }
  return strides;
}

// With a workspace, 4 channels a group in, 3 out.
ConvDescriptor Convolution(std::vector<Axis> axes, bool last, int64_t groups = 1, DType element = DType::kF32) {
  ConvDescriptor d;
  d.element = element;
  d.images = 2;
  d.groups = groups;
  d.inputs = 4 * groups;
  d.outputs = 3 * groups;
  for (Axis& axis : axes) {
    axis.out = (axis.in + axis.before + axis.after - (axis.kernel - 1) * axis.dilation - 1) / axis.stride + 1;
  }
  d.axes = std::move(axes);
  d.x = {0, 8, Strides(d.x_extents(), last)};
  d.w = {1, 0, Strides(d.w_extents(), last)};
  d.y = {2, 4, Strides(d.y_extents(), last)};
  d.workspace = 5;
  d.workspace_bytes = 1024;
  return d;
}
const std::vector<Axis> kPlane = {{.in = 6, .kernel = 3, .before = 1, .after = 1}, {.in = 5, .kernel = 2}};

double At(const Tensor& tensor, const ConvDescriptor::View& view, const std::vector<int64_t>& place) {
  int64_t at = view.start;
  for (size_t i = 0; i < place.size(); ++i) at += place[i] * view.strides[i];
  return LoadDouble(tensor.data(), tensor.dtype(), at);
}

// The next place within the extents; false behind the last one.
bool Next(const std::vector<int64_t>& extents, std::vector<int64_t>& place) {
  for (size_t i = extents.size(); i-- > 0;) {
    if (++place[i] < extents[i]) return true;
    place[i] = 0;
  }
  return false;
}

// Runs the call on the simulated device, twice; the first difference, or the error.
std::string Check(const ConvDescriptor& d) {
  OperandsOnSim operands(d.element);
  if (std::string error = operands.Run(ToBytes(d), 2); !error.empty()) return error;
  const std::vector<int64_t> ys = d.y_extents(), ws = d.w_extents();
  std::vector<int64_t> out(ys.size(), 0);
  do {
    double sum = 0;
    std::vector<int64_t> tap(ws.size() - 1, 0);
    const std::vector<int64_t> taps(ws.begin() + 1, ws.end());
    do {
      std::vector<int64_t> from = {out[0], out[1] / (d.outputs / d.groups) * ws[1] + tap[0]}, weight = {out[1]};
      weight.insert(weight.end(), tap.begin(), tap.end());
      bool inside = true;
      for (size_t i = 0; i < d.axes.size(); ++i) {
        const Axis& axis = d.axes[i];
        from.push_back(out[i + 2] * axis.stride + tap[i + 1] * axis.dilation - axis.before);
        inside &= from.back() >= 0 && from.back() < axis.in;
      }
      if (inside) sum += At(operands.host[0], d.x, from) * At(operands.host[1], d.w, weight);
    } while (Next(taps, tap));
    if (d.addend.parameter >= 0) sum += At(operands.host[4], d.addend, out);
    if (d.bias >= 0) sum += LoadDouble(operands.host[3].data(), d.element, out[1]);
    if (d.relu) sum = std::max(sum, 0.0);
    const double got = At(operands.result, d.y, out);
    if (std::abs(got - sum) > 0.02 * std::max(1.0, std::abs(sum))) {
      return absl::StrCat("one of channel ", out[1], " is ", got, ", not ", sum);
    }
  } while (Next(ys, out));
  return "";
}

TEST_F(ConvCallTest, AxesGroupsAndTypes) {
  const std::vector<Axis> line = {{.in = 11, .kernel = 3, .stride = 2, .before = 1, .after = 1}};
  const std::vector<Axis> dilated = {{.in = 9, .kernel = 3, .stride = 2, .dilation = 2, .before = 2, .after = 1},
                                     {.in = 7, .kernel = 1, .stride = 3}};
  const std::vector<Axis> space = {{.in = 3, .kernel = 2}, {.in = 4, .kernel = 3, .before = 1}, {.in = 5, .kernel = 1}};
  for (const bool last : {false, true}) {
    for (const auto& axes : {line, kPlane, dilated, space}) {
      for (const int64_t groups : {1, 3}) {
        EXPECT_EQ(Check(Convolution(axes, last, groups)), "") << axes.size() << " axes, " << groups << last;
      }
    }
  }
  for (const DType element : {DType::kF16, DType::kBF16}) {
    EXPECT_EQ(Check(Convolution(kPlane, true, 1, element)), "") << DTypeName(element);
  }
}

TEST_F(ConvCallTest, WhatFollows) {
  for (const bool last : {false, true}) {
    for (const bool adds : {false, true}) {
      for (const bool biased : {false, true}) {
        for (const bool relu : {false, true}) {
          ConvDescriptor d = Convolution(kPlane, last, 1, DType::kF16);
          if (adds) d.addend = {4, 16, d.y.strides};
          if (biased) d.bias = 3;
          d.relu = relu;
          EXPECT_EQ(Check(d), "") << last << adds << biased << relu;
        }
      }
    }
  }
  // Along one axis; where operands start at no multiple of 16 bytes, another way is found.
  ConvDescriptor line = Convolution({{.in = 11, .kernel = 3}}, true);
  line.addend = {4, 1, line.y.strides};
  line.bias = 3;
  EXPECT_EQ(Check(line), "");
}

// Engines that compute otherwise than kernels do are not taken, nor those that want more memory than there is.
TEST_F(ConvCallTest, EnginesThatWillDo) {
  ConvDescriptor d = Convolution(kPlane, true);
  d.workspace_bytes = 100;
  EXPECT_THAT(Check(d), AllOf(HasSubstr("find a way"), HasSubstr("NOT_SUPPORTED (3000)")));
  d.workspace_bytes = 1024;
  const auto taken = [&](int note) {
    ::setenv("FAKE_CUDNN_NOTE", std::to_string(note).c_str(), 1);
    return Check(d).empty();
  };
  for (const int note : {cudnn::kNoteReducedSums, cudnn::kNoteFft, cudnn::kNoteNondeterministic, cudnn::kNoteWinograd,
                         cudnn::kNoteTensorCore, cudnn::kNoteDownConvert}) {
    EXPECT_FALSE(taken(note)) << note;
  }
  EXPECT_TRUE(taken(9));
  d.tf32 = true;
  EXPECT_TRUE(taken(cudnn::kNoteTensorCore));
  EXPECT_FALSE(taken(cudnn::kNoteWinograd));
  d = Convolution(kPlane, true, 1, DType::kF16);
  EXPECT_TRUE(taken(cudnn::kNoteTensorCore));
}

TEST_F(ConvCallTest, StatusCodesAreErrors) {
  const ConvDescriptor d = Convolution(kPlane, false);
  const auto with = [&](const char* fault) {
    ::setenv("FAKE_CUDNN_FAIL", fault, 1);
    return Check(d);
  };
  EXPECT_THAT(with("execute:5000"), AllOf(HasSubstr("product"), HasSubstr("cuDNN 9.26.0: cannot compute"),
                                          HasSubstr("EXECUTION_FAILED (5000)")));
  EXPECT_THAT(with("heuristic:3000"), HasSubstr("find a way to do it"));
  EXPECT_THAT(with("none:1"), HasSubstr("(3000)"));
  EXPECT_THAT(with("plan:3001"), HasSubstr("find a way to do it"));
  EXPECT_THAT(with("graph:3000"), HasSubstr("describe the convolution"));
  EXPECT_THAT(with("create:1001"), HasSubstr("cannot start"));
}

TEST_F(ConvCallTest, WhichLibrary) {
  using cudnn::Library;
  const auto missing = Library::Load("/nowhere/libcudnn.so.9");
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()),
              AllOf(HasSubstr("no cuDNN"), HasSubstr("/nowhere/libcudnn.so.9"), HasSubstr("TCC_CUDNN")));
  EXPECT_THAT(std::string(Library::Load(TCC_FAKE_CUDNN_OLD).status().message()), HasSubstr("says version 8907"));
  EXPECT_THAT(std::string(Library::Load(TCC_FAKE_CUBLASLT).status().message()), HasSubstr("is no cuDNN"));
  EXPECT_EQ(LibraryVersion(kCudnn, Kind::kCudaSim).value_or(""), "cuDNN 9.26.0");
  ::unsetenv("TCC_CUDNN_SIM");
  EXPECT_THAT(std::string(LibraryVersion(kCudnn, Kind::kCudaSim).status().message()),
              HasSubstr("none for the simulated device"));
}

// A kernel with a call beside it: the call where the library is there and knows how, else the kernel.
TEST_F(ConvCallTest, KernelsAreThereWhereTheLibraryIsNot) {
  const auto device = MakeSimDevice();
  const std::string call = ToBytes(Convolution(kPlane, true)), kernel = ReadFile(TCC_TEST_KERNELS);
  KernelImageView image;
  image.symbol = "add";
  image.source = "// ...";
  image.binaries = {{"cudnn", call}, {"sim", kernel}};
  EXPECT_EQ(ChooseBinary(*device, image).value_or(""), call);
  const auto loads = [&] { return LoadedImages::Load(device, {image}, {"add"}, nullptr).status(); };
  EXPECT_EQ(loads(), absl::OkStatus());
  ::setenv("FAKE_CUDNN_FAIL", "plan:3000", 1);
  EXPECT_EQ(loads(), absl::OkStatus());
  ::unsetenv("TCC_CUDNN_SIM");
  EXPECT_TRUE(ChooseBinary(*device, image).value_or("") == kernel);
  EXPECT_EQ(loads(), absl::OkStatus());
}

// The CUDA device takes calls, also while a graph is captured (its driver here computes on the host).
TEST_F(ConvCallTest, OnACudaDevice) {
  ::setenv("TCC_CUDNN", TCC_FAKE_CUDNN, 1);
  ::setenv("FAKE_CUDNN_SHIFT", std::to_string(int64_t{1} << 52).c_str(), 1);
  const auto device = Make("fake-cuda");
  ASSERT_NE(device, nullptr);
  EXPECT_GT(device->Suits("cudnn"), device->Suits("sm_80"));
  StreamHandle* const stream = *device->CreateStream();
  ConvDescriptor d = Convolution({{.in = 1, .kernel = 1}}, true);
  d.x.start = d.y.start = 0;
  d.images = 1;
  d.workspace = 3;
  const auto module = device->LoadModule(ToBytes(d), "conv");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<float> host(256, 0.5F);
  std::vector<void*> memory, params;
  for (int i = 0; i < 4; ++i) {
    memory.push_back(*device->Allocate(1024));
    EXPECT_TRUE(device->CopyToDevice(memory.back(), host.data(), 1024, stream).ok());
  }
  for (void*& place : memory) params.push_back(&place);
  EXPECT_EQ(device->Launch(*device->Function(*module, "any"), {}, absl::MakeSpan(params), stream), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(
      device->Launch(*device->Function(*module, "any"), {}, absl::MakeSpan(params).subspan(0, 3), stream)));
  EXPECT_TRUE(device->CopyToHost(host.data(), memory[2], 1024, stream).ok());
  EXPECT_TRUE(device->Synchronize(stream).ok());
  EXPECT_EQ(host[0], 4 * 0.25F);
  EXPECT_EQ(host[2], 4 * 0.25F);
  EXPECT_EQ(host[3], 0.5F);
  for (void* place : memory) device->Free(place, 1024);
  device->UnloadModule(*module);
  device->DestroyStream(stream);
  ::unsetenv("TCC_CUDNN");
  ::unsetenv("FAKE_CUDNN_SHIFT");
}

TEST(ConvDescriptorTest, BytesAndBack) {
  ConvDescriptor d = Convolution(kPlane, true, 3, DType::kBF16);
  d.addend = {4, 1, d.y.strides};
  d.bias = 9;
  d.relu = true;
  const std::string bytes = ToBytes(d);
  EXPECT_EQ(LibraryOf(bytes), kCudnn);
  const auto back = ConvDescriptorFrom(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, d);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"\"images\":2", "\"images\":0"},
                                                                                 {"\"groups\":3", "\"groups\":5"},
                                                                                 {"\"groups\":3", "\"groups\":0"},
                                                                                 {"\"stride\":1", "\"stride\":0"},
                                                                                 {"\"stride\":1", "\"stride\":2"},
                                                                                 {"\"kernel\":3", "\"kernel\":99"},
                                                                                 {"\"bias\":9", "\"bias\":1024"},
                                                                                 {"\"axes\":[", "\"axes\":[{},"},
                                                                                 {"\"strides\":[", "\"strides\":[1,"},
                                                                                 {"bf16", "f64"},
                                                                                 {"conv", "gemm"},
                                                                                 {"}", ""}}) {
    std::string damaged = bytes;
    ASSERT_NE(damaged.find(from), std::string::npos) << from << bytes;
    damaged.replace(damaged.find(from), from.size(), to);
    EXPECT_FALSE(ConvDescriptorFrom(damaged).ok()) << damaged;
  }
}

}  // namespace
}  // namespace tcc::devices
