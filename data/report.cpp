#include "data/report.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "data/text_chunks.h"

namespace zoo {

namespace {

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

}  // namespace

TextReport report_text(const fs::path& path, const Tokenizer* tokenizer) {
  TextReport report;
  report.path = path;
  const MappedFile file(path);
  const std::string_view text = file.text();
  report.bytes = static_cast<int64_t>(text.size());
  report.ends_with_newline = text.empty() || text.back() == '\n';
  report.sha256 = sha256_file(path);

  std::unordered_set<size_t> seen_lines;
  std::unordered_set<char32_t> alphabet;
  size_t place = 0;  // of the line in the text
  for_each_line(text, [&](std::string_view line) {
    ++report.lines;
    place += line.size();
    if (place < text.size() && text[place] == '\r') {
      ++report.carriage_returns;
      ++place;
    }
    ++place;
    report.inner_carriage_returns += std::count(line.begin(), line.end(), '\r');
    if (is_blank(line))
      ++report.blank_lines;
    else if (!seen_lines.insert(std::hash<std::string_view>{}(line)).second)
      ++report.duplicate_lines;

    int64_t length = 0;
    bool in_word = false;
    for (std::string_view rest = line; !rest.empty(); ++length) {
      const Utf8Step step = next_utf8(rest);
      rest.remove_prefix(step.length);
      if (!step.valid) {
        report.invalid_bytes += step.length;
        if (report.first_invalid_line == 0) report.first_invalid_line = report.lines;
        continue;
      }
      alphabet.insert(step.code_point);
      if (is_control(step.code_point)) ++report.control_characters;
      const bool blank =
          step.code_point == ' ' || step.code_point == '\t' || step.code_point == '\r';
      if (!blank && !in_word) ++report.words;
      in_word = !blank;
    }
    report.characters += length;
    report.longest_line = std::max(report.longest_line, length);
  });
  // Line feeds are characters too.
  const int64_t feeds = report.lines - (report.ends_with_newline ? 0 : 1);
  report.characters += feeds;
  report.distinct_characters = static_cast<int64_t>(alphabet.size()) + (feeds > 0 ? 1 : 0);
  if (tokenizer != nullptr) {
    report.tokens = 0;
    for_each_chunk(path, [&](std::string_view chunk) {
      report.tokens += static_cast<int64_t>(tokenizer->encode(chunk).size());
    });
  }
  return report;
}

std::vector<Finding> check_texts(const std::vector<TextReport>& reports, bool parallel) {
  std::vector<Finding> findings;
  for (const TextReport& report : reports) {
    const auto add = [&](bool is_error, const auto&... parts) {
      findings.push_back({is_error, cat(utf8(report.path), ": ", parts...)});
    };
    if (report.lines == report.blank_lines) add(true, "holds no text");
    if (report.invalid_bytes > 0)
      add(true, report.invalid_bytes, " bytes are no UTF-8, the first in line ",
          report.first_invalid_line, "; convert the file, for example with iconv");
    if (report.control_characters > 0) add(false, report.control_characters, " control characters");
    if (report.inner_carriage_returns > 0)
      add(false, report.inner_carriage_returns,
          " carriage returns within lines are read as blanks");
    if (report.carriage_returns > 0 && report.carriage_returns < report.lines)
      add(false, report.carriage_returns, " of ", report.lines,
          " lines end in CRLF, the others in LF; both are read alike");
    if (report.blank_lines > 0 && report.lines > report.blank_lines)
      add(false, report.blank_lines, " of ", report.lines, " lines are blank");
    if (report.duplicate_lines > 0)
      add(false, report.duplicate_lines, " of ", report.lines, " lines repeat an earlier one");
  }
  if (parallel)
    for (size_t i = 1; i < reports.size(); ++i)
      if (reports[i].lines != reports[0].lines)
        findings.push_back({true, cat(utf8(reports[0].path), " has ", reports[0].lines, " lines, ",
                                      utf8(reports[i].path), " has ", reports[i].lines,
                                      "; parallel files need equally many")});
  return findings;
}

}  // namespace zoo
