#include "runtime/devices/sim/checker.h"
namespace tcc::sim {
struct Checker::Impl {};
Checker::Checker(const Kernel&, const LaunchOptions&, uint64_t) {}
Checker::~Checker() = default;
void Checker::StartBlock(BlockRunner&) {}
void Checker::EndBlock() {}
void Checker::NewSharedVariable() {}
void Checker::Access(const SimThread&, const void*, size_t, unsigned, const void*) {}
void Checker::Barrier(const unsigned*, size_t) {}
void Checker::SyncWarp(unsigned) {}
void Checker::Fence(const SimThread&, bool) {}
}  // namespace tcc::sim
