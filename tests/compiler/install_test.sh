#!/usr/bin/env bash
# Installs into a prefix, moves it, and builds and runs programs against it: with the compiler, with the runtime, in C.
# usage: install_test.sh BUILD_DIR SOURCE_DIR MODEL OPEN_MODEL     (of four floats; of two open axes)
set -euo pipefail
build=$1 source=$2 model=$3 open_model=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for component in runtime compiler; do
  cmake --install "$build" --prefix "$scratch/first" --component $component >/dev/null
done
mv "$scratch/first" "$scratch/moved"
cmake -S "$source/tests/compiler/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/moved" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/build" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake -S "$source/docs/samples" -B "$scratch/samples" -DCMAKE_PREFIX_PATH="$scratch/moved" \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/samples" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
export TCC_CACHE_DIR=$scratch/cache
unset TCC_WORKER
package=$("$scratch/build/use_compiler" "$model")
cp "$package" "$scratch/model.tcc"
"$scratch/build/use_runtime" "$scratch/model.tcc"
"$scratch/build/use_c" "$scratch/model.tcc"
# A component that there is not is an error that says so.
mkdir "$scratch/misspelt"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(tcc REQUIRED COMPONENTS runtim)\n' >"$scratch/misspelt/CMakeLists.txt"
if cmake -S "$scratch/misspelt" -B "$scratch/misspelt/build" -DCMAKE_PREFIX_PATH="$scratch/moved" -DCMAKE_CXX_COMPILER=clang++-19 >"$scratch/log" 2>&1; then
  echo "FAILED: a component 'runtim' is found"
  exit 1
fi
tr -s ' \n' ' ' <"$scratch/log" | grep -F "there is no component 'runtim': they are runtime and compiler" >/dev/null || { cat "$scratch/log"; exit 1; }
# Without CMake: the folder of headers alone, with warnings.
for header in tcc.h tcc/runtime.h tcc/tcc.h tcc/options.h $(cd "$scratch/moved/include" && ls tcc/runtime/*.h); do
  echo "#include <$header>" >"$scratch/header.cpp"
  clang++-19 -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$scratch/moved/include" "$scratch/header.cpp"
done
echo '#include <tcc.h>' >"$scratch/header.c"
clang-19 -std=c99 -Wall -Wextra -Werror -fsyntax-only -I"$scratch/moved/include" "$scratch/header.c"
# The samples of docs/howto.md. (Output into a variable first: grep -q would close the pipe on a program still writing.)
expect() {
  local text=$1 out
  shift
  out=$("$@") || { echo "FAILED: $*: $out"; exit 1; }
  grep -qF -- "$text" <<<"$out" || { echo "FAILED: $* does not print '$text': $out"; exit 1; }
}
samples=$scratch/samples
expect 'from the cache' "$samples/embed" "$model"
expect 'y: f32[3,3]' "$samples/embed" "$open_model"
expect '1 compilation' "$samples/dynamic_shapes" "$open_model"
expect 'outputs on the device' "$samples/device_tensors" "$model" cuda-sim
expect 'in place: yes' "$samples/device_tensors" "$model" cuda-sim
expect 'y: f32[4] {0, 2, 4, 6}' "$samples/run_package" "$scratch/model.tcc" 4
expect 'y: f32[4] {0, 2, 4, 6}' "$samples/run_package" "$scratch/model.tcc"
expect 'dims [4], first element 0' "$samples/run_package_c" "$scratch/model.tcc"
# ... with any package: of symbols, at their least or as told.
"$scratch/moved/bin/tcc" compile "$open_model" --dynamic 'x=[rows:3..8,columns:1..64]' -o "$scratch/open.tcc" >/dev/null
expect 'y: f32[3,1] {0, 2, 4}' "$samples/run_package" "$scratch/open.tcc"
expect 'y: f32[4,2] {0, 2, 4, 6, 8, 10, 12, 14}' "$samples/run_package" "$scratch/open.tcc" 2 rows=4
expect 'dims [5,5], first element 0' "$samples/run_package_c" "$scratch/open.tcc" 5
expect 'MB (for rows = 3, columns = 1)' "$scratch/moved/bin/tcc" explain "$open_model" --dynamic 'x=[rows:3..8,columns:1..64]'
# A config that is none.
for text in '' 'not JSON' '{"beg_size": 1}' '[]'; do
  printf '%s' "$text" >"$scratch/config.json"
  status=0
  "$samples/file_type" "$model" "$scratch/config.json" "$model" 2>"$scratch/log" || status=$?
  [ $status = 2 ] && grep -F 'config.json is not the model' "$scratch/log" >/dev/null || { echo "FAILED: config '$text': $status"; cat "$scratch/log"; exit 1; }
done
# The runtime alone loads no compiler and no ONNX.
if ldd "$scratch/build/use_c" | grep -E 'MLIR|LLVM|protobuf'; then
  echo "the runtime loads what it should not"
  exit 1
fi
"$scratch/moved/bin/tcc" run "$model" --input x=f32[4] --random >/dev/null
