#pragma once
// GPT-2 writes a token's bytes as visible characters, one for each byte: printable ASCII and
// Latin-1 stand for themselves, the other 68 bytes for U+0100 … U+0143, so that a blank is "Ġ".

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace zoo {

/// The character of each byte, in UTF-8.
const std::array<std::string, 256>& byte_alphabet();

/// `bytes` written with it.
std::string piece_of_bytes(std::string_view bytes);

/// The bytes that `piece` stands for; none if it holds a character that stands for no byte.
std::optional<std::string> bytes_of_piece(std::string_view piece);

}  // namespace zoo
