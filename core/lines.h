#pragma once
// Text read a line at a time, from files or from standard input.

#include <istream>
#include <memory>
#include <optional>
#include <string>

namespace zoo {

/// Lines of a file or of standard input, as they come. Only LF ends a line, one CR before it is
/// dropped, the last LF may be missing (core/text.h).
class LineReader {
 public:
  /// @param path a file; "-" or "": standard input  @throws DataError if it cannot be read
  explicit LineReader(const std::string& path);
  std::optional<std::string> next();                 ///< the next line; nothing at the end
  std::string rest();                                ///< all that is left, as it is
  const std::string& name() const { return name_; }  ///< for messages: the path or "standard input"

 private:
  std::string name_;
  std::unique_ptr<std::istream> file_;  // null: standard input
  std::istream& stream_;
};

}  // namespace zoo
