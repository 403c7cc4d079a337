#!/usr/bin/env bash
# benchmarks/gpu_check.sh without a GPU: what it packs, and every step of it on the simulated device.
# usage: gpu_check_test.sh BUILD_DIR SOURCE_DIR PYTHON
set -uo pipefail
build=$1 source=$2
export TCC_CHECK_PYTHON=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
"$source/benchmarks/gpu_check.sh" --pack "$build" "$scratch/tree/" || fail 'nothing was packed'
ls "$scratch"/tree/lib | grep -q 'libstdc++' || fail 'libraries are not packed'
ls "$scratch"/tree/lib | grep -E '^libc\.so' && fail 'the C library is packed'
"$source/benchmarks/gpu_check.sh" --dry-run "$scratch/tree" "$scratch/out" --models vit || fail 'the dry run failed'
table=$scratch/out/gpu_check.md
for line in '\| device \| cuda-sim' '\| devices_test \| [1-9][0-9]* passed' '\| cuda_device_test \| [1-9][0-9]* passed, 0 skipped' '\| small models against PyTorch \| 1 of 1 right' \
  '\| vit \| 1 \| tcc \| default \| [0-9.]+ ' '\| vit \| 1 \| tcc \| reduce-overhead \| [0-9.]+ ' 'Nothing failed'; do
  grep -qE "$line" "$table" || fail "the table lacks '$line'"
done
[ $failures -eq 0 ] || { cat "$table"; exit 1; }
# Where tcc does not run, that is a failure.
"$source/benchmarks/gpu_check.sh" --dry-run "$scratch/out" "$scratch/none" --models vit >"$scratch/log" 2>&1 && fail 'passed without tcc'
[ $failures -eq 0 ]
