#pragma once
// Text read and written a line at a time: one output line for each input line. No torch here.

#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::cli {

/// Lines of a file or of standard input, as they come. Only LF ends a line, one CR before it is
/// dropped, the last LF may be missing (core/text.h).
class LineReader {
 public:
  /// @param path a file; "-" or "": standard input  @throws DataError if it cannot be read
  explicit LineReader(const std::string& path);
  std::optional<std::string> next();  ///< the next line; nothing at the end
  std::string rest();                 ///< all that is left, as it is

 private:
  std::string name_;
  std::unique_ptr<std::istream> file_;  // null: standard input
  std::istream& stream_;
};

/// True if nothing but white space.
bool is_blank(std::string_view text);

/// `text` on one line: LF is written as \n and CR as \r (two characters each), all else as it is.
std::string on_one_line(std::string_view text);

/// A text typed on the command line: \n, \t, \r and \\ stand for LF, tab, CR and backslash.
/// @throws ConfigError for any other character after a backslash
std::string unescaped(std::string_view flag, std::string_view text);

}  // namespace zoo::cli
