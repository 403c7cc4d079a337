#!/usr/bin/env bash
# Lays out ONNX's test suites for `tcc test`: the node tests are generated, the others lie in the wheel.
# usage: make_suites.sh PYTHON OUT
set -euo pipefail
python=$1 out=$2
[ -e "$out/.complete" ] && exit 0
mkdir -p "$out"
"$python" "$(dirname "$0")/onnx_node_tests.py" "$out/node"
data=$("$python" -c 'import onnx, os; print(os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data"))')
for suite in simple pytorch-operator pytorch-converted; do
  ln -sfn "$data/$suite" "$out/$suite"
done
touch "$out/.complete"
