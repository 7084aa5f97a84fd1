// What `gradnorm` and `compare` found: checks of theory and results as tables, and their pictures.

#include <algorithm>
#include <array>
#include <cctype>

#include "analysis/plot.h"
#include "analysis/report/sections.h"
#include "analysis/report/svg_file.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr size_t kMostRows = 400;  // longer tables are data, which stays in its file

/// Pictures of `compare` that say what the training curves of the same runs say.
constexpr std::array kAlsoCurves = {"loss-tokens", "loss-seconds", "loss-flops", "grad-norm",
                                    "speed"};

/// "Max rel err" for "max_rel_err".
std::string title_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  if (!key.empty()) key[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(key[0])));
  return key;
}

std::string cell_html(const std::string& key, const Json& value) {
  if (key == "pass" && value.is_boolean())
    return value.get<bool>() ? "<span class=\"pass\">✓ pass</span>"
                             : "<span class=\"fail\">✗ fails</span>";
  if (!value.is_array()) return escaped_xml(json_text(value));
  std::vector<std::string> ends;  // of an interval
  for (const Json& end : value) ends.push_back(escaped_xml(json_text(end)));
  return join(ends, " to ");
}

/// What of an object fits into a row: single values, pairs of them, and the same of the objects in
/// it. Longer lists are curves, which the pictures show.
Json row_of(const Json& object) {
  Json row = Json::object();
  for (const auto& [key, value] : object.items()) {
    if (value.is_object())
      for (const auto& [inner, part] : value.items()) {
        if (!part.is_structured()) row[cat(key, " ", metric_title(inner))] = part;
      }
    else if (!value.is_array() || (value.size() == 2 && !value[0].is_structured()))
      row[key] = value;
  }
  return row;
}

std::string table_html(const std::string& caption, const Json& rows) {
  std::vector<std::string> keys, header;
  for (const Json& row : rows)
    for (const auto& [key, value] : row.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  for (const std::string& key : keys) header.push_back(escaped_xml(title_of(key)));
  HtmlTable table(caption, header);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& key : keys)
      cells.push_back(row.contains(key) ? cell_html(key, row[key]) : "–");
    table.add(cells);
  }
  return table.html();
}

/// Sentences, such as the notes of a comparison.
std::string list_html(const Json& sentences) {
  std::string items;
  for (const Json& sentence : sentences)
    items += cat("<li>", escaped_xml(json_text(sentence)), "</li>\n");
  return cat("<ul class=\"notes\">\n", items, "</ul>\n");
}

/// The lists in a result: of objects, as tables, of which checks and runs stand open; of texts.
std::string tables_of(const Json& result) {
  std::string first, rest;
  for (const auto& [key, value] : result.items()) {
    if (value.is_array() && !value.empty() && value[0].is_string()) first += list_html(value);
    if (value.is_object()) {
      const std::string list = terms(value, {});
      if (!list.empty()) rest += folded(title_of(key), list);
    }
    if (!value.is_array() || value.empty() || value.size() > kMostRows || !value[0].is_object())
      continue;
    Json rows = Json::array();
    for (const Json& object : value)
      if (object.is_object()) rows.push_back(row_of(object));
    const bool is_checks = key == "checks";
    std::string title = title_of(key);
    if (is_checks) {
      const auto passed = std::count_if(rows.begin(), rows.end(), [](const Json& row) {
        return row.contains("pass") && row["pass"] == true;
      });
      title += cat(": ", passed, " of ", rows.size(), " pass");
    }
    const bool is_open = is_checks || key == "runs";
    (is_open ? first : rest) += folded(title, table_html(title, rows), is_open);
  }
  return first + rest;
}

std::string result_html(const fs::path& file) {
  const std::string name = utf8(file.filename());
  try {
    const Json result = read_json_file(file);
    if (result.is_object()) return terms(result, {"version"}) + tables_of(result);
    return cat("<p class=\"fail\">", name, " is left out: it holds ",
               escaped_xml(describe_json(result)), ", not an object</p>\n");
  } catch (const DataError& error) {
    return cat("<p class=\"fail\">", name, " is left out: ", escaped_xml(error.what()), "</p>\n");
  }
}

/// A picture says what it is by its own title, or else by the name of its file.
std::string picture_html(const fs::path& file) {
  const std::string name = title_of(utf8(file.stem()));
  const std::string picture = svg_html(read_file(file), name);
  const bool has_title =
      picture.starts_with("<svg ") && picture.find(" aria-label=\"\"") == std::string::npos;
  return figure(has_title ? "" : name, cat("<div class=\"scroll\">", picture, "</div>\n"));
}

Section folder_html(const fs::path& folder, bool with_runs) {
  Section made;
  made.html = cat("<h3><bdi>", escaped_xml(utf8(folder.filename())), "</bdi></h3>\n");
  for (const char* name : {"gradnorm.json", "compare.json"})
    if (fs::exists(folder / name)) made.html += result_html(folder / name);
  const bool skips_curves = with_runs && fs::exists(folder / "compare.json");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& file = entry.path();
    const bool is_curve =
        std::find(kAlsoCurves.begin(), kAlsoCurves.end(), utf8(file.stem())) != kAlsoCurves.end();
    if (entry.is_regular_file() && file.extension() == ".svg" && !(skips_curves && is_curve))
      files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  made.pictures = static_cast<int64_t>(files.size());
  std::string figures;
  for (const fs::path& file : files) figures += picture_html(file);
  if (!figures.empty()) made.html += cat("<div class=\"figures large\">\n", figures, "</div>\n");
  return made;
}

}  // namespace

Section measurements_section(const std::vector<fs::path>& folders, bool with_runs) {
  Section made;
  for (const fs::path& folder : folders) {
    const Section part = folder_html(folder, with_runs);
    made.html += part.html;
    made.pictures += part.pictures;
  }
  if (!folders.empty()) made.html = section("measurements", "Measurements", made.html);
  return made;
}

}  // namespace zoo
