#!/usr/bin/env bash
# tcc where nothing of CUDA is installed, and where there is NVRTC's library and nothing else.
# usage: without_cuda.sh TCC BUILD_DIR SOURCE_DIR PYTHON      exit code 77: the part that needs the wheel was skipped
set -uo pipefail
tcc=$1 build=$2 source=$3 python=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/nothing" "$scratch/only"
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# A shell without variables that lead to CUDA. (A folder without NVRTC that is named is as good as a machine without.)
bare() { env -i PATH=/usr/bin:/bin HOME="$scratch" TCC_CACHE_DIR="$scratch/cache" TCC_CUDA_DRIVER="$scratch/no-driver.so" "$@"; }
model=$source/tests/zoo/vit.onnx data=$source/tests/zoo/vit.npz

# What is built asks for nothing of CUDA, neither when it is built nor when it starts.
hits=$(grep -rniE '(find_package|find_library|enable_language|pkg_check_modules|project)\([^)]*(cuda|nvrtc|cudnn|cublas)' "$source" --include=CMakeLists.txt --include='*.cmake' --exclude-dir="$(basename "$build")")
[ -z "$hits" ] || fail "the build looks for CUDA: $hits"
for file in "$build"/bin/tcc "$build"/bin/tcc-worker "$build"/lib/*.so*; do
  needed=$(readelf -d "$file" 2>/dev/null | grep NEEDED | grep -E 'libcu|libnv') && fail "$file needs $needed"
done

# The CPU side, compiling and running.
run=$(bare TCC_NVRTC="$scratch/nothing" LD_DEBUG=files "$tcc" run "$model" --input "$data" --expect "$data" --max-error 2e-5 2>&1)
[ $? -eq 0 ] || fail "the CPU target: $(tail -n 3 <<<"$run")"
grep -qE 'libMLIR' <<<"$run" || fail 'LD_DEBUG does not show what the compiler loads'
grep -oE 'lib(cuda|nvrtc|cudart|cublas|cudnn)[^ ]*' <<<"$run" | sort -u | sed 's/^/the CPU target loads /' >"$scratch/loaded"
[ -s "$scratch/loaded" ] && fail "$(cat "$scratch/loaded")"
# Targets for GPUs: what is missing, and what brings it.
error=$(bare TCC_NVRTC="$scratch/nothing" "$tcc" compile "$model" --input "$data" --target=cuda:sm_90a 2>&1) && fail 'compiled without NVRTC'
grep -q 'holds no libnvrtc.so.*nvidia-cuda-nvrtc' <<<"$error" || fail "without NVRTC: $error"
error=$(bare "$tcc" run "$model" --input "$data" --target=cuda 2>&1) && fail 'ran without a driver'
grep -q 'no CUDA driver' <<<"$error" || fail "without a driver: $error"
[ $failures -eq 0 ] || exit 1

# NVRTC's library of the wheel and nothing beside it.
libraries=$(ls "$("$python" -c 'import sys; print(sys.prefix)')"/lib/python*/site-packages/nvidia/cu*/lib/libnvrtc*.so* 2>/dev/null)
if [ -z "$libraries" ]; then
  echo "SKIPPED: compiling with the wheel alone: $python has no nvidia-cuda-nvrtc"
  exit 77
fi
for library in $libraries; do
  cp -lL "$library" "$scratch/only/" 2>/dev/null || cp -L "$library" "$scratch/only/"
done
out=$(bare TCC_NVRTC="$scratch/only" LD_DEBUG=files "$tcc" compile "$model" --input "$data" --target=cuda:sm_90a -o "$scratch/m.tcc" --no-fallback 2>&1)
[ $? -eq 0 ] || fail "with the wheel alone: $(tail -n 5 <<<"$out")"
grep -q "init: $scratch/only/libnvrtc.so" <<<"$out" || fail 'another NVRTC was loaded, or none'
count() { "$python" -m zipfile -l "$scratch/m.tcc" | grep -cE "code/[0-9a-f]{32}$1 "; }
[ "$(count '\.cu')" -gt 5 ] && [ "$(count '\.cu')" -eq "$(count '\.sm_90a\.cubin')" ] || fail 'not every kernel has a cubin and its source'
[ $failures -eq 0 ]
