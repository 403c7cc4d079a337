// Marks what the shared libraries export; everything else is hidden. The names are a checked list
// (tests/compiler/exported_symbols.txt).
#pragma once

#define TCC_API __attribute__((visibility("default")))
