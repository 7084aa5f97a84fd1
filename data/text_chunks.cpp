#include "data/text_chunks.h"

#include <algorithm>

namespace zoo {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kSearchBytes = size_t{1}
                                << 16;  // how far beyond `wanted` a good place is looked for

bool is_visible(char c) { return c > ' ' && c < 0x7f; }

/// True if the line feed before `place` ends a line and starts one, both visible at that end.
bool is_between_lines(std::string_view text, size_t place) {
  if (place < 2 || text[place - 1] != '\n' || !is_visible(text[place])) return false;
  const size_t last = text[place - 2] == '\r' ? 3 : 2;
  return place >= last && is_visible(text[place - last]);
}

bool is_before_lone_blank(std::string_view text, size_t place) {
  return text[place] == ' ' && place + 1 < text.size() && is_visible(text[place - 1]) &&
         is_visible(text[place + 1]);
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

size_t chunk_end(std::string_view text, size_t wanted) {
  if (text.size() <= wanted) return text.size();
  wanted = std::max<size_t>(wanted, 1);
  const size_t limit = std::min(text.size(), wanted + kSearchBytes);
  for (const auto& fits : {is_between_lines, is_before_lone_blank})
    for (size_t place = wanted; place < limit; ++place)
      if (fits(text, place)) return place;
  if (limit == text.size()) return limit;
  size_t place = wanted;
  while (place < text.size() && continues_character(text[place])) ++place;
  return place;
}

std::string normalize_line_ends(std::string_view text) {
  std::string normal;
  normal.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r')
      normal += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      normal += ' ';
  }
  return normal;
}

void for_each_chunk(const fs::path& path, const std::function<void(std::string_view)>& use) {
  const MappedFile file(path);
  std::string_view rest = file.text();
  while (!rest.empty()) {
    size_t end = chunk_end(rest, kChunkBytes);
    if (end < rest.size() && rest[end - 1] == '\r' && rest[end] == '\n') ++end;
    const std::string_view chunk = rest.substr(0, end);
    if (chunk.find('\r') == std::string_view::npos)
      use(chunk);
    else
      use(normalize_line_ends(chunk));
    rest.remove_prefix(end);
  }
}

}  // namespace zoo
