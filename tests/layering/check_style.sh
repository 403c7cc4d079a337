#!/usr/bin/env bash
# Formatting of every C++ file as .clang-format says.
set -uo pipefail
cd "$1" || exit 2
formatter=$(command -v clang-format-19) || { echo "clang-format-19 is missing"; exit 2; }
files=$(git ls-files '*.h' '*.cpp' 2>/dev/null)
[ -n "$files" ] || exit 0
bad=$(echo "$files" | xargs -n 50 -P "$(nproc)" "$formatter" --dry-run --Werror 2>&1 | grep -oE '^[^:]+\.(h|cpp)' | sort -u)
if [ -n "$bad" ]; then
  echo "not formatted (run scripts/format):"
  echo "$bad"
  exit 1
fi
