#include "evaluation/bleu_tokenizer.h"

#include "core/unicode.h"
#include "core/utf8.h"
#include "evaluation/text_passes.h"

namespace zoo {

namespace {

/// What sacreBLEU holds for Chinese. Two of its ranges, meant for the planes above U+FFFF, are
/// written with four digits and one more character: they cover U+2001 … U+2A6D, with the quotation
/// marks “ ”, and U+2F81 … U+2FA1 instead.
bool is_chinese(char32_t c) {
  static constexpr char32_t kRanges[][2] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F},
      {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D},
      {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
  for (const auto& [first, last] : kRanges)
    if (c >= first && c <= last) return true;
  return false;
}

}  // namespace

std::string_view BleuTokenizer::operator()(std::string_view line) {
  text_.clear();
  switch (kind_) {
    case BleuTokenization::none:
      return line;
    case BleuTokenization::v13a:
      text_ += ' ';
      text_ += line;
      text_ += ' ';
      if (text_.find('<') != std::string::npos) replace_all(text_, "<skipped>", "");
      unescape_xml(text_);
      split_western();
      break;
    case BleuTokenization::chinese:
      append_apart(trim_unicode(line), text_, is_chinese);
      split_western();
      break;
    case BleuTokenization::characters:
      append_apart(line, text_, [](char32_t) { return true; });
      break;
    case BleuTokenization::international:
      wide_.clear();
      append_code_points(line, wide_);
      split_international();
      break;
  }
  return text_;
}

void BleuTokenizer::split_western() {
  set_apart(text_, next_,
            [](char c) { return is_free_punctuation(static_cast<unsigned char>(c)); });
  text_.swap(next_);
  split_western_period_and_dash(text_, next_);
}

void BleuTokenizer::split_international() {
  const auto is_no_number = [](char32_t c) { return char_class(c) != CharClass::number; };
  const auto is_punctuation = [](char32_t c) { return char_class(c) == CharClass::punctuation; };
  set_second_apart(wide_, next_wide_, is_no_number, is_punctuation);
  set_first_apart(next_wide_, wide_, is_punctuation, is_no_number);
  for (const char32_t c : wide_) {
    const bool apart = char_class(c) == CharClass::symbol;
    if (apart) text_ += ' ';
    append_utf8(text_, c);
    if (apart) text_ += ' ';
  }
}

const char* name_of(BleuTokenization kind) {
  switch (kind) {
    case BleuTokenization::v13a:
      return "13a";
    case BleuTokenization::international:
      return "intl";
    case BleuTokenization::chinese:
      return "zh";
    case BleuTokenization::characters:
      return "char";
    case BleuTokenization::none:
      break;
  }
  return "none";
}

}  // namespace zoo
