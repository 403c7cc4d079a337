#include "runtime/dlpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

// As DLPack's header has them.
struct DLTensor {
  void* data;
  struct {
    int32_t device_type, device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

namespace tcc {
namespace {

using testing::HasSubstr;

// A tensor of 2 x 3 floats, of another library.
struct Foreign {
  std::vector<float> data = {0, 1, 2, 3, 4, 5, 6};
  std::vector<int64_t> shape = {2, 3};
  std::vector<int64_t> strides = {1, 2};
  int deleted = 0;
  DLManagedTensor managed = {{data.data(), {1, 0}, 2, {2, 32, 1}, shape.data(), nullptr, 0},
                             this,
                             [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; }};
};

TEST(DLPack, InIsAViewWithTheDeleter) {
  Foreign foreign;
  {
    Tensor tensor = *FromDLPack(&foreign.managed);
    EXPECT_EQ(tensor.type().ToString(), "f32[2,3]");
    EXPECT_EQ(tensor.data(), foreign.data.data());
    const Tensor copy = tensor;
    tensor = Tensor();
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(DLPack, StridesAndOffset) {
  Foreign foreign;
  foreign.managed.dl_tensor.strides = foreign.strides.data();
  foreign.managed.dl_tensor.byte_offset = 4;
  const Tensor tensor = *FromDLPack(&foreign.managed);
  EXPECT_EQ(tensor.strides(), (Dims{1, 2}));
  EXPECT_EQ(*tensor.data_as<float>(), 1);
  const Tensor flat = *tensor.Contiguous();
  EXPECT_EQ(std::vector<float>(flat.data_as<float>(), flat.data_as<float>() + 6),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST(DLPack, WhatIsNotTaken) {
  const auto error = [](auto change) {
    Foreign foreign;
    change(foreign.managed.dl_tensor);
    const auto tensor = FromDLPack(&foreign.managed);
    EXPECT_EQ(tensor.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(foreign.deleted, 0);  // still the caller's
    return std::string(tensor.status().message());
  };
  EXPECT_THAT(error([](DLTensor& t) { t.device.device_type = 4; }), HasSubstr("device of type 4"));
  EXPECT_THAT(error([](DLTensor& t) {
                t.device.device_type = 2;
                t.device.device_id = -1;
              }),
              HasSubstr("device of type 2"));
  EXPECT_THAT(error([](DLTensor& t) { t.dtype.lanes = 4; }), HasSubstr("4 lanes"));
  EXPECT_THAT(error([](DLTensor& t) { t.dtype.code = 3; }), HasSubstr("code 3"));
  EXPECT_THAT(error([](DLTensor& t) { t.dtype.bits = 24; }), HasSubstr("24 bits"));
  EXPECT_THAT(error([](DLTensor& t) { t.ndim = -1; }), HasSubstr("rank"));
  EXPECT_THAT(error([](DLTensor& t) { t.shape[0] = -2; }), HasSubstr("negative"));
  EXPECT_THAT(error([](DLTensor& t) { t.data = nullptr; }), HasSubstr("no memory"));
  EXPECT_FALSE(FromDLPack(static_cast<DLManagedTensor*>(nullptr)).ok());
  DLManagedTensorVersioned future = {{2, 0}, nullptr, nullptr, 0, {}};
  EXPECT_THAT(std::string(FromDLPack(&future).status().message()), HasSubstr("version 2.0"));
}

TEST(DLPack, OutKeepsTheMemory) {
  DLManagedTensor* managed = nullptr;
  std::weak_ptr<void> memory;
  {
    const Tensor tensor = *Tensor::Allocate(DType::kI16, {3, 4});
    memory = tensor.storage();
    const Tensor view = tensor.View({2, 2}, {4, 2}, 1);
    managed = *ToDLPack(view);
    EXPECT_EQ(managed->dl_tensor.data, view.data());
  }
  EXPECT_FALSE(memory.expired());
  const DLTensor& t = managed->dl_tensor;
  EXPECT_EQ(t.device.device_type, 1);
  EXPECT_EQ(t.dtype.code, 0);
  EXPECT_EQ(t.dtype.bits, 16);
  EXPECT_EQ(t.dtype.lanes, 1);
  ASSERT_EQ(t.ndim, 2);
  EXPECT_EQ(t.shape[1], 2);
  EXPECT_EQ(t.strides[0], 4);
  EXPECT_EQ(t.byte_offset, 0u);
  managed->deleter(managed);
  EXPECT_TRUE(memory.expired());
}

TEST(DLPack, OnDevices) {
  int memory = 0;  // nobody looks at it
  const Tensor tensor = Tensor::Wrap(&memory, DType::kF16, {3, 4}, {}, nullptr, {DeviceType::kCuda, 1});
  DLManagedTensor* const managed = *ToDLPack(tensor);
  EXPECT_EQ(managed->dl_tensor.device.device_type, 2);
  EXPECT_EQ(managed->dl_tensor.device.device_id, 1);
  const Tensor back = *FromDLPack(managed);
  EXPECT_EQ(back.device(), tensor.device());
  EXPECT_EQ(back.data(), tensor.data());
  const Tensor simulated = Tensor::Wrap(&memory, DType::kF16, {3}, {}, nullptr, {DeviceType::kCudaSim, 0});
  EXPECT_EQ(ToDLPack(simulated).status().code(), absl::StatusCode::kInvalidArgument);
  // Nor are its values for the host.
  const Tensor values = Tensor::Wrap(&memory, DType::kI64, {3}, {}, nullptr, {DeviceType::kCuda, 1});
  EXPECT_EQ(ToInt64s(values).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DLPack, ThereAndBack) {
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64,
                            DType::kC64, DType::kC128}) {
    const Tensor tensor = *Tensor::Allocate(dtype, {5});
    const Tensor back = *FromDLPack(*ToDLPack(tensor));
    EXPECT_EQ(back.type(), tensor.type());
    EXPECT_EQ(back.data(), tensor.data());
    EXPECT_EQ(FromDLPack(*ToDLPackVersioned(tensor))->type(), tensor.type());
  }
  const Tensor scalar = Tensor::Scalar<float>(3);
  EXPECT_EQ(*FromDLPack(*ToDLPack(scalar))->data_as<float>(), 3);
  // Only in the newer version, and in none.
  const Tensor small = *Tensor::Allocate(DType::kF8E4M3FN, {2});
  EXPECT_FALSE(ToDLPack(small).ok());
  EXPECT_EQ(FromDLPack(*ToDLPackVersioned(small))->type(), small.type());
  EXPECT_FALSE(ToDLPackVersioned(*Tensor::Allocate(DType::kI4, {2})).ok());
  EXPECT_FALSE(ToDLPack(*Tensor::Allocate(DType::kString, {2})).ok());
  EXPECT_FALSE(ToDLPack(Tensor()).ok());
}

}  // namespace
}  // namespace tcc
