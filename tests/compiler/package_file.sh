#!/usr/bin/env bash
# A package taken out of the cache stands alone, also where its constants are so many that the cache shares them.
# usage: package_file.sh TCC ZOO_DIR
set -euo pipefail
tcc=$1 zoo=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TCC_CACHE_DIR=$scratch/cache
"$tcc" compile "$zoo/bert.onnx" --input "$zoo/bert.npz" -o "$scratch/cold.tcc"
[ -n "$(ls "$scratch"/cache/v1/constants)" ] || { echo "the model is too small: its constants are not in the store"; exit 1; }
"$tcc" compile "$zoo/bert.onnx" --input "$zoo/bert.npz" -o "$scratch/hit.tcc" | grep 'cache: hit'
cmp "$scratch/cold.tcc" "$scratch/hit.tcc"
rm -r "$scratch/cache"
"$tcc" run "$scratch/hit.tcc" --input "$zoo/bert.npz" --expect "$zoo/bert.npz"
# What is in it needs no inputs.
explained=$("$tcc" explain "$scratch/hit.tcc")
grep -E 'kernels: [1-9]' <<<"$explained"
