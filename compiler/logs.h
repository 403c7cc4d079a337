// TCC_LOGS=guards,recompiles,...: lines on stderr about what happens inside.
#pragma once

#include <string>
#include <string_view>

namespace tcc {

// Whether $TCC_LOGS names the topic (or "all"). An unknown topic in $TCC_LOGS is reported once, with those there are.
bool LogEnabled(std::string_view topic);
// "[tcc recompiles] text" for each line of the text, if enabled.
void Log(std::string_view topic, const std::string& text);
// "tcc: warning: text", always.
void Warn(const std::string& text);

}  // namespace tcc
