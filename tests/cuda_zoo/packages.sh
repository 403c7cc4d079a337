#!/usr/bin/env bash
# Packages for GPUs on a machine that has none, or is made to look so: what is in them, what running them says; that a second process finds
# everything compiled, and loads neither LLVM nor NVRTC.
# usage: packages.sh TCC ZOO_DIR PYTHON      exit code 77: all that can be tested without NVRTC passed, the rest was skipped
set -uo pipefail
tcc=$1 zoo=$2 python=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TCC_CACHE_DIR=$scratch/cache TCC_CUDA_DRIVER=$scratch/no-driver.so
model=$zoo/vit.onnx data=$zoo/vit.npz
failures=0
# expect CODE TEXT COMMAND...: exit code, and a pattern in what it prints.
expect() {
  local code=$1 text=$2 out actual
  shift 2
  out=$("$@" 2>&1)
  actual=$?
  if [ $actual -ne "$code" ] || ! grep -qE -- "$text" <<<"$out"; then
    echo "FAILED: $* -> $actual, expected $code and '$text':"
    echo "$out" | head -20
    failures=$((failures + 1))
  fi
}

# No driver, no device, no such architecture.
expect 2 "unknown architecture 'sm_91'; there are sm_80, " "$tcc" compile "$model" --input "$data" --target=cuda:sm_91
expect 2 "there are cpu, cpu:NAME, cuda, cuda:sm_NN" "$tcc" compile "$model" --input "$data" --target=gpu
expect 2 "is for the GPU of this machine: .*name its architecture, as in --target=cuda:sm_90a" "$tcc" compile "$model" --input "$data" --target=cuda
expect 2 "'cuda:sm_90a' cannot be run here: no CUDA driver" "$tcc" run "$model" --input "$data" --target=cuda:sm_90a
expect 2 "'cuda:sm_90a' cannot be run here" "$tcc" bench "$model" --input "$data" --target=cuda:sm_90a
expect 2 "'cuda:sm_90a' cannot be run here" "$tcc" verify "$model" --input "$data" --target=cuda:sm_90a
expect 0 '^cuda: none: no CUDA driver' "$tcc" devices
expect 0 '^cuda-sim: ' "$tcc" devices
expect 2 "device 'cuda:0' was chosen, but target 'cpu' is for the CPU" "$tcc" run "$model" --input "$data" --device=cuda:0
expect 2 "no device 'gpu': there are cuda:N" "$tcc" run "$model" --input "$data" --target=cuda:sm_90a --device=gpu
expect 2 "no device 'gpu': there are cuda:N" "$tcc" compile "$model" --input "$data" --target=cuda:sm_90a --device=gpu
expect 0 '"device":"cuda-sim"' "$tcc" devices --json
# No compiler. (That there is one elsewhere does not matter where one is named.)
TCC_NVRTC=$scratch expect 2 'NVRTC' "$tcc" compile "$model" --input "$data" --target=cuda:sm_90a
TCC_SIM_CXX=$scratch/none expect 2 'simulated device.*TCC_SIM_CXX' "$tcc" run "$model" --input "$data" --target=cuda-sim

