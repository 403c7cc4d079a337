//===- SearchSpace.cpp - what is measured of kernels around a template op -===//
#include "codegen/cuda/gemm/SearchSpace.h"

#include <algorithm>

#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/schedule/template/TileExpr.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

// Most promising candidates that are compiled and measured.
constexpr size_t kMostCandidates = 20;
constexpr unsigned kMostPartsOfATile = 2;

// m, n, depth (of 16-bit elements), stages; warps along m and n.
using enum GemmEngine;

const GemmTiles kHalf[] = {
    {Mma, 256, 128, 64, 3, 4, 2}, {Mma, 128, 256, 64, 3, 2, 4}, {Mma, 256, 128, 32, 3, 4, 2},
    {Mma, 128, 256, 32, 3, 2, 4}, {Mma, 128, 128, 32, 4, 2, 2}, {Mma, 128, 128, 32, 4, 2, 4},
    {Mma, 128, 128, 64, 3, 2, 2}, {Mma, 128, 128, 64, 3, 2, 4}, {Mma, 256, 64, 32, 4, 4, 1},
    {Mma, 64, 256, 32, 4, 1, 4},  {Mma, 128, 64, 32, 4, 2, 2},  {Mma, 128, 64, 64, 3, 2, 2},
    {Mma, 64, 128, 32, 4, 2, 2},  {Mma, 64, 128, 64, 3, 2, 2},  {Mma, 64, 64, 32, 5, 2, 2},
    {Mma, 64, 64, 64, 3, 2, 2},   {Mma, 64, 64, 64, 4, 2, 1},   {Mma, 128, 32, 64, 3, 4, 1},
    {Mma, 64, 32, 64, 4, 2, 1},   {Mma, 32, 128, 64, 3, 1, 4},  {Mma, 32, 64, 64, 4, 2, 2},
    {Mma, 32, 64, 64, 2, 1, 2},   {Mma, 16, 128, 64, 4, 1, 4},  {Mma, 16, 64, 64, 4, 1, 4},
};
// m, n, depth, stages; rows and columns of a thread.
const GemmTiles kSingle[] = {
    {Simt, 128, 128, 16, 3, 8, 8}, {Simt, 128, 128, 8, 4, 8, 8}, {Simt, 128, 64, 16, 3, 8, 8},
    {Simt, 128, 64, 16, 3, 8, 4},  {Simt, 64, 128, 16, 3, 4, 8}, {Simt, 64, 128, 16, 3, 8, 8},
    {Simt, 64, 64, 16, 4, 4, 8},   {Simt, 64, 64, 32, 3, 4, 4},  {Simt, 128, 32, 16, 3, 8, 4},
    {Simt, 32, 128, 16, 3, 4, 8},  {Simt, 32, 64, 32, 3, 4, 4},  {Simt, 32, 32, 32, 4, 4, 4},
    {Simt, 16, 128, 32, 3, 4, 4},  {Simt, 16, 64, 32, 3, 4, 4},
};
const GemmTiles kDouble[] = {
    {Simt, 64, 64, 8, 3, 4, 4},  {Simt, 64, 32, 16, 3, 4, 4}, {Simt, 32, 64, 16, 3, 4, 4},
    {Simt, 32, 32, 16, 3, 4, 4}, {Simt, 16, 32, 16, 3, 4, 4},
};

// m, n, depth, stages. Only candidates: they have been on no GPU.
const GemmTiles kWarpgroups[] = {
    {Wgmma, 128, 128, 64, 4}, {Wgmma, 128, 128, 64, 3}, {Wgmma, 64, 128, 64, 4},
    {Wgmma, 64, 128, 64, 6},  {Wgmma, 64, 64, 64, 4},   {Wgmma, 64, 64, 64, 6},
};

// Likewise.
const GemmTiles kByTma[] = {
    {Tma, 128, 256, 64, 4}, {Tma, 128, 256, 64, 3}, {Tma, 128, 128, 64, 6}, {Tma, 128, 128, 64, 4},
    {Tma, 128, 64, 64, 8},  {Tma, 64, 256, 64, 4},  {Tma, 64, 128, 64, 6},  {Tma, 64, 64, 64, 8},
};

