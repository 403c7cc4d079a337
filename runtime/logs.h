// TCC_LOGS=guards,recompiles,...: lines on stderr about what happens inside. docs/debugging.md says what each topic
// shows.
#pragma once

#include <string>
#include <string_view>

namespace tcc {

// Whether $TCC_LOGS names the topic (or "all"). A topic in $TCC_LOGS that does not exist is reported at the first
// question, once, with those that do. Thread-safe.
bool LogEnabled(std::string_view topic);
// "[tcc recompiles] text" for each line of the text, if enabled. Lines of several threads and processes do not mix.
void Log(std::string_view topic, const std::string& text);
// "tcc: warning: text", always.
void Warn(const std::string& text);
// For processes that work for another one, which has reported what is wrong with $TCC_LOGS.
void LogAsHelper();

}  // namespace tcc
