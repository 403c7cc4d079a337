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
# These throw where the name cannot be looked up (no access, too long), and nothing catches: Exists and IsFolder of
# runtime/file_util.h, or the forms that take an error_code.
hits=$(grep -rnE "(filesystem|fs)::(exists|is_directory|is_regular_file|file_size|canonical|absolute|create_director(y|ies)|remove|remove_all|directory_iterator|temp_directory_path)\([^,]*\)" \
  runtime compiler frontend codegen ir --include='*.h' --include='*.cpp' | grep -vE 'llvm::sys|frontend/onnx/import/tool|directory_iterator\(\)')
if [ -n "$hits" ]; then
  echo "std::filesystem functions that throw:"
  echo "$hits"
  failed=1
fi
exit $failed
