#pragma once
// Passes over a text, of bytes or of code points, that put blanks where tokenizers written as
// regular expressions do: from left to right, what one match took is not looked at by the next.

#include <string>
#include <string_view>

#include "core/unicode.h"

namespace zoo {

/// Appends a text, with blanks around each character that fits.
template <class Fits>
void append_apart(std::string_view text, std::string& out, const Fits& fits) {
  for_each_code_point(text, [&](char32_t c, std::string_view bytes) {
    const bool apart = fits(c);
    if (apart) out += ' ';
    out += bytes;
    if (apart) out += ' ';
  });
}

/// Writes `out` anew; there is room for two blanks beside each character of `in`.
template <class Text>
class PassWriter {
 public:
  PassWriter(const Text& in, Text& out) : out_(out) {
    out_.resize(3 * in.size());
    next_ = out_.data();
  }
  ~PassWriter() { out_.resize(static_cast<size_t>(next_ - out_.data())); }
  PassWriter(const PassWriter&) = delete;
  PassWriter& operator=(const PassWriter&) = delete;
  void write(typename Text::value_type c) { *next_++ = c; }
  void write_blank_if(bool wanted) {
    if (wanted) write(' ');
  }

 private:
  Text& out_;
  typename Text::value_type* next_;
};

/// Blanks around each character that fits.
template <class Text, class Fits>
void set_apart(const Text& in, Text& out, const Fits& fits) {
  PassWriter writer(in, out);
  for (const auto c : in) {
    const bool apart = fits(c);
    writer.write_blank_if(apart);
    writer.write(c);
    writer.write_blank_if(apart);
  }
}

/// Of each pair of neighbours that fit, blanks around the second.
template <class Text, class First, class Second>
void set_second_apart(const Text& in, Text& out, const First& first, const Second& second) {
  PassWriter writer(in, out);
  for (size_t i = 0; i < in.size(); ++i) {
    writer.write(in[i]);
    if (i + 1 == in.size() || !second(in[i + 1]) || !first(in[i])) continue;
    writer.write(' ');
    writer.write(in[++i]);
    writer.write(' ');
  }
}

/// Of each pair of neighbours that fit, blanks around the first.
template <class Text, class First, class Second>
void set_first_apart(const Text& in, Text& out, const First& first, const Second& second) {
  PassWriter writer(in, out);
  for (size_t i = 0; i < in.size(); ++i) {
    const bool apart = i + 1 < in.size() && first(in[i]) && second(in[i + 1]);
    writer.write_blank_if(apart);
    writer.write(in[i]);
    if (!apart) continue;
    writer.write(' ');
    writer.write(in[++i]);
  }
}

inline bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
inline bool is_period_or_comma(char32_t c) { return c == '.' || c == ','; }

/// ASCII punctuation that is always a token: all but ' - . and ,
inline bool is_free_punctuation(char32_t c) {
  return c == '/' || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// The four passes of mteval-v13a.pl for Western languages, which tercom has as well.
template <class Text>
void split_western_period_and_dash(Text& text, Text& spare) {
  const auto is_dash = [](char32_t c) { return c == '-'; };
  const auto is_no_digit = [](char32_t c) { return !is_digit(c); };
  set_second_apart(text, spare, is_no_digit, is_period_or_comma);
  set_first_apart(spare, text, is_period_or_comma, is_no_digit);
  set_second_apart(text, spare, is_digit, is_dash);
  text.swap(spare);
}

/// Replaces each `from`, from left to right.
inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// The four escapes of XML that the evaluation scripts undo, one after the other.
inline void unescape_xml(std::string& text) {
  if (text.find('&') == std::string::npos) return;
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
}

}  // namespace zoo
