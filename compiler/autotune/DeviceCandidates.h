//===- DeviceCandidates.h - a kernel in several ways, for a device -*- C++ -*-===//
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/plan/Plan.h"
#include "compiler/autotune/MeasureJob.h"

namespace tcc::compiler {

/// Files for the measuring process, which go with this object.
class MeasureFiles {
public:
  static absl::StatusOr<std::unique_ptr<MeasureFiles>> create();
  ~MeasureFiles();
  MeasureFiles(const MeasureFiles &) = delete;
  MeasureFiles &operator=(const MeasureFiles &) = delete;
  /// Its path. A name that was written before is not written again.
  absl::StatusOr<std::string> write(const std::string &name, std::string_view bytes);

private:
  explicit MeasureFiles(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
  std::vector<std::string> written;
};

/// A fresh target, for one architecture.
using MakeCudaTarget = std::function<absl::StatusOr<std::unique_ptr<codegen::Target>>()>;

/// A candidate as it is measured.
struct BuiltCandidate {
  MeasureCandidate job;
  std::string fault;     ///< why it is out of the race; empty: it is in
  bool isPruned = false; ///< out, and nothing is wrong with it
};

/// Schedules and compiles a kernel in several ways (all kernels of all candidates in parallel), at the given values of
/// its symbols. The data of the kernel is the same for all. An error: nothing can be measured, and why.
struct BuiltCandidates {
  MeasureData data;
  std::vector<BuiltCandidate> candidates; ///< in the order given
  bool isLasting = true;                  ///< no fault that another time would not have
};
absl::StatusOr<BuiltCandidates> buildCandidates(ir::KernelOp kernel,
                                                const std::vector<codegen::ScheduleCandidate> &choices,
                                                const std::vector<int64_t> &symbols, const MakeCudaTarget &makeTarget,
                                                const std::string &arch, MeasureFiles &files);

/// A whole plan as a candidate. `name`: of its files.
absl::StatusOr<MeasureCandidate> planCandidate(const codegen::PlanResult &plan, const std::vector<int64_t> &symbols,
                                               const std::string &arch, const std::string &name, MeasureFiles &files);

/// A buffer for a value of this type. An error for what cannot be made up, or is too large.
absl::StatusOr<MeasureBuffer> bufferFor(mlir::Type type, const std::vector<int64_t> &symbols);

} // namespace tcc::compiler
