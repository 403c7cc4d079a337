// Times generated kernels on one core: bench_kernels [--cpu=NAME] [MxNxK | conv:H,W,C,O,KERNEL,STRIDE,GROUPS[,nchw] |
// attention:B,H,S,T,D]... Prints GFLOP/s and the share of the core's measured peak. B and the convolution's weights are
// constants.
#include <time.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/kernels/peak.h"
#include "tests/codegen_gemm/harness.h"

namespace {

using tcc::codegen::testing::Case;
using tcc::codegen::testing::Runner;

struct Job {
  std::string name;
  Case test;
  double flops;
};

std::string Wrap(const std::string& inputs, const std::string& arguments, const std::string& types,
                 const std::string& result, const std::string& body) {
  return "func.func @f(" + inputs + ") -> " + result + " attributes {tcc.symbols = []} {\n  %y = tcc.kernel(" +
         arguments + ") [\"bench\"] : (" + types + ") -> " + result + " {\n" + body + "    tcc.yield %r : " + result +
         "\n  }\n  return %y : " + result + "\n}\n";
}

std::string Tensor(const std::vector<int64_t>& dims) {
  std::string type = "tensor<";
  for (int64_t d : dims) type += std::to_string(d) + "x";
  return type + "f32>";
}

Job Matmul(int64_t m, int64_t n, int64_t k, bool dynamic) {
  std::string a = Tensor({m, k}), b = Tensor({k, n}), c = Tensor({m, n});
  std::string body =
      "  ^bb0(%a: " + a + ", %b: " + b + "):\n    %r = tcc.matmul %a, %b : (" + a + ", " + b + ") -> " + c + "\n";
  Case test;
  test.text = Wrap("%x: " + a + ", %w: " + b, "%x, %w", a + ", " + b, c, body);
  if (!dynamic) test.constants = {1};
  return {"matmul " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
              (dynamic ? " B packed at run time" : ""),
          test, 2.0 * m * n * k};
}

Job Conv(int64_t h, int64_t w, int64_t c, int64_t o, int64_t kernel, int64_t stride, int64_t groups, bool first) {
  int64_t pad = kernel / 2, oh = (h + 2 * pad - kernel) / stride + 1, ow = (w + 2 * pad - kernel) / stride + 1;
  std::string x = first ? Tensor({1, c, h, w}) : Tensor({1, h, w, c}), f = Tensor({o, c / groups, kernel, kernel});
  std::string y = first ? Tensor({1, o, oh, ow}) : Tensor({1, oh, ow, o});
  auto two = [](int64_t v) { return "array<i64: " + std::to_string(v) + ", " + std::to_string(v) + ">"; };
  std::string body = "  ^bb0(%a: " + x + ", %b: " + f + "):\n    %r = tcc.conv %a, %b {strides = " + two(stride) +
                     ", padding_low = " + two(pad) + ", padding_high = " + two(pad) + ", dilations = " + two(1) +
                     ", groups = " + std::to_string(groups) + " : i64, channels_last = " + (first ? "false" : "true") +
                     "} : (" + x + ", " + f + ") -> " + y + "\n";
  Case test;
  test.text = Wrap("%x: " + x + ", %w: " + f, "%x, %w", x + ", " + f, y, body);
  test.constants = {1};
  char name[128];
  snprintf(name, sizeof name, "conv %ldx%ldx%ld -> %ld, %ldx%ld/%ld, groups %ld%s", h, w, c, o, kernel, kernel, stride,
           groups, first ? ", channels first" : "");
  return {name, test, 2.0 * oh * ow * o * (c / groups) * kernel * kernel};
}

Job Attention(int64_t b, int64_t h, int64_t s, int64_t t, int64_t d) {
  std::string q = Tensor({b, h, s, d}), k = Tensor({b, h, t, d});
  std::string body = "  ^bb0(%a: " + q + ", %b: " + k + ", %c: " + k +
                     "):\n    %r = tcc.attention %a, %b, %c {scale = 0.125 : f64, causal = false} : (" + q + ", " + k +
                     ", " + k + ") -> " + q + "\n";
  Case test;
  test.text = Wrap("%x: " + q + ", %k: " + k + ", %v: " + k, "%x, %k, %v", q + ", " + k + ", " + k, q, body);
  char name[128];
  snprintf(name, sizeof name, "attention %ldx%ld heads, %ld x %ld, %ld wide", b, h, s, t, d);
  return {name, test, 4.0 * b * h * s * t * d};
}

// CPU time of this thread: other load on the machine shows in the caches only.
double Now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

double Seconds(Runner& runner) {
  double best = 1e9, total = 0;
  runner.Run();
  for (int i = 0; i < 2000 && (total < 0.3 || i < 5); ++i) {
    double start = Now();
    runner.Run();
    double seconds = Now() - start;
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Job> jobs;
  std::string cpu;
  std::optional<tcc::codegen::gemm::GemmTiles> tiles;
  for (int i = 1; i < argc; ++i) {
    long m, n, k, o, kernel, stride, groups;
    tcc::codegen::gemm::GemmTiles t;
    if (!strncmp(argv[i], "--cpu=", 6)) {
      cpu = argv[i] + 6;
    } else if (sscanf(argv[i], "--tiles=%ld,%ld,%ld,%ld,%ld,%ld", &t.lanes, &t.rows, &t.vectors, &t.rowTiles, &t.panels,
                      &t.kBlock) == 6) {
      tiles = t;
    } else if (sscanf(argv[i], "conv:%ld,%ld,%ld,%ld,%ld,%ld,%ld", &m, &n, &k, &o, &kernel, &stride, &groups) == 7) {
      jobs.push_back(Conv(m, n, k, o, kernel, stride, groups, strstr(argv[i], "nchw")));
    } else if (sscanf(argv[i], "attention:%ld,%ld,%ld,%ld,%ld", &m, &n, &k, &o, &kernel) == 5) {
      jobs.push_back(Attention(m, n, k, o, kernel));
    } else if (sscanf(argv[i], "%ldx%ldx%ld", &m, &n, &k) == 3) {
      jobs.push_back(Matmul(m, n, k, strstr(argv[i], "d")));
    } else {
      fprintf(stderr, "bench_kernels: '%s' is neither an option nor a shape (see the first lines of kernels.cpp)\n",
              argv[i]);
      return 2;
    }
  }
  if (jobs.empty()) {
    for (auto [m, n, k] : std::vector<std::tuple<int, int, int>>{{1024, 1024, 1024},
                                                                 {197, 3072, 768},
                                                                 {197, 768, 3072},
                                                                 {197, 768, 768},
                                                                 {128, 768, 768},
                                                                 {128, 3072, 768},
                                                                 {128, 768, 3072},
                                                                 {3136, 256, 64},
                                                                 {3136, 64, 256},
                                                                 {784, 512, 128},
                                                                 {196, 1024, 256},
                                                                 {49, 2048, 512},
                                                                 {3136, 192, 768},
                                                                 {1, 1000, 2048},
                                                                 {1, 4096, 4096},
                                                                 {4, 4096, 4096}})
      jobs.push_back(Matmul(m, n, k, false));
    jobs.push_back(Matmul(1024, 1024, 1024, true));
    jobs.push_back(Matmul(197, 197, 64, true));
  }
  double peak = MeasurePeakGflops();
  printf("peak %.1f GFLOP/s\n", peak);
  for (Job& job : jobs) {
    job.test.cpu = cpu;
    job.test.tiles = tiles;
    Runner runner(job.test);
    if (!runner.ok()) {
      printf("%-60s failed\n", job.name.c_str());
      continue;
    }
    double seconds = Seconds(runner), gflops = job.flops / seconds / 1e9;
    printf("%-60s %9.3f ms %8.1f GFLOP/s %5.1f %%\n", job.name.c_str(), seconds * 1e3, gflops, 100 * gflops / peak);
    fflush(stdout);
  }
}
