#include "core/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace zoo {

namespace {

utf8proc_category_t category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

/// Letters with case, and what Unicode counts as such: Other_Lowercase and Other_Uppercase.
bool is_cased(char32_t c) {
  static constexpr CharRange kOthers[] = {
      {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
      {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x10FC, 0x10FC},
      {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},
      {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2160, 0x217F},   {0x24B6, 0x24E9},
      {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F2, 0xA7F4},
      {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},   {0xAB69, 0xAB69},   {0x10780, 0x10780},
      {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x1E030, 0x1E06D},
      {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return is_in(kOthers, c);
  }
}

/// Characters that the search for a neighbour with case looks through (Case_Ignorable).
bool is_case_ignorable(char32_t c) {
  static constexpr CharRange kInsideWords[] = {
      // Word_Break: MidLetter, MidNumLet, Single_Quote
      {0x27, 0x27},     {0x2E, 0x2E},     {0x3A, 0x3A},     {0xB7, 0xB7},
      {0x387, 0x387},   {0x55F, 0x55F},   {0x5F4, 0x5F4},   {0x2018, 0x2019},
      {0x2024, 0x2024}, {0x2027, 0x2027}, {0xFE13, 0xFE13}, {0xFE52, 0xFE52},
      {0xFE55, 0xFE55}, {0xFF07, 0xFF07}, {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1A}};
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return is_in(kInsideWords, c);
  }
}

constexpr char32_t kCapitalSigma = 0x3A3, kFinalSigma = 0x3C2, kSmallSigma = 0x3C3;

/// A capital sigma after a letter and before none becomes the form for the ends of words.
bool ends_word(const std::u32string& text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

}  // namespace

bool is_in(std::span<const CharRange> ranges, char32_t code_point) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code_point,
                       [](char32_t value, const CharRange& range) { return value < range.first; });
  return after != ranges.begin() && code_point <= (after - 1)->second;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t white_space_length(std::string_view text) {
  const Utf8Step step = next_utf8(text);
  return step.valid && is_white_space(step.code_point) ? step.length : 0;
}

std::string_view trim_unicode_end(std::string_view text) {
  while (!text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && text.size() - last < 4 && (text[last] & 0xC0) == 0x80) --last;
    if (white_space_length(text.substr(last)) != text.size() - last) break;
    text = text.substr(0, last);
  }
  return text;
}

std::string_view trim_unicode(std::string_view text) {
  while (!text.empty()) {
    const size_t space = white_space_length(text);
    if (space == 0) break;
    text.remove_prefix(space);
  }
  return trim_unicode_end(text);
}

CharClass char_class(char32_t code_point) {
  const auto classify = [](char32_t c) {
    switch (category(c)) {
      case UTF8PROC_CATEGORY_LU:
      case UTF8PROC_CATEGORY_LL:
      case UTF8PROC_CATEGORY_LT:
      case UTF8PROC_CATEGORY_LM:
      case UTF8PROC_CATEGORY_LO:
        return CharClass::letter;
      case UTF8PROC_CATEGORY_MN:
      case UTF8PROC_CATEGORY_MC:
      case UTF8PROC_CATEGORY_ME:
        return CharClass::mark;
      case UTF8PROC_CATEGORY_ND:
      case UTF8PROC_CATEGORY_NL:
      case UTF8PROC_CATEGORY_NO:
        return CharClass::number;
      case UTF8PROC_CATEGORY_PC:
      case UTF8PROC_CATEGORY_PD:
      case UTF8PROC_CATEGORY_PS:
      case UTF8PROC_CATEGORY_PE:
      case UTF8PROC_CATEGORY_PI:
      case UTF8PROC_CATEGORY_PF:
      case UTF8PROC_CATEGORY_PO:
        return CharClass::punctuation;
      case UTF8PROC_CATEGORY_SM:
      case UTF8PROC_CATEGORY_SC:
      case UTF8PROC_CATEGORY_SK:
      case UTF8PROC_CATEGORY_SO:
        return CharClass::symbol;
      case UTF8PROC_CATEGORY_ZS:
      case UTF8PROC_CATEGORY_ZL:
      case UTF8PROC_CATEGORY_ZP:
        return CharClass::separator;
      default:
        return CharClass::other;
    }
  };
  static const auto ascii_classes = [&] {
    std::array<CharClass, 128> table{};
    for (char32_t c = 0; c < table.size(); ++c) table[c] = classify(c);
    return table;
  }();
  return code_point < ascii_classes.size() ? ascii_classes[code_point] : classify(code_point);
}

void append_code_points(std::string_view text, std::u32string& out) {
  for_each_code_point(text, [&](char32_t c, std::string_view) { out += c; });
}

void append_lower_case(std::string_view text, std::string& out) {
  if (is_ascii(text)) {
    const size_t start = out.size();
    out.resize(start + text.size());
    std::transform(text.begin(), text.end(), out.begin() + static_cast<long>(start), lower_ascii);
    return;
  }
  std::u32string code_points;  // only a sigma looks at its neighbours
  if (text.find("\u03A3") != std::string_view::npos) append_code_points(text, code_points);
  for (size_t index = 0; !text.empty(); ++index) {
    const Utf8Step step = next_utf8(text);
    const char32_t c = step.code_point;
    if (!step.valid)
      out += text.substr(0, step.length);
    else if (c == 0x130)  // capital I with dot, the only one that becomes two characters
      out += "i\u0307";
    else if (c == kCapitalSigma)
      append_utf8(out, ends_word(code_points, index) ? kFinalSigma : kSmallSigma);
    else
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    text.remove_prefix(step.length);
  }
}

void append_lower_case(char32_t code_point, std::u32string& out) {
  if (code_point == 0x130)
    out += U"i\u0307";
  else
    out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point)));
}

std::string composed(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  std::string out;
  std::vector<utf8proc_int32_t> run;  // characters since the last bytes that are none
  const auto finish_run = [&] {
    constexpr auto kForm = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    std::string bytes;
    for (const utf8proc_int32_t c : run) append_utf8(bytes, static_cast<char32_t>(c));
    run.resize(4 * run.size() + 1);  // see append_decomposed(); one more as the call wants a buffer
    const utf8proc_ssize_t size =
        utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                           static_cast<utf8proc_ssize_t>(bytes.size()), run.data(),
                           static_cast<utf8proc_ssize_t>(run.size()), kForm);
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(run.data(), size, kForm);
    for (utf8proc_ssize_t i = 0; i < count; ++i)
      append_utf8(out, static_cast<char32_t>(run[static_cast<size_t>(i)]));
    run.clear();
  };
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (step.valid) {
      run.push_back(static_cast<utf8proc_int32_t>(step.code_point));
    } else {
      finish_run();
      out += text.substr(0, step.length);
    }
    text.remove_prefix(step.length);
  }
  finish_run();
  return out;
}

void append_decomposed(std::u32string_view text, std::u32string& out) {
  std::string bytes;
  for (const char32_t c : text) append_utf8(bytes, c);
  // No character's canonical decomposition has more than four.
  std::vector<utf8proc_int32_t> buffer(4 * text.size());
  const utf8proc_ssize_t size =
      utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                         static_cast<utf8proc_ssize_t>(bytes.size()), buffer.data(),
                         static_cast<utf8proc_ssize_t>(buffer.size()), UTF8PROC_DECOMPOSE);
  for (utf8proc_ssize_t i = 0; i < size; ++i)
    out += static_cast<char32_t>(buffer[static_cast<size_t>(i)]);
}

}  // namespace zoo
