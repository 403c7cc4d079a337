#include "runtime/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using testing::ElementsAre;

std::string Write(const TempFolder& folder) {
  const std::string path = folder / "a.zip";
  AtomicFile file = *AtomicFile::Create(path);
  ZipWriter zip(file.file());
  EXPECT_TRUE(zip.Add("text.txt", "hello").ok());
  EXPECT_TRUE(zip.Add("empty", "", 1).ok());
  EXPECT_TRUE(zip.Add("folder/page", {{3, "abc"}, {8000, "end"}}, 9000, 4096).ok());
  EXPECT_TRUE(zip.Finish().ok());
  EXPECT_TRUE(file.Commit().ok());
  return path;
}

TEST(Zip, ReadsWhatItWrites) {
  const TempFolder folder;
  const auto file = *MappedFile::Open(Write(folder));
  const auto zip = ZipReader::Open(file->bytes());
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_THAT(zip->Names(), ElementsAre("empty", "folder/page", "text.txt"));
  EXPECT_EQ(*zip->CheckedBytes("text.txt"), "hello");
  EXPECT_EQ(*zip->CheckedBytes("empty"), "");
  const std::string_view page = *zip->CheckedBytes("folder/page");
  EXPECT_EQ((page.data() - file->bytes().data()) % 4096, 0);
  EXPECT_EQ((zip->Bytes("text.txt")->data() - file->bytes().data()) % 64, 0);
  EXPECT_EQ(page.size(), 9000u);
  EXPECT_EQ(page.substr(3, 3), "abc");
  EXPECT_EQ(page.substr(6, 1994), std::string(1994, '\0'));
  EXPECT_EQ(page.substr(8000, 3), "end");
  EXPECT_EQ(zip->Bytes("other").status().code(), absl::StatusCode::kNotFound);
}

TEST(Zip, OtherToolsReadIt) {
  const TempFolder folder;
  int error = 0;
  zip_t* zip = zip_open(Write(folder).c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &error);
  ASSERT_NE(zip, nullptr) << error;
  EXPECT_EQ(zip_get_num_entries(zip, 0), 3);
  zip_file_t* page = zip_fopen(zip, "folder/page", 0);
  ASSERT_NE(page, nullptr);
  std::string bytes(9000, '?');
  EXPECT_EQ(zip_fread(page, bytes.data(), bytes.size()), 9000);  // checks the CRC
  EXPECT_EQ(bytes.substr(8000, 3), "end");
  zip_fclose(page);
  zip_close(zip);
}

TEST(Zip, PiecesMustFit) {
  const TempFolder folder;
  AtomicFile file = *AtomicFile::Create(folder / "b.zip");
  ZipWriter zip(file.file());
  EXPECT_FALSE(zip.Add("x", {{0, "abc"}, {2, "d"}}, 10).ok());
  EXPECT_FALSE(zip.Add("x", {{8, "abc"}}, 10).ok());
}

TEST(Zip, Truncated) {
  const TempFolder folder;
  const std::string bytes = ReadFile(Write(folder));
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 100)
    EXPECT_FALSE(ZipReader::Open(std::string_view(bytes).substr(0, size)).ok()) << size;
  for (size_t size = bytes.size() - 300; size < bytes.size(); ++size) {
    EXPECT_FALSE(ZipReader::Open(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

// Every bit of the archive that is not data: an error, or the same entries.
TEST(Zip, FlippedBits) {
  const TempFolder folder;
  std::string bytes = ReadFile(Write(folder));
  int errors = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 1000 && i + 1000 < bytes.size()) continue;
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
      const auto zip = ZipReader::Open(bytes);
      errors += zip.ok() ? 0 : 1;
      if (zip.ok() && zip->Has("text.txt")) {
        const auto text = zip->CheckedBytes("text.txt");
        if (text.ok()) EXPECT_EQ(*text, "hello");
      }
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
    }
  }
  EXPECT_GT(errors, 500);
}

}  // namespace
}  // namespace tcc
