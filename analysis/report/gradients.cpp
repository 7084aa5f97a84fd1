// What `gradnorm` and `compare` found: checks of theory and fits as tables, their pictures.

#include <algorithm>

#include "analysis/plot.h"
#include "analysis/report/sections.h"
#include "analysis/report/svg_file.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr size_t kMostRows = 400;  // longer tables are data, which stays in its file

std::string cell(const std::string& key, const Json& value) {
  if (key == "pass" && value.is_boolean())
    return value.get<bool>() ? "<span class=\"pass\">✓ pass</span>"
                             : "<span class=\"fail\">✗ fails</span>";
  if (!value.is_array()) return escaped_xml(json_text(value));
  std::vector<std::string> parts;  // an interval
  for (const Json& part : value) parts.push_back(escaped_xml(json_text(part)));
  return join(parts, " to ");
}

/// Whether it is a list of objects that fit into a row each: of single values, and pairs of them.
bool is_table(const Json& json) {
  return json.is_array() && !json.empty() && json.size() <= kMostRows &&
         std::all_of(json.begin(), json.end(), [](const Json& row) {
           return row.is_object() && std::all_of(row.begin(), row.end(), [](const Json& value) {
                    return !value.is_object() && (!value.is_array() || value.size() <= 2);
                  });
         });
}

std::string table_html(const std::string& caption, const Json& rows) {
  std::vector<std::string> keys, header;
  for (const Json& row : rows)
    for (const auto& [key, value] : row.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  for (const std::string& key : keys) {
    std::string title = key;
    std::replace(title.begin(), title.end(), '_', ' ');
    header.push_back(escaped_xml(title));
  }
  HtmlTable table(caption, header);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& key : keys)
      cells.push_back(row.contains(key) ? cell(key, row[key]) : "–");
    table.add(cells);
  }
  return table.html();
}

std::string title_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  if (!key.empty()) key[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(key[0])));
  return key;
}

/// The tables of a result. Checks come first and stand open.
std::string tables_of(const Json& json) {
  std::string first, rest;
  for (const auto& [key, value] : json.items()) {
    if (!is_table(value)) continue;
    const bool is_checks = key == "checks";
    const auto passed = std::count_if(value.begin(), value.end(), [](const Json& row) {
      return row.contains("pass") && row["pass"] == true;
    });
    std::string title = title_of(key);
    if (is_checks) title += cat(": ", passed, " of ", value.size(), " pass");
    (is_checks ? first : rest) += folded(title, table_html(title, value), is_checks);
  }
  return first + rest;
}

std::vector<fs::path> pictures_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".svg")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Section folder_html(const fs::path& folder) {
  Section made;
  made.html =
      cat("<h3><bdi>", escaped_xml(utf8(fs::canonical(folder).filename())), "</bdi></h3>\n");
  for (const char* name : {"gradnorm.json", "compare.json"}) {
    if (!fs::exists(folder / name)) continue;
    try {
      made.html += tables_of(read_json_file(folder / name));
    } catch (const DataError& error) {
      made.html +=
          cat("<p class=\"fail\">", name, " is left out: ", escaped_xml(error.what()), "</p>\n");
    }
  }
  std::string figures;
  for (const fs::path& file : pictures_of(folder)) {
    const std::string caption = title_of(utf8(file.stem()));
    figures += figure(
        caption, cat("<div class=\"scroll\">", svg_html(read_file(file), caption), "</div>\n"));
    ++made.pictures;
  }
  if (!figures.empty()) made.html += cat("<div class=\"figures large\">\n", figures, "</div>\n");
  return made;
}

}  // namespace

Section gradients_section(const std::vector<fs::path>& folders) {
  Section made;
  for (const fs::path& folder : folders) {
    const Section part = folder_html(folder);
    made.html += part.html;
    made.pictures += part.pictures;
  }
  if (!folders.empty()) made.html = section("gradients", "Gradients", made.html);
  return made;
}

}  // namespace zoo
