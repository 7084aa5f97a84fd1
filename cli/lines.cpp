#include "cli/lines.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace zoo::cli {

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\r')
      line += "\\r";
    else
      line += c;
  }
  return line;
}

std::string unescaped(std::string_view flag, std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      plain += text[i];
      continue;
    }
    constexpr std::string_view kNames = "ntr\\", kValues = "\n\t\r\\";
    const size_t at = ++i < text.size() ? kNames.find(text[i]) : std::string_view::npos;
    if (at == std::string_view::npos)
      throw ConfigError(cat(flag, ": \"", text,
                            "\" holds a backslash that escapes nothing; allowed: ",
                            R"(\n, \t, \r, and \\ for a backslash)"));
    plain += kValues[at];
  }
  return plain;
}

std::vector<std::string> read_labels(const std::string& file, size_t count) {
  std::vector<std::string> names;
  for_each_line(read_file(utf8_path(file)),
                [&](std::string_view line) { names.emplace_back(line); });
  if (names.size() != count)
    throw DataError(cat(file, ": names ", names.size(), " classes, but the model has ", count,
                        "; give a line for each"));
  return names;
}

}  // namespace zoo::cli
