#pragma once
// Small helpers for text in messages and files; UTF-8 throughout.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zoo {

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);  ///< without ASCII white space at both ends

/// Levenshtein distance in bytes, with swapped neighbours counted as one edit.
size_t edit_distance(std::string_view a, std::string_view b);

/// The entry of `known` nearest to `name` if it is near enough to be a slip of the keyboard, else
/// "".
std::string nearest(std::string_view name, const std::vector<std::string>& known);

/// Whether the whole of `text` fits `pattern`, with * for any text and ? for any byte.
bool matches_pattern(std::string_view text, std::string_view pattern);

/// Nothing but ASCII white space, or nothing at all.
bool is_blank(std::string_view text);

/// Bytes as text of RFC 4648, section 4.
std::string base64(std::string_view bytes);

/// "0.1250" with digits = 4.
std::string fixed(double value, int digits);
/// "0.1235", "1.235e-07" with digits = 4: as many of them as matter.
std::string significant(double value, int digits);
/// "124,439,808"
std::string with_thousands(int64_t number);
/// "284.8 M"
std::string human_count(double count);
/// "1.5 GB": powers of 1,000, as disks and the field's tables count.
std::string human_bytes(double bytes);
/// The same with three digits: "1.34 GB", "10.7 GB", "120 GB".
std::string exact_bytes(double bytes);
/// "2h 03m", "3m 20s", "12.3s"
std::string human_seconds(double seconds);

/// A field of a CSV file, in quotes where it has to be (RFC 4180).
std::string csv_field(std::string_view text);
/// A number for a CSV file: the shortest text that reads back as the same one; NaN and infinity
/// leave the field empty.
std::string csv_number(double value);

/// Calls use(line) for each line of `text`: only LF ends a line, one CR before it is dropped, the
/// last LF may be missing.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    use(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace zoo
