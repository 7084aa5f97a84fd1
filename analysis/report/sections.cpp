#include "analysis/report/sections.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analysis/plot.h"
#include "analysis/plot_parts.h"
#include "core/text.h"

namespace zoo {

namespace {

/// Whether a cell of HTML reads as a number or a time: "1,234", "0.98", "2e-05", "2h 03m", "–".
bool is_number(const std::string& cell) {
  if (cell == "–") return true;
  const size_t first = cell.starts_with('-') ? 1 : 0;
  return cell.size() > first && std::isdigit(static_cast<unsigned char>(cell[first])) != 0 &&
         cell.find_first_not_of("0123456789.,e+- hms") == std::string::npos;
}

}  // namespace

std::string section(const std::string& id, const std::string& title, const std::string& content) {
  return cat("<section id=\"", id, "\" aria-labelledby=\"", id, "-title\">\n<h2 id=\"", id,
             "-title\">", escaped_xml(title), "</h2>\n", content, "</section>\n");
}

std::string folded(const std::string& summary, const std::string& content, bool open) {
  return cat("<details", open ? " open" : "", "><summary>", escaped_xml(summary), "</summary>\n",
             content, "</details>\n");
}

std::string figure(const std::string& caption, const std::string& picture) {
  return cat("<figure>",
             caption.empty()
                 ? ""
                 : cat("<figcaption><strong>", escaped_xml(caption), "</strong></figcaption>\n"),
             picture, "</figure>\n");
}

std::string terms(const Json& object, const std::vector<std::string>& left_out) {
  std::string list;
  for (const auto& [key, value] : object.items()) {
    if (value.is_structured() || std::find(left_out.begin(), left_out.end(), key) != left_out.end())
      continue;
    std::string title = key;
    std::replace(title.begin(), title.end(), '_', ' ');
    const bool is_bytes = key.ends_with("_bytes") && value.is_number();
    if (is_bytes) title.resize(title.size() - 6);
    list += cat("<div><dt>", escaped_xml(title), "</dt><dd>",
                escaped_xml(is_bytes ? human_bytes(value.get<double>()) : json_text(value)),
                "</dd></div>\n");
  }
  return list.empty() ? "" : cat("<dl>\n", list, "</dl>\n");
}

std::string run_label(const std::vector<RunRecord>& runs, size_t index) {
  return cat("<span class=\"run\"><span class=\"swatch r", index, "\"></span><bdi>",
             escaped_xml(runs[index].name), "</bdi></span>");
}

std::string HtmlTable::html() const {
  std::vector<bool> numeric(header_.size(), true);
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) numeric[i] = numeric[i] && is_number(row[i]);
  const auto place = [&](size_t column) {
    return column > 0 && numeric[column] ? " class=\"number\"" : "";
  };
  std::string out = cat("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"",
                        escaped_xml(caption_), "\"><table>\n<thead><tr>");
  for (size_t i = 0; i < header_.size(); ++i)
    out += cat("<th scope=\"col\"", place(i), ">", header_[i], "</th>");
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      out += i == 0 ? cat("<th scope=\"row\">", row[i], "</th>")
                    : cat("<td", place(i), ">", row[i], "</td>");
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string metric_title(const std::string& name) {
  std::string title = name.starts_with("valid_") ? name.substr(6) : name;
  for (char& c : title)
    if (c == '_') c = ' ';
  if (title == "bleu") return "BLEU";
  if (title == "macro f1") return "macro F1";
  return title;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "–";
  const double size = std::abs(value);
  if (size >= 1e4 && size < 1e15) return with_thousands(std::llround(value));
  if (size < 1e4 && value == std::floor(value)) return fixed(value, 0);
  return plot::value_text(value);
}

std::string json_text(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number()) return number_text(json.get<double>());
  if (json.is_null()) return "–";
  // What is not UTF-8 in a text becomes U+FFFD.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace zoo
