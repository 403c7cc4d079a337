//===- Measurer.h - runs candidates in a process of its own -----*- C++ -*-===//
//
// A candidate may crash, hang or leave a device that nothing runs on any more: it is run by `tcc-worker --measure`,
// which is started again after that. Such a candidate is lost, the others are not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/autotune/MeasureJob.h"
#include "runtime/file_util.h"

namespace tcc::compiler {

struct MeasurerOptions {
  std::string program;            ///< tcc-worker
  std::string kind;               ///< of the device: "cuda", "cuda-sim"
  std::vector<std::string> archs; ///< that code could be compiled for
  double seconds = 30;            ///< for loading a candidate, and for each run of it
};

/// Not thread-safe.
class Measurer {
public:
  /// Starts the process. FailedPrecondition and others: why nothing can be measured here.
  static absl::StatusOr<std::unique_ptr<Measurer>> start(MeasurerOptions options);
  ~Measurer();
  Measurer(const Measurer &) = delete;
  Measurer &operator=(const Measurer &) = delete;

  const MeasureDevice &device() const { return found; }

  /// What candidates are run on from now on; those before are forgotten.
  void begin(MeasureData data);
  /// Loads a candidate and runs it once. The results of the first one are what those of the others have to be. The
  /// status says why a candidate is lost; ResourceExhausted where it may do better another time.
  absl::Status load(int id, MeasureCandidate candidate);
  /// Seconds of one run on the device's clock.
  absl::StatusOr<double> time(int id);

  int restarts() const { return generation - 1; }

private:
  struct Known {
    MeasureCandidate candidate;
    int generation;
  };
  explicit Measurer(MeasurerOptions options) : options(std::move(options)) {}
  absl::Status spawn();
  absl::Status open();
  std::string end(bool kill);
  /// Asks the process that is there.
  absl::StatusOr<nlohmann::json> ask(const nlohmann::json &request);
  /// Makes sure that there is one which knows the data.
  absl::Status prepare();
  absl::Status send(int id, const MeasureCandidate &candidate, bool check);
  /// To a process that was started since.
  absl::Status sendAgain(int id, Known &item);

  MeasurerOptions options;
  MeasureDevice found;
  MeasureData data;
  std::map<int, Known> known;
  FileDescriptor socket;
  pid_t process = -1;
  int generation = 0;     ///< processes that were started
  int dataGeneration = 0; ///< of the one that knows the data
};

} // namespace tcc::compiler
