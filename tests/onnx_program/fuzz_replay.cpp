// Runs a fuzz target on given files and on some mutants of each, without libFuzzer: so that the targets build with
// everything else, and are known to take what they start from. usage: TARGET [--kinds N] [--mutants N] FILE...
// `--kinds`: each file N times, with one more byte in front that counts up.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned seed);

// What libFuzzer has for mutators to call: here a few bytes changed, or the end cut off.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  static std::mt19937 random(1);
  if (size == 0) return 0;
  if (random() % 4 == 0) return random() % size;
  for (int i = 0; i < 3; ++i) data[random() % size] = static_cast<uint8_t>(random());
  return std::min(size, max_size);
}

int main(int argc, char** argv) {
  int kinds = 0, mutants = 0, runs = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--kinds" || argument == "--mutants") && i + 1 < argc) {
      (argument == "--kinds" ? kinds : mutants) = std::atoi(argv[++i]);
      continue;
    }
    std::ifstream file(argument, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (!file || content.empty()) {
      std::fprintf(stderr, "cannot read %s\n", argument.c_str());
      return 1;
    }
    for (int kind = 0; kind < std::max(1, kinds); ++kind) {
      const std::string seed = kinds > 0 ? static_cast<char>(kind) + content : content;
      for (int mutant = 0; mutant <= mutants; ++mutant, ++runs) {
        std::string input = seed;
        if (mutant > 0) {
          const size_t room = seed.size() + 256;
          input.resize(room);
          auto* bytes = reinterpret_cast<uint8_t*>(input.data());
          input.resize(LLVMFuzzerCustomMutator != nullptr
                           ? LLVMFuzzerCustomMutator(bytes, seed.size(), room, static_cast<unsigned>(mutant))
                           : LLVMFuzzerMutate(bytes, seed.size(), room));
        }
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
      }
    }
  }
  std::printf("%d runs\n", runs);
  return runs > 0 ? 0 : 1;
}
