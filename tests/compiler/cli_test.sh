#!/usr/bin/env bash
# The command line: what it prints, and its exit codes (0 success, 1 failure of the work, 2 bad usage or input).
# usage: cli_test.sh TCC ZOO_DIR
set -uo pipefail
tcc=$1 zoo=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TCC_CACHE_DIR=$scratch/cache
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
model=$zoo/mobilenet.onnx data=$zoo/mobilenet.npz
expect 0 'Example' "$tcc" --help
for command in compile run bench explain verify test cache devices; do expect 0 'Example' "$tcc" $command --help; done
expect 2 'subcommand' "$tcc"
expect 2 '' "$tcc" run
expect 0 'as expected' "$tcc" run "$model" --input "$data" --expect "$data" --rtol 1e-4
expect 0 '"cache_hit":true' "$tcc" run "$model" --input "$data" --json
expect 0 'cache: hit' "$tcc" compile "$model" --input "$data" -o "$scratch/m.tcc"
expect 0 'as expected' "$tcc" run "$scratch/m.tcc" --input "$data" --expect "$data" --rtol 1e-4
expect 1 'differ' "$tcc" run "$model" --input "$data" --expect "$data" --rtol 0 --atol 0
expect 2 "no input 'nix'" "$tcc" run "$model" --input "nix=$data"
expect 2 'no such file' "$tcc" run "$scratch/none.onnx"
expect 1 'no memory for' "$tcc" run "$model" --input 'x_0=f32[1,3,100000000,10000000]' --random
expect 2 'unknown mode' "$tcc" run "$model" --input "$data" --mode=fast
expect 2 'is a folder' "$tcc" compile "$model" -o "$scratch"
expect 2 'unknown phase' "$tcc" compile "$model" --to-phase=nowhere
expect 0 'tcc\.' "$tcc" compile "$model" --input "$data" --emit tcc
# Texts: files for people's editors, or standard output with nothing else on it; what the last phase does not make is an error.
expect 0 'wrote: .*kernels.mlir' "$tcc" compile "$model" --input "$data" --to-phase fuse --emit import,tcc,kernels "$scratch/texts"
expect 0 'wrote: .*asm.s' "$tcc" compile "$model" --input "$data" --to-phase codegen --emit=scheduled,llvm,asm,plan "$scratch/texts"
for file in import.mlir:func.func tcc.mlir:tcc.conv kernels.mlir:tcc.kernel scheduled.mlir:vector llvm.ll:define asm.s:ret plan.json:functions; do
  expect 0 "${file#*:}" cat "$scratch/texts/${file%:*}"
done
"$tcc" compile "$model" --input "$data" --to-phase codegen --emit plan 2>/dev/null >"$scratch/plan.json"
cmp -s "$scratch/plan.json" <(cat "$scratch/texts/plan.json"; echo) || cmp -s "$scratch/plan.json" "$scratch/texts/plan.json" ||
  { echo 'FAILED: --emit plan prints something else than it writes'; failures=$((failures + 1)); }
for combination in asm:fuse plan:fuse kernels:simplify tcc:import import:load; do
  expect 2 "but --to-phase=${combination#*:} stops before it" "$tcc" compile "$model" --input "$data" --emit "${combination%:*}" --to-phase "${combination#*:}"
done
expect 2 'there are import, tcc, kernels, scheduled, llvm, asm, plan' "$tcc" compile "$model" --emit soup
expect 2 "no 'cuda' text for a CPU target" "$tcc" compile "$model" --emit cuda
expect 2 "no 'asm' text for a CUDA target; there are import, tcc, kernels, scheduled, cuda, plan" \
  "$tcc" compile "$model" --target=cuda-sim --emit asm
# A package from a compile that keeps nothing in the cache.
expect 0 "package: $scratch/alone.tcc" "$tcc" compile "$model" --input "$data" --no-cache -o "$scratch/alone.tcc"
expect 0 'as expected' "$tcc" run "$scratch/alone.tcc" --input "$data" --expect "$data" --rtol 1e-4
# Every topic has something to say, in the worker too.
logs=$(TMPDIR=$scratch TCC_LOGS=all TCC_CACHE_DIR=$scratch/logs "$tcc" run "$model" --input "$data" 2>&1 >/dev/null)
for topic in guards graph_breaks fusion schedule output_code cache perf_hints; do
  grep -q "^\[tcc $topic\] " <<<"$logs" || { echo "FAILED: TCC_LOGS=$topic says nothing"; failures=$((failures + 1)); }
done
TCC_LOGS=recompiles,soup TCC_CACHE_DIR=$scratch/logs expect 0 "unknown topic 'soup'; there are all, guards" "$tcc" cache stats
expect 0 '"median_ms"' "$tcc" bench "$model" --input "$data" --iterations 3 --warmup 0 --json
expect 0 '"cold_ms"' "$tcc" bench "$model" --input "$data" --iterations 1 --warmup 0 --json
expect 0 '^\{"calls"' "$tcc" bench "$scratch/m.tcc" --input "$data" --iterations 1 --warmup 0 --json  # nothing compiles
expect 0 'kernels' "$tcc" explain "$model" --input "$data" --html "$scratch/report.html"
expect 0 'precision bf16' "$tcc" explain "$model" --input "$data" --precision=bf16
expect 2 'unknown precision' "$tcc" run "$model" --input "$data" --precision=f8
expect 0 'agrees with the interpreter' "$tcc" verify "$model" --input "$data"
# A precision rounds: that is no difference, unless nothing may differ.
for precision in bf16 f16; do
  expect 0 'agrees with the interpreter' "$tcc" verify "$model" --input "$data" --precision $precision
  expect 0 'as expected' "$tcc" run "$model" --input "$data" --expect "$data" --precision $precision
  expect 1 'differs' "$tcc" verify "$model" --input "$data" --precision $precision --max-error 1e-5
  expect 1 'differs' "$tcc" verify "$model" --input "$data" --precision $precision --rtol 1e-6 --atol 1e-6
done
expect 0 'packages' "$tcc" cache stats
expect 0 'mobilenet' "$tcc" cache ls
expect 0 '0 damaged' "$tcc" cache verify
expect 0 '' "$tcc" cache clear
expect 0 'cpu' "$tcc" devices
printf '\x89PNG\r\n\x1a\n........' > "$scratch/picture.onnx"
expect 2 'PNG signature' "$tcc" run "$scratch/picture.onnx" --random
expect 2 'no model.onnx' "$tcc" test "$scratch/cache"
exit $((failures > 0))
