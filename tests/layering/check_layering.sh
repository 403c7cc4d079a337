#!/usr/bin/env bash
# Who may include whom (docs/architecture.md): fails on an include that points the wrong way.
set -uo pipefail
cd "$1" || exit 2
failed=0
# deny FOLDER REGEX: no file below FOLDER includes a header that matches.
deny() {
  local hits
  hits=$(grep -rnE "#include [<\"]($2)" "$1" --include='*.h' --include='*.cpp' --include='*.cc' 2>/dev/null)
  if [ -n "$hits" ]; then
    echo "$1 must not include $2:"
    echo "$hits"
    failed=1
  fi
}
deny runtime 'ir/|frontend/|codegen/|compiler/|mlir/|llvm/|lld/'
for half in frontend/onnx/program frontend/torchscript/program frontend/tracer/program; do
  [ -d "$half" ] && deny "$half" 'ir/|codegen/|compiler/|mlir/|llvm/'
done
deny ir 'frontend/|codegen/|compiler/'
deny frontend 'codegen/|compiler/'
deny codegen 'frontend/|compiler/'
exit $failed
