#!/usr/bin/env bash
# The symbols that a shared library exports are those of a list: an addition or removal is a decision, not an accident.
# usage: exported_symbols.sh LIBRARY LIST
set -uo pipefail
library=$1 list=$2
# Weak ones are instances of templates: which there are is up to the compiler.
actual=$(nm -DC --defined-only "$library" | awk '$2 ~ /^[TDBR]$/' | cut -d' ' -f3- | LC_ALL=C sort -u)
if ! diff <(LC_ALL=C sort -u "$list") <(printf '%s\n' "$actual"); then
  echo "$library does not export what $list says (< list, > library)"
  exit 1
fi
