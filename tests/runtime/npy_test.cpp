#include "runtime/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/float_types.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using testing::HasSubstr;

// data/numpy.npz was written by numpy.savez_compressed.
TEST(Npz, ReadsWhatNumpyWrites) {
  const auto arrays = LoadNpz(TCC_TEST_DATA "/numpy.npz");
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  std::map<std::string, std::string> text;
  for (const auto& [name, tensor] : *arrays) {
    text[name] = DebugString(tensor, 8);
    EXPECT_TRUE(tensor.is_contiguous());
  }
  const std::map<std::string, std::string> expected = {{"f32", "f32[2,3] {0, 1, 2, 3, 4, 5}"},
                                                       {"big", "f64[2] {1.5, -2}"},
                                                       {"fortran", "i32[2,3,4] {0, 1, 2, 3, 4, 5, 6, 7, ...}"},
                                                       {"scalar", "i64[] {7}"},
                                                       {"empty", "u8[0,3] {}"},
                                                       {"flags", "bool[2] {1, 0}"},
                                                       {"half", "f16[2] {0.0999756, 65504}"},
                                                       {"brain", "bf16[2] {1.5, -3}"},
                                                       {"complex", "c64[1] {1+2i}"},
                                                       {"text", "string[2] {\"a\", \"bc\u00e9\U0001F600\"}"},
                                                       {"bytes", "string[2] {\"ab\", \"c\"}"},
                                                       {"big_text", "string[1] {\"xy\"}"}};
  EXPECT_EQ(text, expected);
  EXPECT_EQ((*arrays)[0].first, "f32");
}

TEST(Npy, RoundTripOfEachType) {
  for (int code = 1; code <= static_cast<int>(DType::kString); ++code) {
    const auto dtype = static_cast<DType>(code);
    for (const Dims& dims : {Dims{}, Dims{0}, Dims{5}, Dims{3, 1, 7}}) {
      Tensor tensor = *Tensor::Allocate(dtype, dims);
      if (dtype == DType::kString) {
        for (int64_t i = 0; i < tensor.num_elements(); ++i)
          tensor.data_as<std::string>()[i] = std::string(static_cast<size_t>(i), 'x');
      } else {
        for (size_t i = 0; i < tensor.bytes(); ++i) {
          tensor.data_as<uint8_t>()[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 2 : i * 37);
        }
      }
      const auto back = ReadNpy(*NpyBytes(tensor));
      ASSERT_TRUE(back.ok()) << DTypeName(dtype) << back.status();
      EXPECT_EQ(back->dims(), tensor.dims());
      const bool widened = IsPacked(dtype) || (IsFloat(dtype) && DTypeBits(dtype) == 8);
      if (!widened) EXPECT_EQ(back->dtype(), dtype);
      const std::string text = DebugString(tensor, 30), text_back = DebugString(*back, 30);
      EXPECT_EQ(text.substr(text.find('[')), text_back.substr(text_back.find('[')));
    }
  }
}

TEST(Npy, StridedTensorsAndBytesThatAreNoText) {
  const Tensor tensor = Tensor::Vector<int16_t>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(DebugString(*ReadNpy(*NpyBytes(tensor.View({3, 2}, {1, 3}, 0)))), "i16[3,2] {1, 4, 2, 5, 3, 6}");
  const Tensor raw = Tensor::Vector<std::string>({"\xff\xfe", "ok"});
  EXPECT_EQ(ReadNpy(*NpyBytes(raw))->data_as<std::string>()[0], "\xff\xfe");
  EXPECT_FALSE(NpyBytes(Tensor()).ok());
}

TEST(Npy, Files) {
  const TempFolder folder;
  const Tensor x = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(SaveNpy(folder / "x.npy", x).ok());
  EXPECT_EQ(DebugString(*LoadNpy(folder / "x.npy")), "f32[2] {1, 2}");
  ASSERT_TRUE(SaveNpz(folder / "x.npz", {{"b", x}, {"a/b", Tensor::Scalar<int64_t>(3)}}).ok());
  const NamedTensors arrays = *LoadNpz(folder / "x.npz");
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].first, "b");
  EXPECT_EQ(arrays[1].first, "a/b");
  EXPECT_EQ(DebugString(arrays[1].second), "i64[] {3}");
  EXPECT_FALSE(SaveNpz(folder / "y.npz", {{"a", x}, {"a", x}}).ok());
  EXPECT_FALSE(SaveNpy(folder.path(), x).ok());
  EXPECT_EQ(LoadNpz(folder / "none.npz").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadNpy(folder / "none.npy").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(LoadNpz(folder / "x.npy").ok());
}

TEST(Npy, NothingIsExecuted) {
  EXPECT_THAT(std::string(LoadNpy(TCC_TEST_DATA "/object.npy").status().message()),
              HasSubstr("pickles, which are not loaded"));
  EXPECT_THAT(std::string(LoadNpy(TCC_TEST_DATA "/struct.npy").status().message()), HasSubstr("structured types"));
}

std::string WithHeader(const std::string& header, const std::string& data) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

TEST(Npy, HostileHeaders) {
  ASSERT_TRUE(ReadNpy(WithHeader("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "1234")).ok());
  for (const char* header : {"",
                             "{",
                             "}",
                             "[]",
                             "{}",
                             "{'descr': '<f4'}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
                             "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
                             "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
                             "{'descr': '<V1', 'fortran_order': False, 'shape': (4,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                             "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,)}",
                             "{'descr': '<U99999999999999', 'fortran_order': False, 'shape': (1,)}",
                             "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
                             "{'descr: '<f4'}"}) {
    EXPECT_FALSE(ReadNpy(WithHeader(header, "1234")).ok()) << header;
  }
  EXPECT_FALSE(ReadNpy(WithHeader("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", "\xff\xff\xff\xff")).ok());
  EXPECT_EQ(
      ReadNpy(WithHeader("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\x07"))->data_as<uint8_t>()[0], 1);
}

TEST(Npy, TruncatedAndFlipped) {
  std::string good = *NpyBytes(Tensor::Vector<float>({1, 2, 3}));
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(ReadNpy(good.substr(0, size)).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      good[i] = static_cast<char>(good[i] ^ 1 << bit);
      (void)ReadNpy(good);  // an error or other numbers, never a crash
      good[i] = static_cast<char>(good[i] ^ 1 << bit);
    }
  }
}

TEST(Npz, TruncatedAndFlipped) {
  const TempFolder folder;
  const std::string good = ReadFile(TCC_TEST_DATA "/numpy.npz");
  const std::string path = folder / "bad.npz";
  for (size_t size = 0; size < good.size(); size += 13) {
    WriteFile(path, good.substr(0, size));
    EXPECT_FALSE(LoadNpz(path).ok()) << size;
  }
  std::string bad = good;
  int errors = 0;
  for (size_t i = 0; i < good.size(); i += 3) {
    bad[i] = static_cast<char>(good[i] ^ 1 << (i % 8));
    WriteFile(path, bad);
    errors += LoadNpz(path).ok() ? 0 : 1;
    bad[i] = good[i];
  }
  EXPECT_GT(errors, 300);
}

}  // namespace
}  // namespace tcc