GemmElements withEngine(GemmElements elements, const GemmTiles &tiles) {
  elements.engine = tiles.engine;
  return elements;
}

/// Why tiles cannot be launched on the device; empty: they can.
std::string misfit(const GemmTiles &tiles, const GemmElements &elements, const CudaDescription &device) {
  const int64_t shared = tiles.sharedBytes(elements), registers = tiles.registers(elements);
  if (shared > device.sharedPerBlockOptIn)
    return llvm::formatv("takes {0} bytes of shared memory, of {1}", shared, device.sharedPerBlockOptIn).str();
  // Sums of a thread; the rest is for fragments and addresses.
  constexpr int64_t kMostSums = 160;
  const int64_t sums = int64_t{tiles.m} * tiles.n / tiles.threads() * (elements.sumBytes / 4);
  if (sums > kMostSums || tiles.threads() > 1024 || registers * tiles.threads() > device.registersPerMultiprocessor)
    return llvm::formatv("takes {0} registers of a thread", registers).str();
  return {};
}

GemmChoice choiceOf(const GemmTiles &tiles, int splits, const GemmElements &elements, const CudaDescription &device) {
  return {tiles, splits, blocksBeside(device, tiles.threads(), tiles.registers(elements), tiles.sharedBytes(elements))};
}

} // namespace

std::vector<GemmTiles> tilesFor(const GemmElements &elements) {
  std::vector<GemmTiles> tiles;
  if (elements.tma)
    tiles.assign(std::begin(kByTma), std::end(kByTma));
  if (elements.wgmma)
    tiles.insert(tiles.end(), std::begin(kWarpgroups), std::end(kWarpgroups));
  if (elements.engine == Simt) {
    ArrayRef<GemmTiles> table = elements.bytes == 4 ? ArrayRef(kSingle) : ArrayRef(kDouble);
    tiles.insert(tiles.end(), table.begin(), table.end());
    return tiles;
  }
  for (GemmTiles one : kHalf) {
    // Lines of shared memory are as long for other elements.
    one.depth = static_cast<int>(one.depth * 2 / elements.bytes);
    tiles.push_back(one);
  }
  return tiles;
}

std::vector<int64_t> parametersOf(const GemmChoice &choice) {
  const GemmTiles &tiles = choice.tiles;
  return {static_cast<int64_t>(ChoiceKind::Product),
          static_cast<int64_t>(tiles.engine),
          tiles.m,
          tiles.n,
          tiles.depth,
          tiles.stages,
          tiles.a,
          tiles.b,
          choice.splits};
}

std::string describe(const GemmChoice &choice) {
  const GemmTiles &tiles = choice.tiles;
  std::string text =
      llvm::formatv("{0}x{1} tiles{2}, {3} of k in {4} stages, {5} threads, {6} blocks a multiprocessor", tiles.m,
                    tiles.n, nameOf(tiles.engine), tiles.depth, tiles.stages, tiles.threads(), choice.beside)
          .str();
  return choice.splits > 1 ? text + llvm::formatv(", k in {0} parts", choice.splits).str() : text;
}

