#!/usr/bin/env bash
# The command line must start in milliseconds: it loads neither MLIR nor LLVM, and has no ONNX operator schemas in it.
set -uo pipefail
binary=$1
if ldd "$binary" | grep -E 'libMLIR|libLLVM|liblld'; then
  echo "$binary loads compiler libraries"
  exit 1
fi
if nm -C "$binary" | grep -q 'onnx::OpSchema'; then
  echo "$binary has the ONNX checker in it"
  exit 1
fi
