//===- MeasureServer.h - the process that runs candidates -------*- C++ -*-===//
#pragma once

namespace tcc::compiler {

/// Answers a Measurer (Measurer.h) at the other end of the socket until that closes it; the exit code. A candidate may
/// do anything to this process. For tests, $TCC_MEASURE_FAULT says what candidates do: "crash:2,hang:3,wrong:4,slow:5".
int serveMeasurements(int socket);

} // namespace tcc::compiler