# The simulated device: the package, sources in it, and the second process.
expect 0 'kernels: [0-9]+ generated, 0 library' "$tcc" compile "$model" --input "$data" --target=cuda-sim -o "$scratch/sim.tcc" --no-fallback
expect 0 'as expected' "$tcc" run "$scratch/sim.tcc" --input "$data" --expect "$data" --max-error 2e-5
expect 0 'f32\[' "$tcc" run "$scratch/sim.tcc" --input "$data" --device=null
expect 2 'no CUDA driver' "$tcc" run "$scratch/sim.tcc" --input "$data" --device=cuda:0
expect 0 'extern "C" __global__' "$tcc" compile "$model" --input "$data" --target=cuda-sim --emit cuda
expect 0 'grid [0-9]+, block [0-9]+' "$tcc" explain "$model" --input "$data" --target=cuda-sim
expect 0 '"device_launches":' "$tcc" explain "$model" --input "$data" --target=cuda-sim --json
expect 0 'agrees with the interpreter' "$tcc" verify "$model" --input "$data" --target=cuda-sim
expect 0 '"median_ms"' "$tcc" bench "$scratch/sim.tcc" --input "$data" --iterations 2 --warmup 0 --json
"$python" -m zipfile -l "$scratch/sim.tcc" >"$scratch/list"
for suffix in '\.cu ' '\.sim\.so '; do
  grep -qE "code/[0-9a-f]{32}$suffix" "$scratch/list" || { echo "FAILED: no $suffix in the package"; failures=$((failures + 1)); }
done
loaded=$(LD_DEBUG=files "$tcc" run "$model" --input "$data" --target=cuda-sim 2>&1)
grep -q 'calling init' <<<"$loaded" || { echo 'FAILED: LD_DEBUG shows nothing'; failures=$((failures + 1)); }
grep -oE 'lib(LLVM|MLIR|nvrtc|clang)[^ ]*' <<<"$loaded" | sort -u | sed 's/^/FAILED: a warm process loads /' | tee "$scratch/loaded"
[ -s "$scratch/loaded" ] && failures=$((failures + 1))

[ $failures -eq 0 ] || exit 1
# The wheel of the tests' own environment, where none is named.
prefix=$("$python" -c 'import sys; print(sys.prefix)')
compgen -G "$prefix/lib/python*/site-packages/nvidia/cu*/lib/libnvrtc.so*" >/dev/null && export TCC_NVRTC=${TCC_NVRTC:-$prefix}
tried=$("$tcc" compile "$model" --input "$data" --target=cuda:sm_80 --to-phase codegen 2>&1)
if grep -q 'TCC_NVRTC' <<<"$tried"; then
  echo 'SKIPPED: packages for GPUs: there is no NVRTC (pip install nvidia-cuda-nvrtc, or name one by TCC_NVRTC)'
  exit 77
fi
expect 0 'cache: miss' "$tcc" compile "$model" --input "$data" --target=cuda:sm_80,sm_90a -o "$scratch/gpu.tcc" --no-fallback
expect 0 'cache: hit' "$tcc" compile "$model" --input "$data" --target=cuda:sm_80,sm_90a
"$python" -m zipfile -l "$scratch/gpu.tcc" >"$scratch/list"
sources=$(grep -cE 'code/[0-9a-f]{32}\.cu ' "$scratch/list")
for arch in sm_80 sm_90a; do
  [ "$(grep -cE "code/[0-9a-f]{32}\.$arch\.cubin " "$scratch/list")" -eq "$sources" ] && [ "$sources" -gt 5 ] ||
    { echo "FAILED: not every kernel is there for $arch:"; cat "$scratch/list"; failures=$((failures + 1)); }
done
expect 2 'no CUDA driver' "$tcc" run "$scratch/gpu.tcc" --input "$data"
# What the assembler says; nothing is spilled.
explained=$("$tcc" explain "$model" --input 'x_0=f32[1,3,32,32]' --target=cuda:sm_80,sm_90a --json)
"$python" - "$explained" <<'PYTHON' || failures=$((failures + 1))
import json, sys
graph = json.loads(sys.argv[1])["graphs"][0]
resources = graph["resources"]
launched = {launch["kernel"] for kernel in graph["kernels"] for launch in kernel.get("device_launches", [])}
assert {r["arch"] for r in resources} == {"sm_80", "sm_90a"}, resources
assert {r["kernel"] for r in resources} == launched, (resources, launched)
assert all(0 < r["registers"] <= 255 and r["spill_bytes"] == 0 and 0 < r["occupancy"] <= 1 for r in resources), resources
PYTHON
[ $failures -eq 0 ]
