#include "core/utf8.h"

#include <algorithm>
#include <cstdio>

#include "core/error.h"

namespace zoo {

namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

/// What may follow a lead byte: the number of bytes after it and the range of the first of them.
struct Lead {
  uint32_t following;
  unsigned char low, high;
};

/// Table 3-7 of the standard: well-formed sequences.
Lead lead_of(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};  // no surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};  // nothing above U+10FFFF
  return {0, 0, 0};
}

}  // namespace

Utf8Step next_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1, true, false};
  const Lead lead = lead_of(byte(0));
  if (lead.following == 0) return {kReplacement, 1, false, false};
  char32_t code_point = byte(0) & (0x3F >> lead.following);
  for (uint32_t i = 1; i <= lead.following; ++i) {
    if (i == text.size()) return {kReplacement, i, false, true};
    const unsigned char low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xBF;
    if (byte(i) < low || byte(i) > high) return {kReplacement, i, false, false};
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  return {code_point, lead.following + 1, true, false};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto add = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (code_point < 0x80) {
    add(code_point);
    return;
  }
  if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      add(0xE0 | code_point >> 12);
    } else {
      add(0xF0 | code_point >> 18);
      add(0x80 | (code_point >> 12 & 0x3F));
    }
    add(0x80 | (code_point >> 6 & 0x3F));
  }
  add(0x80 | (code_point & 0x3F));
}

std::string code_point_name(char32_t code_point) {
  char name[16];
  std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(code_point));
  return name;
}

std::string text_position(std::string_view text, size_t offset) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(offset), '\n');
  return cat("offset ", offset, " (line ", line, ")");
}

std::string Utf8Buffer::push(std::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    joined = pending_.append(bytes);
    pending_.clear();
    bytes = joined;
  }
  std::string out;
  while (!bytes.empty()) {
    const Utf8Step step = next_utf8(bytes);
    if (step.truncated) {
      pending_ = bytes;
      break;
    }
    out += step.valid || !replace_invalid_ ? bytes.substr(0, step.length) : kReplacementBytes;
    bytes.remove_prefix(step.length);
  }
  return out;
}

std::string Utf8Buffer::finish() {
  std::string rest;
  rest.swap(pending_);
  return rest.empty() || !replace_invalid_ ? rest : std::string(kReplacementBytes);
}

}  // namespace zoo
