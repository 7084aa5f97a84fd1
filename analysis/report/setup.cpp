// How the runs came to be: commands, versions, machines, data, configs and what differs in them.

#include <algorithm>
#include <map>

#include "analysis/plot.h"
#include "analysis/report/sections.h"
#include "core/text.h"

namespace zoo {

namespace {

std::string pretty(const Json& json) {
  return cat("<pre tabindex=\"0\">",
             escaped_xml(json.dump(2, ' ', false, Json::error_handler_t::replace)), "</pre>\n");
}

std::string session_html(const Json& session) {
  std::string html;
  if (const auto command = session.find("command");
      command != session.end() && command->is_string() && !command->get<std::string>().empty())
    html = cat("<div class=\"command\"><pre>", escaped_xml(command->get<std::string>()),
               "</pre></div>\n");
  return html + terms(session, {"command"});
}

std::string setup_of(const std::vector<RunRecord>& runs, size_t index) {
  const RunRecord& run = runs[index];
  std::string html = cat("<h3>", run_label(runs, index), "</h3>\n");
  const Json sessions = run.receipt_at("/sessions");
  if (sessions.is_array() && sessions.size() > 1)
    html += cat("<p>Trained in ", sessions.size(), " sessions, the later ones resumed.</p>\n");
  if (sessions.is_array())
    for (const Json& session : sessions)
      if (session.is_object()) html += session_html(session);
  Json rest = Json::object();
  for (const char* key : {"status", "error", "seed", "parameters"})
    if (const Json value = run.receipt_at(cat("/", key)); !value.is_null()) rest[key] = value;
  html += terms(rest, {});
  for (const auto& [title, json] : {std::pair{"Data", run.receipt_at("/data")},
                                    {"Result", run.receipt_at("/result")},
                                    {"Config", run.config}})
    if (json.is_structured()) html += folded(cat(title, " of ", run.name), pretty(json));
  return html;
}

/// Keys of the configs whose values are not the same in all runs; empty if there are none.
std::string differences(const std::vector<RunRecord>& runs) {
  std::vector<std::string> keys;
  std::vector<std::map<std::string, std::string>> values(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].config.is_object()) continue;
    const Json flat = runs[i].config.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      std::string key = pointer.substr(1);
      std::replace(key.begin(), key.end(), '/', '.');
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      values[i][key] = json_text(value);
    }
  }
  std::vector<std::string> header = {"key"};
  for (size_t i = 0; i < runs.size(); ++i) header.push_back(run_label(runs, i));
  HtmlTable table("Differences of the configs", header);
  for (const std::string& key : keys) {
    std::vector<std::string> row = {cat("<code>", escaped_xml(key), "</code>")};
    for (const auto& config : values) {
      const auto found = config.find(key);
      row.push_back(found == config.end() ? "–" : escaped_xml(found->second));
    }
    if (std::any_of(row.begin() + 2, row.end(), [&](const auto& cell) { return cell != row[1]; }))
      table.add(row);
  }
  if (table.empty()) return "<p>The configs are the same.</p>\n";
  constexpr size_t kShort = 20;
  return folded(cat("What differs in the configs (", table.rows(), " keys)"), table.html(),
                table.rows() <= kShort);
}

}  // namespace

std::string setup_section(const std::vector<RunRecord>& runs) {
  if (runs.empty()) return "";
  std::string html = runs.size() > 1 ? differences(runs) : "";
  for (size_t i = 0; i < runs.size(); ++i) html += setup_of(runs, i);
  return section("setup", "Commands, machines and configs", html);
}

}  // namespace zoo
