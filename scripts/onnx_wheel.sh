#!/usr/bin/env bash
# Unpacks the C++ sources and protos of the PyPI wheel `onnx` (the version in scripts/requirements.txt) into DIR/onnx. Nothing of the wheel is run.
# usage: scripts/onnx_wheel.sh DIR
# PIP names the pip to use; TCC_WHEEL_CACHE a folder that keeps the wheel, or holds it where there is no network.
set -euo pipefail
dir=${1:?usage: scripts/onnx_wheel.sh DIR}
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(grep -E '^onnx==' "$here/requirements.txt")
version=${wheel#onnx==}
[ "$(cat "$dir/.complete" 2>/dev/null)" = "$version" ] && exit 0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cache=${TCC_WHEEL_CACHE:-}
file=
if [ -n "$cache" ]; then
  file=$(find "$cache" -maxdepth 1 -name "onnx-$version-*.whl" 2>/dev/null | head -n 1)
fi
if [ -z "$file" ]; then
  pip=${PIP:-python3 -m pip}
  $pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$scratch" "$wheel" ||
    { echo "onnx_wheel.sh: could not fetch $wheel with '$pip'; put the wheel into a folder and name it in TCC_WHEEL_CACHE" >&2; exit 1; }
  file=$(echo "$scratch"/*.whl)
  if [ -n "$cache" ]; then
    mkdir -p "$cache"
    cp "$file" "$cache/.$$.whl" && mv "$cache/.$$.whl" "$cache/$(basename "$file")"
  fi
fi
mkdir -p "$dir"
unzip -q -o "$file" 'onnx/*.proto' 'onnx/*.h' 'onnx/*.cc' -d "$dir"
echo "$version" > "$dir/.complete"
