#pragma once
// Letters made of dots, for text in pictures that no browser draws: ASCII, Latin letters with
// accents, and the marks of subword tokenizers. No torch here.

#include <cstdint>
#include <functional>
#include <string_view>

namespace zoo {

/// From one letter to the next, in dots; the letters are 5 wide.
constexpr int64_t kLetterAdvance = 6;

/// The width of a text in dots, the last letter's gap included. Accents take no room.
int64_t width_in_dots(std::string_view text);

/// Calls dot(x, y) for each dot of the text: x from 0 to the right, y downwards. Capitals fill the
/// rows -7 to -1, their accents reach up to row -9, descenders down to row 1. Letters that the font
/// lacks are a frame.
/// @param text UTF-8
void for_each_dot(std::string_view text, const std::function<void(int64_t x, int64_t y)>& dot);

}  // namespace zoo
