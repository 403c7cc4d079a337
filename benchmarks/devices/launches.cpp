// What the executor costs for each launch on a device: plans of many launches on the device that runs nothing, each
// with three buffers and two scalars, with extents that are symbols. Prints nanoseconds a launch, the median of rounds.
// usage: bench_launches [LAUNCHES [ROUNDS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/devices/null_device.h"
#include "runtime/executor.h"

namespace {

using tcc::Operand;
namespace plan = tcc::plan;

// A chain of launches, each between two slots, from an input to an output.
tcc::Plan Chain(int launches) {
  tcc::Plan chain;
  chain.num_values = launches + 3;
  chain.num_registers = 3;
  chain.inputs = {0};
  chain.outputs = {launches + 2};
  chain.symbol_registers = {0};
  chain.slot_bytes = {Operand::Reg(1), Operand::Reg(1)};
  chain.functions = {"kernel"};
  const Operand n = Operand::Reg(0);
  auto& code = chain.body.instructions;
  code.push_back(plan::Compute{1, tcc::IntOp::kMul, n, Operand::Imm(4)});
  code.push_back(plan::Compute{2, tcc::IntOp::kCeilDiv, n, Operand::Imm(128)});
  code.push_back(plan::Transfer{1, 0, tcc::Space::kDevice});
  for (int i = 0; i < launches; ++i) {
    const bool last = i + 1 == launches;
    code.push_back(plan::Allocate{
        i + 2, tcc::DType::kF32, {n}, last ? plan::kFreshSlot : i % 2, 0, tcc::kNoValue, tcc::Space::kDevice});
    plan::DeviceLaunch launch;
    launch.function = 0;
    launch.buffers = {i + 2, i + 1, 1};
    launch.scalars = {n, Operand::Imm(3)};
    launch.grid = {Operand::Reg(2), Operand::Imm(1), Operand::Imm(1)};
    launch.block = {128, 1, 1};
    launch.name = "kernel";
    code.push_back(launch);
  }
  code.push_back(plan::Transfer{launches + 2, launches + 1, tcc::Space::kHost});
  return chain;
}

double NanosecondsPerLaunch(tcc::ExecutionContext& context, int launches, int rounds) {
  const tcc::Tensor input = *tcc::Tensor::Allocate(tcc::DType::kF32, {256});
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto outputs = context.Run({input}, {256});
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    if (!outputs.ok()) {
      std::fprintf(stderr, "%s\n", std::string(outputs.status().message()).c_str());
      std::exit(1);
    }
    if (i >= 2) times.push_back(took.count() / launches);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
  if (launches < 1 || rounds < 3) {
    std::fprintf(stderr, "usage: bench_launches [LAUNCHES [ROUNDS]]\n");
    return 2;
  }
  tcc::PreparedPlan::Options options;
  options.device = tcc::devices::MakeNullDevice();
  tcc::KernelImageView image;
  image.symbol = "kernel";
  options.images = {image};
  const auto prepared = tcc::PreparedPlan::Create(Chain(launches), nullptr, {}, nullptr, options);
  if (!prepared.ok()) {
    std::fprintf(stderr, "%s\n", std::string(prepared.status().message()).c_str());
    return 1;
  }
  std::printf("%d launches a call, ns a launch:\n", launches);
  tcc::ExecutionContext interpreted(*prepared), recorded(*prepared, nullptr, 1), graphs(*prepared, nullptr, 1);
  std::printf("  default          %8.1f\n", NanosecondsPerLaunch(interpreted, launches, rounds));
  // A graph that cannot be made: the launches are started one by one.
  options.device->Inject(tcc::devices::Fault::kGraph);
  std::printf("  recorded         %8.1f\n", NanosecondsPerLaunch(recorded, launches, rounds));
  std::printf("  recorded, graphs %8.1f\n", NanosecondsPerLaunch(graphs, launches, rounds));
  return 0;
}
