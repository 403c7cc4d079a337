#!/usr/bin/env bash
# Runs tcc on a machine with a GPU that has CUDA 13, PyTorch 2.11 and transformers, but nothing to build tcc with: the device suite, the small
# models against PyTorch's outputs, large ones beside eager PyTorch and torch.compile. At most 8 minutes; writes a table.
#
#   gpu_check.sh --pack BUILD ARCHIVE     where tcc was built: what has to travel, with the libraries it needs (xz; or a folder, where ARCHIVE
#                                         ends in a slash)
#   gpu_check.sh ARCHIVE OUT [OPTIONS]    there, in a checkout of the same commit. Options: those of gpu_check.py (--minutes, --models, ...)
#   gpu_check.sh --dry-run PLACE OUT      without a GPU: the same steps on the simulated device, with a small model and few calls
# Models are made there (benchmarks/zoo.py), so that no weights travel. Of a build with LLVM linked statically (`cmake --preset static`,
# `cmake --build build-static --target tcc tcc-worker devices_test cuda_device_test`) the archive has 21 MiB, of another one 57. Of the
# checkout, which has 22, this needs benchmarks/*.sh, *.py, tests/zoo, tests/devices, tests/cuda_device, and nothing else.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '/^set/d'; exit 2; }

system_library='/(libc|libm|libdl|libpthread|librt|libresolv|libcuda)\.so'  # what belongs to the machine

pack() {
  local build=$1 archive=$2 name file missing
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  mkdir "$tree/bin" "$tree/lib"
  for name in tcc tcc-worker; do cp "$build/bin/$name" "$tree/bin/"; done
  for name in devices_test cuda_device_test; do
    file=$(find "$build/bin" "$build/tests" -name $name -type f | head -n 1)
    [ -z "$file" ] || cp "$file" "$tree/bin/"
  done
  ldd "$tree"/bin/* | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -vE "$system_library" |
    while read -r file; do cp -L "$file" "$tree/lib/"; done
  # Nothing may come from elsewhere that is only there by chance.
  missing=$(LD_LIBRARY_PATH="$tree/lib" ldd "$tree"/bin/* "$tree"/lib/* | awk -v lib="$tree/lib/" '$2 == "=>" && index($3, lib) != 1 { print $1, $3 }' |
    grep -vE "$system_library" | sort -u || true)
  [ -z "$missing" ] || { echo "not packed: $missing" >&2; exit 1; }
  case $archive in
    */) mkdir -p "$archive" && cp -r "$tree"/. "$archive" ;;
    *)
      strip --strip-unneeded "$tree"/bin/* "$tree"/lib/*
      tar -C "$tree" -c . | xz -9e -T1 >"$archive"
      ;;
  esac
  du -sh "$archive"
}

if [ "${1:-}" = --pack ] && [ $# -eq 3 ]; then
  pack "$2" "$3"
  exit
fi
dry=()
if [ "${1:-}" = --dry-run ]; then
  dry=(--dry-run)
  shift
fi
[ $# -ge 2 ] || usage
place=$1 out=$2
shift 2
mkdir -p "$out"
if [ -f "$place" ]; then
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$place" "$tree"
else
  tree=$(cd "$place" && pwd)
fi

"${TCC_CHECK_PYTHON:-python3}" "$here/gpu_check.py" --tree "$tree" --out "$out" "${dry[@]}" "$@"
