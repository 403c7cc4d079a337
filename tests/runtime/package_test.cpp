#include "runtime/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "runtime/cpu_features.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const float kOnes[4] = {1, 2, 3, 4};

std::string_view AsBytes(const float (&values)[4]) { return {reinterpret_cast<const char*>(values), sizeof(values)}; }

// y[n] = x[n] + c[n], compiled for n = 4, and y = x for any other n.
PackageBuilder Example() {
  PackageBuilder builder;
  builder.tcc_version = "0.1.0";
  builder.options = {{"mode", "default"}};
  builder.dumps = {{"0/kernels.mlir", "module {}"}};
  Specialisation add;
  add.target.arch = HostArch();
  add.target.features = HostCpuFeatures();
  add.signature.inputs = {{"x", DType::kF32, {Extent::Constant(4)}}};
  add.signature.outputs = {{"y", DType::kF32, {Extent::Constant(4)}}};
  add.plan.num_values = 3;
  add.plan.inputs = {0};
  add.plan.outputs = {2};
  add.plan.constants = {{1, DType::kF32, {4}, 64, 16}};
  add.plan.functions = {"add"};
  add.plan.body.instructions = {plan::Allocate{2, DType::kF32, {Operand::Imm(4)}},
                                plan::Launch{0, {0, 1, 2}, {}, Operand::Imm(4), 1, {}, "add"}};
  add.code = ReadFile(TCC_TEST_KERNELS_1);
  add.constants = {{64, AsBytes(kOnes)}};
  add.constants_bytes = 128;
  add.info = {{"kernels", "1"}};
  Specialisation identity;
  identity.target.arch = HostArch();
  identity.signature.symbols = {{"n", 0, 100, 1}};
  identity.signature.inputs = {{"x", DType::kF32, {Extent::Of(0)}}};
  identity.signature.outputs = {{"y", DType::kF32, {Extent()}}};
  identity.plan.num_values = 1;
  identity.plan.num_registers = 1;
  identity.plan.inputs = {0};
  identity.plan.outputs = {0};
  identity.plan.symbol_registers = {0};
  builder.specialisations = {add, identity};
  return builder;
}

absl::StatusOr<std::vector<float>> Call(const std::string& path, std::vector<float> x, const std::string& store = "") {
  auto package = Package::Open(path, {store});
  if (!package.ok()) return package.status();
  const Tensor input = Tensor::Wrap(x.data(), DType::kF32, {static_cast<int64_t>(x.size())});
  std::vector<int64_t> symbols;
  auto selected = (*package)->Select({input}, &symbols);
  if (!selected.ok()) return selected.status();
  auto plan = Package::Prepare(*package, *selected);
  if (!plan.ok()) return plan.status();
  package->reset();  // the plan keeps what it needs
  ExecutionContext context(*plan);
  auto outputs = context.Run({input}, symbols);
  if (!outputs.ok()) return outputs.status();
  const float* y = (*outputs)[0].data_as<float>();
  return std::vector<float>(y, y + x.size());
}

