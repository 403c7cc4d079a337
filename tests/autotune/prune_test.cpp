// What the assembler's report says against a candidate.
#include "compiler/autotune/Prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tcc::compiler {
namespace {

using ::testing::HasSubstr;

std::string Prune(const codegen::ImageResources& image, LaunchFigures launch, const std::string& arch = "sm_90a") {
  launch.symbol = "kernel";
  return pruneByResources({launch}, {image}, arch, /*multiprocessors=*/100);
}

TEST(Prune, ByTheAssemblersReport) {
  EXPECT_EQ(Prune({"kernel", "sm_90a", 128, 0, 0}, {"", 1000, 256, 64 << 10}), "");
  EXPECT_THAT(Prune({"kernel", "sm_90a", 128, 24, 0}, {"", 1000, 256, 64 << 10}), HasSubstr("spills 24 bytes"));
  // 1024 threads of 96 registers are more than a multiprocessor has.
  EXPECT_THAT(Prune({"kernel", "sm_90a", 96, 0, 0}, {"", 1000, 1024, 0}), HasSubstr("not enough registers"));
  EXPECT_THAT(Prune({"kernel", "sm_80", 64, 0, 0}, {"", 1000, 128, 200 << 10}, "sm_80"),
              HasSubstr("not enough shared memory"));
  // Two warps alone on a multiprocessor: only where there are no more.
  EXPECT_THAT(Prune({"kernel", "sm_90a", 64, 0, 0}, {"", 1000, 64, 200 << 10}), HasSubstr("2 of 64 warps"));
  EXPECT_EQ(Prune({"kernel", "sm_90a", 64, 0, 0}, {"", 50, 64, 200 << 10}), "");
}

TEST(Prune, OnlyByWhatIsKnown) {
  // Of another kernel, for another architecture, of a device without a report.
  EXPECT_EQ(Prune({"other", "sm_90a", 128, 24, 0}, {"", 1000, 256, 0}), "");
  EXPECT_EQ(Prune({"kernel", "sm_80", 128, 24, 0}, {"", 1000, 256, 0}), "");
  EXPECT_EQ(pruneByResources({{"kernel", 1000, 256, 0}}, {}, "sim", 8), "");
}

}  // namespace
}  // namespace tcc::compiler
