#pragma once
// Text written a line at a time: one output line for each input line. No torch here.

#include <string>
#include <string_view>
#include <vector>

#include "core/lines.h"

namespace zoo::cli {

/// `text` on one line: LF is written as \n and CR as \r (two characters each), all else as it is.
std::string on_one_line(std::string_view text);

/// Names of classes, a line each, in place of a model's `count` ones.
/// @throws DataError if there are more or fewer
std::vector<std::string> read_labels(const std::string& file, size_t count);

/// A text typed on the command line: \n, \t, \r and \\ stand for LF, tab, CR and backslash.
/// @throws ConfigError for any other character after a backslash
std::string unescaped(std::string_view flag, std::string_view text);

}  // namespace zoo::cli
