#include "tokenizer/byte_alphabet.h"

#include "core/utf8.h"

namespace zoo {

namespace {

std::array<char32_t, 256> code_points() {
  std::array<char32_t, 256> points{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    points[byte] = visible ? byte : next++;
  }
  return points;
}

}  // namespace

const std::array<std::string, 256>& byte_alphabet() {
  static const auto alphabet = [] {
    std::array<std::string, 256> characters;
    const auto points = code_points();
    for (size_t byte = 0; byte < 256; ++byte) append_utf8(characters[byte], points[byte]);
    return characters;
  }();
  return alphabet;
}

std::string piece_of_bytes(std::string_view bytes) {
  std::string piece;
  for (const char byte : bytes) piece += byte_alphabet()[static_cast<unsigned char>(byte)];
  return piece;
}

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  static const auto byte_of = [] {
    std::array<int, 0x144> bytes;
    bytes.fill(-1);
    const auto points = code_points();
    for (int byte = 0; byte < 256; ++byte) bytes[points[static_cast<size_t>(byte)]] = byte;
    return bytes;
  }();
  std::string bytes;
  while (!piece.empty()) {
    const Utf8Step step = next_utf8(piece);
    if (step.code_point >= byte_of.size() || byte_of[step.code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_of[step.code_point]);
    piece.remove_prefix(step.length);
  }
  return bytes;
}

}  // namespace zoo
