#!/usr/bin/env bash
# A recogniser of text lines at several widths, each in a process of its own: how often it is compiled, and whether the numbers are right.
# usage: widths.sh TCC MODEL REFERENCE.npz
set -euo pipefail
tcc=$1 model=$2 reference=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TCC_CACHE_DIR=$scratch/cache
compilations=0
for width in 320 480 500 333; do
  out=$("$tcc" run "$model" --input "x=f32[1,3,48,$width]" --random --output "$scratch/$width.npz" --json)
  grep -q '"cache_hit":true' <<<"$out" || compilations=$((compilations + 1))
done
[ "$compilations" -eq 2 ] || { echo "$compilations compilations for four widths, expected 2"; exit 1; }
out=$("$tcc" run "$model" --input "x=f32[1,3,48,444]" --random --json)
grep -q '"cache_hit":true' <<<"$out" || { echo "a fifth width was compiled: $out"; exit 1; }
"$tcc" run "$model" --input "$reference" --expect "$reference" --max-error 1e-4
# The symbol's code against code for this width alone.
"$tcc" run "$model" --input "x=f32[1,3,48,333]" --random --dynamic 'x=[1,3,48,333]' --expect "$scratch/333.npz" --max-error 1e-4
