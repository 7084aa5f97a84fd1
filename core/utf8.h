#pragma once
// UTF-8 taken apart and put together (The Unicode Standard, section 3.9).

#include <cstdint>
#include <string>
#include <string_view>

namespace zoo {

/// The first character of a text, or the bytes at its start that are none.
struct Utf8Step {
  char32_t code_point;  ///< U+FFFD where the bytes are not valid
  uint32_t length;      ///< bytes taken; of invalid ones the longest start of a character, else one
  bool valid;
  bool truncated;  ///< not valid, but more bytes after the end of the text could make it so
};

/// @param text not empty
Utf8Step next_utf8(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

/// "U+00E9"
std::string code_point_name(char32_t code_point);

/// "offset 12 (line 3)": offset in bytes from 0, lines from 1.
std::string text_position(std::string_view text, size_t offset);

/// Bytes in, whole characters out: the pieces joined do not depend on where the bytes were cut.
class Utf8Buffer {
 public:
  /// @param replace_invalid write U+FFFD for each invalid sequence, else its bytes
  explicit Utf8Buffer(bool replace_invalid) : replace_invalid_(replace_invalid) {}
  std::string push(std::string_view bytes);
  std::string finish();  ///< the character that is still incomplete, as invalid bytes

 private:
  std::string pending_;
  bool replace_invalid_;
};

}  // namespace zoo