TEST(Package, RoundTrip) {
  const TempFolder folder;
  const std::string path = folder / "m.tcc";
  ASSERT_TRUE(Example().Write(path).ok());
  EXPECT_THAT(*Call(path, {10, 20, 30, 40}), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(*Call(path, {10, 20}), ElementsAre(10, 20));
  const auto package = *Package::Open(path);
  EXPECT_EQ(package->size(), 2);
  EXPECT_EQ(package->tcc_version(), "0.1.0");
  EXPECT_EQ(package->options().at("mode"), "default");
  EXPECT_EQ(package->info(0).at("kernels"), "1");
  EXPECT_EQ(package->target(0), Example().specialisations[0].target);
  EXPECT_EQ(package->signature(1).symbols, Example().specialisations[1].signature.symbols);
  EXPECT_THAT(package->DumpNames(), ElementsAre("0/kernels.mlir"));
  EXPECT_EQ(*package->Dump("0/kernels.mlir"), "module {}");
  EXPECT_TRUE(package->VerifyConstants().ok());
}

// Two specialisations with kernels for a device, one of which they share.
PackageBuilder DeviceExample() {
  PackageBuilder builder = Example();
  const KernelImage add = {"add_f32", "// add", {{"sm_90a", "cubin of add"}, {"compute_90", "ptx of add"}}};
  const KernelImage mul = {"mul_f32", "// mul", {{"sim", "object of mul"}}};
  builder.specialisations[0].images = {add, mul};
  builder.specialisations[1].images = {mul};
  return builder;
}

TEST(Package, KernelsForDevices) {
  const TempFolder folder;
  const std::string path = folder / "m.tcc";
  ASSERT_TRUE(DeviceExample().Write(path).ok());
  const auto package = Package::Open(path);
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_EQ((*package)->images(0).size(), 2u);
  ASSERT_EQ((*package)->images(1).size(), 1u);
  const KernelImageView& add = (*package)->images(0)[0];
  EXPECT_EQ(add.symbol, "add_f32");
  EXPECT_EQ(add.source, "// add");
  EXPECT_EQ(add.binaries.at("sm_90a"), "cubin of add");
  EXPECT_EQ(add.binaries.at("compute_90"), "ptx of add");
  const KernelImageView& shared = (*package)->images(1)[0];
  EXPECT_EQ(shared.binaries.at("sim"), "object of mul");
  EXPECT_EQ(shared.source.data(), (*package)->images(0)[1].source.data());
  // What `unzip -l` shows.
  const std::string bytes = ReadFile(path);
  const auto zip = *ZipReader::Open(bytes);
  std::vector<std::string> extensions;
  for (const std::string& name : zip.Names()) {
    if (name.rfind("code/", 0) == 0) extensions.push_back(name.substr(name.find('.')));
  }
  EXPECT_THAT(extensions,
              testing::UnorderedElementsAre(".so", ".cu", ".sm_90a.cubin", ".compute_90.ptx", ".cu", ".sim.so"));
}

TEST(Package, DamagedKernelsAreNoticed) {
  const TempFolder folder;
  ASSERT_TRUE(DeviceExample().Write(folder / "m.tcc").ok());
  std::string bytes = ReadFile(folder / "m.tcc");
  bytes[bytes.find("ptx of add")] = 'q';
  WriteFile(folder / "damaged.tcc", bytes);
  const auto package = Package::Open(folder / "damaged.tcc");
  EXPECT_EQ(package.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(package.status().message()), HasSubstr(".compute_90.ptx' is missing or corrupt"));
}

TEST(Package, KernelsMustHaveNames) {
  const TempFolder folder;
  PackageBuilder builder = DeviceExample();
  builder.specialisations[0].images[1].symbol = "add_f32";
  EXPECT_THAT(std::string(builder.Write(folder / "m.tcc").message()), HasSubstr("two kernels 'add_f32'"));
  builder = DeviceExample();
  builder.specialisations[0].images[0].binaries = {{"../x", ""}};
  EXPECT_THAT(std::string(builder.Write(folder / "m.tcc").message()), HasSubstr("is no architecture"));
}

// Packages for the host are readable by the tcc that came before.
TEST(Package, FormatIsTheLowestThatDoes) {
  const TempFolder folder;
  ASSERT_TRUE(Example().Write(folder / "host.tcc").ok());
  ASSERT_TRUE(DeviceExample().Write(folder / "device.tcc").ok());
  EXPECT_THAT(ReadFile(folder / "host.tcc"), HasSubstr("\"format\": [\n  1,\n  0\n ]"));
  EXPECT_THAT(ReadFile(folder / "device.tcc"), HasSubstr("\"format\": [\n  1,\n  1\n ]"));
}

TEST(Package, TheSameContentsAreTheSameBytes) {
  const TempFolder folder;
  ASSERT_TRUE(Example().Write(folder / "a.tcc").ok());
  ASSERT_TRUE(Example().Write(folder / "b.tcc").ok());
  EXPECT_EQ(ReadFile(folder / "a.tcc"), ReadFile(folder / "b.tcc"));
}

TEST(Package, SelectSaysWhyNothingFits) {
  const TempFolder folder;
  ASSERT_TRUE(Example().Write(folder / "m.tcc").ok());
  const absl::Status status = Call(folder / "m.tcc", std::vector<float>(101)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("axis 0 expected 4, got 101"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("axis 0 expected n from 0 to 100, got 101"));
}

TEST(Package, ConstantStore) {
  const TempFolder folder;
  const std::string store = folder / "store";
  ASSERT_TRUE(Example().Write(folder / "m.tcc", {store, 1}).ok());
  ASSERT_TRUE(Example().Write(folder / "n.tcc", {store, 1}).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(store), {}), 1);
  EXPECT_THAT(*Call(folder / "m.tcc", {10, 20, 30, 40}, store), ElementsAre(11, 22, 33, 44));
  const auto package = *Package::Open(folder / "m.tcc", {store});
  const std::string file = package->constants_file(0);
  EXPECT_TRUE(package->VerifyConstants().ok());
  EXPECT_EQ(package->constants_file(1), "");
  std::string bytes = ReadFile(file);
  bytes[70] ^= 1;
  WriteFile(file, bytes);
  EXPECT_FALSE((*Package::Open(folder / "m.tcc", {store}))->VerifyConstants().ok());
  WriteFile(file, bytes.substr(1));
  EXPECT_EQ(Package::Open(folder / "m.tcc", {store}).status().code(), absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove(file);
  EXPECT_EQ(Package::Open(folder / "m.tcc", {store}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(Package::Open(folder / "m.tcc").ok());
}

TEST(Package, OtherMachines) {
  const TempFolder folder;
  PackageBuilder builder = Example();
  builder.specialisations[0].target.features = {"avx2048"};
  builder.specialisations[1].target.arch = "pdp11";
  ASSERT_TRUE(builder.Write(folder / "m.tcc").ok());
  const std::string message(Call(folder / "m.tcc", {1, 2, 3, 4}).status().message());
  EXPECT_THAT(message, HasSubstr("made for a CPU with avx2048"));
  EXPECT_THAT(message, HasSubstr("made for pdp11"));
  EXPECT_FALSE(Package::Prepare(*Package::Open(folder / "m.tcc"), 0).ok());
}

// Writes the package again with a changed manifest, by other means than our writer.
absl::Status OpenWithManifest(const TempFolder& folder, const std::function<void(nlohmann::json&)>& change) {
  EXPECT_TRUE(Example().Write(folder / "m.tcc").ok());
  const std::string bytes = ReadFile(folder / "m.tcc");
  const ZipReader zip = *ZipReader::Open(bytes);
  AtomicFile file = *AtomicFile::Create(folder / "changed.tcc");
  ZipWriter writer(file.file());
  for (const std::string& name : zip.Names()) {
    std::string text(*zip.Bytes(name));
    if (name == "manifest.json") {
      nlohmann::json manifest = nlohmann::json::parse(text);
      change(manifest);
      text = manifest.dump();
    }
    EXPECT_TRUE(writer.Add(name, text).ok());
  }
  EXPECT_TRUE(writer.Finish().ok() && file.Commit().ok());
  return Package::Open(folder / "changed.tcc").status();
}

TEST(Package, Versions) {
  const TempFolder folder;
  EXPECT_TRUE(OpenWithManifest(folder, [](auto&) {}).ok());
  for (const auto& [major, minor] : {std::pair<int64_t, int64_t>{kPackageMajor + 1, 0},
                                     {kPackageMajor - 1, 0},
                                     {kPackageMajor, kPackageMinor + 1}}) {
    const absl::Status status = OpenWithManifest(folder, [&](auto& m) { m["format"] = {major, minor}; });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("compile the model again"));
  }
  EXPECT_FALSE(OpenWithManifest(folder, [](auto& m) { m["kernel_abi"] = 99; }).ok());
  EXPECT_TRUE(OpenWithManifest(folder, [](auto& m) { m["from_a_later_minor"] = 1; }).ok());
}

TEST(Package, HostileManifests) {
  const TempFolder folder;
  const auto bad = [&](const std::function<void(nlohmann::json&)>& change) {
    EXPECT_FALSE(OpenWithManifest(folder, change).ok());
  };
  bad([](auto& m) { m = nlohmann::json::array(); });
  bad([](auto& m) { m["format"] = "1.0"; });
  bad([](auto& m) { m.erase("specialisations"); });
  bad([](auto& m) { m["specialisations"] = nlohmann::json::array(); });
  bad([](auto& m) { m["options"] = 3; });
  bad([](auto& m) { m["specialisations"][0]["plan"]["entry"] = "../../etc/passwd"; });
  bad([](auto& m) { m["specialisations"][0]["plan"]["bytes"] = -1; });
  bad([](auto& m) { m["specialisations"][0]["code"]["entry"] = "plan/0.json"; });
  bad([](auto& m) { m["specialisations"][0]["constants"]["xxh128"] = "../../../../../etc/passwd"; });
  bad([](auto& m) { m["specialisations"][0]["constants"]["bytes"] = INT64_MAX; });
  bad([](auto& m) { m["specialisations"][0]["constants"]["stored"] = true; });
  bad([](auto& m) { m["specialisations"][0]["signature"]["inputs"][0]["dims"] = {"s0"}; });
  bad([](auto& m) { m["specialisations"][0]["signature"]["inputs"][0]["dims"] = {-4}; });
  bad([](auto& m) { m["specialisations"][0]["signature"]["inputs"][0]["dtype"] = "f33"; });
  bad([](auto& m) { m["specialisations"][1]["target"].erase("arch"); });
}

TEST(Package, PlanAndSignatureMustAgree) {
  const TempFolder folder;
  PackageBuilder builder = Example();
  builder.specialisations[0].signature.inputs.clear();
  ASSERT_TRUE(builder.Write(folder / "m.tcc").ok());
  EXPECT_FALSE((*Package::Open(folder / "m.tcc"))->ReadPlan(0).ok());
}

TEST(Package, TruncatedOrFlipped) {
  const TempFolder folder;
  ASSERT_TRUE(Example().Write(folder / "m.tcc").ok());
  const std::string good = ReadFile(folder / "m.tcc");
  const auto package = *Package::Open(folder / "m.tcc");
  const std::string path = folder / "bad.tcc";
  for (size_t size = 0; size < good.size(); size += 97) {
    WriteFile(path, good.substr(0, size));
    EXPECT_FALSE(Package::Open(path).ok()) << size;
  }
  int errors = 0, opened = 0;
  std::string bad = good;
  for (size_t i = 0; i < good.size(); i += 1 + (i * 7) % 13) {
    bad[i] = static_cast<char>(good[i] ^ 1 << (i % 8));
    WriteFile(path, bad);
    bad[i] = good[i];
    const auto changed = Package::Open(path);
    errors += changed.ok() ? 0 : 1;
    if (!changed.ok()) continue;
    ++opened;  // padding, or constants, which are verified on demand
    ASSERT_EQ((*changed)->size(), 2);
    EXPECT_EQ((*changed)->code(0), package->code(0)) << i;
    EXPECT_TRUE((*changed)->ReadPlan(0).ok() && (*changed)->ReadPlan(1).ok()) << i;
  }
  EXPECT_GT(errors, 500);
  EXPECT_GT(opened, 0);
}

TEST(Package, WritingFails) {
  const TempFolder folder;
  EXPECT_FALSE(Example().Write(folder.path()).ok());
  EXPECT_FALSE(Example().Write(folder / "missing/m.tcc").ok());
  PackageBuilder builder = Example();
  builder.specialisations[0].constants_bytes = 70;
  WriteFile(folder / "m.tcc", "old");
  EXPECT_FALSE(builder.Write(folder / "m.tcc").ok());
  EXPECT_EQ(ReadFile(folder / "m.tcc"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);  // no temporary left
  EXPECT_EQ(Package::Open(folder / "none.tcc").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(Package::Open(folder.path()).ok());
  EXPECT_FALSE(Package::Open(folder / "m.tcc").ok());
}

}  // namespace
}  // namespace tcc