std::vector<GemmChoice> productSpace(const GemmShape &shape, const GemmShape &here, const GemmElements &elements,
                                     const CudaDescription &device, std::vector<std::string> *pruned) {
  auto prune = [&](const GemmTiles &tiles, const std::string &why) {
    if (pruned)
      pruned->push_back(describe({tiles, 1, 1}) + ": " + why);
  };
  std::vector<std::pair<double, GemmChoice>> ranked;
  for (const GemmTiles &tiles : tilesFor(elements)) {
    const GemmElements mine = withEngine(elements, tiles);
    if (std::string why = misfit(tiles, mine, device); !why.empty()) {
      prune(tiles, why);
      continue;
    }
    // The smallest tiles are there for the smallest products.
    const bool isWide = tiles.m > 16 && here.m && *here.m * 4 <= tiles.m;
    const bool isLong = tiles.n > 64 && here.n && *here.n * 4 <= tiles.n;
    if (isWide || isLong) {
      prune(tiles, "would be empty for the most part");
      continue;
    }
    std::vector<std::pair<double, GemmChoice>> parts;
    for (int splits : kPartsOfK)
      if (canDivide(shape, tiles, splits)) {
        const GemmChoice choice = choiceOf(tiles, splits, mine, device);
        parts.push_back({predictCycles(choice, here, mine, device), choice});
      }
    llvm::stable_sort(parts, llvm::less_first());
    parts.resize(std::min<size_t>(parts.size(), kMostPartsOfATile));
    ranked.insert(ranked.end(), parts.begin(), parts.end());
  }
  llvm::stable_sort(ranked, llvm::less_first());
  std::vector<GemmChoice> choices;
  for (const auto &[cycles, choice] : ranked) {
    if (choices.size() < kMostCandidates)
      choices.push_back(choice);
    else if (pruned)
      pruned->push_back(describe(choice) + ": is not promising");
  }
  return choices;
}

std::optional<GemmChoice> measuredTiles(ir::KernelOp kernel, const GemmShape &shape, const GemmElements &elements,
                                        const CudaDescription &device) {
  std::vector<int64_t> numbers = getChoice(kernel, ChoiceKind::Product, 8);
  if (numbers.empty())
    return std::nullopt;
  for (const GemmTiles &tiles : tilesFor(elements))
    for (int splits : kPartsOfK)
      if (ArrayRef(parametersOf({tiles, splits, 1})).drop_front() == ArrayRef(numbers)) {
        const GemmElements mine = withEngine(elements, tiles);
        if (!misfit(tiles, mine, device).empty())
          return std::nullopt;
        return choiceOf(tiles, canDivide(shape, tiles, splits) ? splits : 1, mine, device);
      }
  return std::nullopt;
}

ScheduleSpace templateSpace(ir::KernelOp kernel, const CudaDescription &device, ArrayRef<int64_t> symbols,
                            const ScheduleOptions &options) {
  auto found = gemm::TemplateKernel::analyze(kernel);
  if (!found)
    return {};
  if (isa<ir::AttentionOp>(found->op))
    return attentionSpace(*found, device);
  // What the schedule itself makes of the kernel, without its constants, says which products it has.
  ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
  CudaBackendOptions sources;
  sources.sourcesOnly = true;
  CudaBackend backend(kernel.getContext(), device, sources);
  SmallVector<ElementsAttr> constants(kernel.getInputs().size());
  KernelBuilder builder(*found, constants, backend);
  if (failed(isa<ir::MatmulOp>(found->op) ? scheduleMatmul(builder, options) : scheduleConv(builder, options)) ||
      builder.products.empty())
    return {};
  const auto &[shape, extents, elements] = builder.products.front();
  auto here = [&, &extents = extents](int i) { return gemm::evaluate(extents[i], {}, symbols); };
  const GemmShape shapeHere{here(0), here(1), here(2), here(3)};
  ScheduleSpace space;
  const GemmChoice usual = chooseTiles(shape, elements, device);
  space.candidates.push_back({{}, "default"});
  // (Where the default is a call, it is not measured twice, and the kernel that stands beside it is, by itself.)
  if (isCall(builder.possibleCall) && !builder.hasCall)
    space.candidates.push_back({{static_cast<int64_t>(ChoiceKind::Library), libraryNumber(builder.possibleCall)},
                                std::string(libraryTitle(builder.possibleCall))});
  for (const GemmChoice &choice : productSpace(shape, shapeHere, elements, device, &space.pruned))
    if (builder.hasCall || parametersOf(choice) != parametersOf(usual))
      space.candidates.push_back({parametersOf(choice), describe(choice)});
  return space;
}

} // namespace tcc::codegen::cuda
