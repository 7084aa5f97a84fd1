#pragma once
// Text files of any size, handled piece by piece. Only LF ends a line; one CR before it is dropped;
// a CR inside a line is a blank.

#include <functional>
#include <string>
#include <string_view>

#include "core/files.h"

namespace zoo {

/// Where to cut the start of `text` off so that tokenizing the two parts gives what tokenizing the
/// whole gives: after a line that ends in a visible ASCII character and before one that starts with
/// one, else before a lone blank between such characters, else between two UTF-8 characters.
/// @param wanted the least size of the first part  @return a place in (0, text.size()]
size_t chunk_end(std::string_view text, size_t wanted);

/// CRLF to LF, other CRs to blanks.
std::string normalize_line_ends(std::string_view text);

/// Calls use(chunk) for the whole file in order, line ends normalized, about a megabyte at a time.
/// @throws DataError
void for_each_chunk(const fs::path& path, const std::function<void(std::string_view)>& use);

}  // namespace zoo
