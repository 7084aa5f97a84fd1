#include "analysis/bitmap_font.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/unicode.h"

namespace zoo {

namespace {

/// Rows from the top, 7 or, with descenders, 9 of them; # is a dot.
struct Glyph {
  char32_t letter;
  std::string_view rows;
};

// In the order of their code points.
constexpr std::array kGlyphs = {
    Glyph{U' ', "..... ..... ..... ..... ..... ..... ....."},
    Glyph{U'!', "..#.. ..#.. ..#.. ..#.. ..#.. ..... ..#.."},
    Glyph{U'"', ".#.#. .#.#. .#.#. ..... ..... ..... ....."},
    Glyph{U'#', ".#.#. .#.#. ##### .#.#. ##### .#.#. .#.#."},
    Glyph{U'$', "..#.. .#### #.#.. .###. ..#.# ####. ..#.."},
    Glyph{U'%', "##... ##..# ...#. ..#.. .#... #..## ...##"},
    Glyph{U'&', ".##.. #..#. #.#.. .#... #.#.# #..#. .##.#"},
    Glyph{U'\'', "..#.. ..#.. ..#.. ..... ..... ..... ....."},
    Glyph{U'(', "...#. ..#.. .#... .#... .#... ..#.. ...#."},
    Glyph{U')', ".#... ..#.. ...#. ...#. ...#. ..#.. .#..."},
    Glyph{U'*', "..... ..#.. #.#.# .###. #.#.# ..#.. ....."},
    Glyph{U'+', "..... ..#.. ..#.. ##### ..#.. ..#.. ....."},
    Glyph{U',', "..... ..... ..... ..... ..... ..#.. ..#.. .#... ....."},
    Glyph{U'-', "..... ..... ..... ##### ..... ..... ....."},
    Glyph{U'.', "..... ..... ..... ..... ..... .##.. .##.."},
    Glyph{U'/', "....# ....# ...#. ..#.. .#... #.... #...."},
    Glyph{U'0', ".###. #...# #..## #.#.# ##..# #...# .###."},
    Glyph{U'1', "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###."},
    Glyph{U'2', ".###. #...# ....# ...#. ..#.. .#... #####"},
    Glyph{U'3', "##### ...#. ..#.. ...#. ....# #...# .###."},
    Glyph{U'4', "...#. ..##. .#.#. #..#. ##### ...#. ...#."},
    Glyph{U'5', "##### #.... ####. ....# ....# #...# .###."},
    Glyph{U'6', "..##. .#... #.... ####. #...# #...# .###."},
    Glyph{U'7', "##### ....# ...#. ..#.. .#... .#... .#..."},
    Glyph{U'8', ".###. #...# #...# .###. #...# #...# .###."},
    Glyph{U'9', ".###. #...# #...# .#### ....# ...#. .##.."},
    Glyph{U':', "..... ..#.. ..#.. ..... ..#.. ..#.. ....."},
    Glyph{U';', "..... ..#.. ..#.. ..... ..... ..#.. ..#.. .#... ....."},
    Glyph{U'<', "...#. ..#.. .#... #.... .#... ..#.. ...#."},
    Glyph{U'=', "..... ..... ##### ..... ##### ..... ....."},
    Glyph{U'>', ".#... ..#.. ...#. ....# ...#. ..#.. .#..."},
    Glyph{U'?', ".###. #...# ....# ...#. ..#.. ..... ..#.."},
    Glyph{U'@', ".###. #...# #.### #.#.# #.### #.... .###."},
    Glyph{U'A', ".###. #...# #...# ##### #...# #...# #...#"},
    Glyph{U'B', "####. #...# #...# ####. #...# #...# ####."},
    Glyph{U'C', ".###. #...# #.... #.... #.... #...# .###."},
    Glyph{U'D', "####. #...# #...# #...# #...# #...# ####."},
    Glyph{U'E', "##### #.... #.... ####. #.... #.... #####"},
    Glyph{U'F', "##### #.... #.... ####. #.... #.... #...."},
    Glyph{U'G', ".###. #...# #.... #.### #...# #...# .####"},
    Glyph{U'H', "#...# #...# #...# ##### #...# #...# #...#"},
    Glyph{U'I', ".###. ..#.. ..#.. ..#.. ..#.. ..#.. .###."},
    Glyph{U'J', "..### ...#. ...#. ...#. ...#. #..#. .##.."},
    Glyph{U'K', "#...# #..#. #.#.. ##... #.#.. #..#. #...#"},
    Glyph{U'L', "#.... #.... #.... #.... #.... #.... #####"},
    Glyph{U'M', "#...# ##.## #.#.# #.#.# #...# #...# #...#"},
    Glyph{U'N', "#...# ##..# #.#.# #..## #...# #...# #...#"},
    Glyph{U'O', ".###. #...# #...# #...# #...# #...# .###."},
    Glyph{U'P', "####. #...# #...# ####. #.... #.... #...."},
    Glyph{U'Q', ".###. #...# #...# #...# #.#.# #..#. .##.#"},
    Glyph{U'R', "####. #...# #...# ####. #.#.. #..#. #...#"},
    Glyph{U'S', ".#### #.... #.... .###. ....# ....# ####."},
    Glyph{U'T', "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#.."},
    Glyph{U'U', "#...# #...# #...# #...# #...# #...# .###."},
    Glyph{U'V', "#...# #...# #...# #...# #...# .#.#. ..#.."},
    Glyph{U'W', "#...# #...# #...# #.#.# #.#.# ##.## #...#"},
    Glyph{U'X', "#...# #...# .#.#. ..#.. .#.#. #...# #...#"},
    Glyph{U'Y', "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#.."},
    Glyph{U'Z', "##### ....# ...#. ..#.. .#... #.... #####"},
    Glyph{U'[', ".###. .#... .#... .#... .#... .#... .###."},
    Glyph{U'\\', "#.... #.... .#... ..#.. ...#. ....# ....#"},
    Glyph{U']', ".###. ...#. ...#. ...#. ...#. ...#. .###."},
    Glyph{U'^', "..#.. .#.#. #...# ..... ..... ..... ....."},
    Glyph{U'_', "..... ..... ..... ..... ..... ..... #####"},
    Glyph{U'`', ".#... ..#.. ..... ..... ..... ..... ....."},
    Glyph{U'a', "..... ..... .###. ....# .#### #...# .####"},
    Glyph{U'b', "#.... #.... ####. #...# #...# #...# ####."},
    Glyph{U'c', "..... ..... .###. #...# #.... #...# .###."},
    Glyph{U'd', "....# ....# .#### #...# #...# #...# .####"},
    Glyph{U'e', "..... ..... .###. #...# ##### #.... .###."},
    Glyph{U'f', "..##. .#... ####. .#... .#... .#... .#..."},
    Glyph{U'g', "..... ..... .#### #...# #...# #...# .#### ....# .###."},
    Glyph{U'h', "#.... #.... ####. #...# #...# #...# #...#"},
    Glyph{U'i', "..#.. ..... .##.. ..#.. ..#.. ..#.. .###."},
    Glyph{U'j', "...#. ..... ..##. ...#. ...#. ...#. ...#. #..#. .##.."},
    Glyph{U'k', "#.... #.... #..#. #.#.. ##... #.#.. #..#."},
    Glyph{U'l', ".##.. ..#.. ..#.. ..#.. ..#.. ..#.. .###."},
    Glyph{U'm', "..... ..... ##.#. #.#.# #.#.# #.#.# #.#.#"},
    Glyph{U'n', "..... ..... ####. #...# #...# #...# #...#"},
    Glyph{U'o', "..... ..... .###. #...# #...# #...# .###."},
    Glyph{U'p', "..... ..... ####. #...# #...# #...# ####. #.... #...."},
    Glyph{U'q', "..... ..... .#### #...# #...# #...# .#### ....# ....#"},
    Glyph{U'r', "..... ..... #.##. ##..# #.... #.... #...."},
    Glyph{U's', "..... ..... .#### #.... .###. ....# ####."},
    Glyph{U't', ".#... .#... ####. .#... .#... .#..# ..##."},
    Glyph{U'u', "..... ..... #...# #...# #...# #...# .####"},
    Glyph{U'v', "..... ..... #...# #...# #...# .#.#. ..#.."},
    Glyph{U'w', "..... ..... #...# #...# #.#.# #.#.# .#.#."},
    Glyph{U'x', "..... ..... #...# .#.#. ..#.. .#.#. #...#"},
    Glyph{U'y', "..... ..... #...# #...# #...# #...# .#### ....# .###."},
    Glyph{U'z', "..... ..... ##### ...#. ..#.. .#... #####"},
    Glyph{U'{', "...#. ..#.. ..#.. .#... ..#.. ..#.. ...#."},
    Glyph{U'|', "..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ..#.."},
    Glyph{U'}', ".#... ..#.. ..#.. ...#. ..#.. ..#.. .#..."},
    Glyph{U'~', "..... ..... .#..# #.#.# #..#. ..... ....."},
    Glyph{U'ß', ".##.. #..#. #..#. #.##. #...# #...# #.##."},
    Glyph{U'ø', "..... ..... .##.# #..#. #.#.# .#..# #.##."},
    Glyph{U'ı', "..... ..... .##.. ..#.. ..#.. ..#.. .###."},
    Glyph{U'‐', "..... ..... ..... .###. ..... ..... ....."},
    Glyph{U'–', "..... ..... ..... ##### ..... ..... ....."},
    Glyph{U'—', "..... ..... ..... ##### ..... ..... ....."},
    Glyph{U'‘', "..#.. .#... .#... ..... ..... ..... ....."},
    Glyph{U'’', "..#.. ..#.. .#... ..... ..... ..... ....."},
    Glyph{U'“', ".#.#. #.#.. #.#.. ..... ..... ..... ....."},
    Glyph{U'”', ".#.#. .#.#. #.#.. ..... ..... ..... ....."},
    Glyph{U'„', "..... ..... ..... ..... ..... .#.#. .#.#. #.#.. ....."},
    Glyph{U'…', "..... ..... ..... ..... ..... ..... #.#.#"},
    Glyph{U'␣', "..... ..... ..... ..... ..... #...# #####"},
    Glyph{U'▁', "..... ..... ..... ..... ..... ..... ..... #####"},
};
constexpr std::string_view kUnknown = "##### #...# #...# #...# #...# #...# #####";

/// Rows from the top, above a letter or below it.
struct Accent {
  char32_t mark;  ///< combining, as in canonical decompositions
  std::string_view rows;
  bool below = false;
};
constexpr std::array kAccents = {
    Accent{U'\u0300', ".#... ..#.."},       Accent{U'\u0301', "...#. ..#.."},
    Accent{U'\u0302', "..#.. .#.#."},       Accent{U'\u0303', ".##.# #.##."},
    Accent{U'\u0304', "..... .###."},       Accent{U'\u0306', ".#.#. ..#.."},
    Accent{U'\u0307', "..#.. ....."},       Accent{U'\u0308', ".#.#. ....."},
    Accent{U'\u030A', "..#.. ..#.."},       Accent{U'\u030B', ".#.#. #.#.."},
    Accent{U'\u030C', ".#.#. ..#.."},       Accent{U'\u0323', "..... ..#..", true},
    Accent{U'\u0327', "..#.. .#...", true}, Accent{U'\u0328', ".#... ..#..", true},
};

std::string_view rows_of(char32_t letter) {
  const auto* found =
      std::lower_bound(kGlyphs.begin(), kGlyphs.end(), letter,
                       [](const Glyph& glyph, char32_t wanted) { return glyph.letter < wanted; });
  return found != kGlyphs.end() && found->letter == letter ? found->rows : kUnknown;
}

const Accent* accent_of(char32_t mark) {
  const auto* found = std::find_if(kAccents.begin(), kAccents.end(),
                                   [&](const Accent& accent) { return accent.mark == mark; });
  return found == kAccents.end() ? nullptr : found;
}

/// Letters with what stands above and below them apart.
std::u32string decomposed(std::string_view text) {
  std::u32string letters, apart;
  append_code_points(text, letters);
  append_decomposed(letters, apart);
  return apart;
}

}  // namespace

int64_t width_in_dots(std::string_view text) {
  const std::u32string letters = decomposed(text);
  return kLetterAdvance * std::count_if(letters.begin(), letters.end(), [](char32_t letter) {
           return accent_of(letter) == nullptr;
         });
}

void for_each_dot(std::string_view text, const std::function<void(int64_t x, int64_t y)>& dot) {
  const auto draw = [&](std::string_view rows, int64_t left, int64_t top) {
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i] == '#')
        dot(left + static_cast<int64_t>(i % 6), top + static_cast<int64_t>(i / 6));
  };
  int64_t next = 0;
  std::string_view last;  // the letter that accents belong to
  const std::u32string letters = decomposed(text);
  for (size_t i = 0; i < letters.size(); ++i) {
    if (const Accent* accent = accent_of(letters[i])) {
      // Above a small letter it stands where a capital has its top.
      const bool small = last.starts_with("..... .....");
      draw(accent->rows, next - kLetterAdvance, accent->below ? 0 : small ? -7 : -9);
      continue;
    }
    const bool accented_i = letters[i] == U'i' && i + 1 < letters.size() &&
                            accent_of(letters[i + 1]) != nullptr &&
                            !accent_of(letters[i + 1])->below;
    last = rows_of(accented_i ? U'ı' : letters[i]);
    draw(last, next, -7);
    next += kLetterAdvance;
  }
}

}  // namespace zoo
