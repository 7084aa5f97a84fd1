#include "analysis/report.h"

#include <algorithm>

#include "analysis/plot.h"
#include "analysis/report/page_assets.h"
#include "analysis/report/run_record.h"
#include "analysis/report/sections.h"
#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr size_t kMostRuns = 8;  // colours of analysis/plot.h

/// Folders that were named, and those in them, by what they hold; each once.
struct Found {
  std::vector<fs::path> runs, measurements;
};

void add_once(std::vector<fs::path>& list, const fs::path& folder) {
  const fs::path path = fs::canonical(folder);
  if (std::find(list.begin(), list.end(), path) == list.end()) list.push_back(path);
}

bool is_measurement_folder(const fs::path& folder) {
  if (fs::exists(folder / "gradnorm.json") || fs::exists(folder / "compare.json")) return true;
  return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(),
                     [](const auto& entry) { return entry.path().extension() == ".svg"; });
}

bool add_folder(const fs::path& folder, Found& found) {
  const bool is_run = is_run_folder(folder), is_measurement = is_measurement_folder(folder);
  if (is_run) add_once(found.runs, folder);
  if (is_measurement) add_once(found.measurements, folder);
  return is_run || is_measurement;
}

Found find_all(const std::vector<fs::path>& folders) {
  Found found;
  for (const fs::path& folder : folders) {
    const std::string name = utf8(folder);
    if (!fs::exists(folder))
      throw DataError(name +
                      ": there is no such folder; give the folder of a run, or one that "
                      "gradnorm or compare wrote");
    if (!fs::is_directory(folder))
      throw DataError(name +
                      ": is a file; give the folder of a run, or one that gradnorm or "
                      "compare wrote (files of attention maps: --attention FILE)");
    bool any = add_folder(folder, found);
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_directory() && !entry.is_symlink()) inside.push_back(entry.path());
    std::sort(inside.begin(), inside.end());
    for (const fs::path& part : inside) any = add_folder(part, found) || any;
    if (!any)
      throw DataError(cat(name,
                          ": holds neither a run (run.json, metrics.jsonl) nor what gradnorm "
                          "or compare wrote (gradnorm.json, compare.json, *.svg)"));
  }
  if (found.runs.size() > kMostRuns)
    throw DataError(cat(found.runs.size(), " runs; a page compares at most ", kMostRuns,
                        ", since there are no more colours that one can tell apart: name fewer"));
  return found;
}

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// What the page may do, so that nothing in the runs' files can make it do more: its own script,
/// its own style, pictures that stand in it; no network.
std::string policy() {
  return cat("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-",
             base64(bytes_of_hex(sha256(kPageJs))), "'; base-uri 'none'; form-action 'none'");
}

std::string title_of(const ReportInputs& inputs, const std::vector<RunRecord>& runs,
                     const std::vector<fs::path>& measurements) {
  if (!inputs.title.empty()) return inputs.title;
  std::vector<std::string> names;
  for (const RunRecord& run : runs) names.push_back(run.name);
  if (runs.empty())
    for (const fs::path& folder : measurements) names.push_back(utf8(folder.filename()));
  if (names.empty()) return "Attention maps";
  constexpr size_t kFew = 3;
  return names.size() > kFew ? cat(names.size(), runs.empty() ? " measurements" : " runs")
                             : join(names, ", ");
}

std::string navigation(const std::vector<std::pair<const char*, const char*>>& sections,
                       const std::string& body) {
  std::string links;
  for (const auto& [id, title] : sections)
    if (body.find(cat("<section id=\"", id, "\"")) != std::string::npos)
      links += cat("<a href=\"#", id, "\">", title, "</a>\n");
  return cat("<nav aria-label=\"Sections\">\n", links, "</nav>\n");
}

}  // namespace

Report make_report(const ReportInputs& inputs) {
  const Found found = find_all(inputs.folders);
  if (found.runs.empty() && found.measurements.empty() && inputs.attention.empty())
    throw DataError(
        "a report needs something to show: the folder of a run, one that gradnorm or "
        "compare wrote, or a file of attention maps");
  std::vector<RunRecord> runs;
  for (const fs::path& folder : found.runs) runs.push_back(read_run(folder));
  make_names_unique(runs);

  Report report;
  report.runs = static_cast<int64_t>(runs.size());
  for (const RunRecord& run : runs)
    for (const std::string& note : run.notes) report.notes.push_back(cat(run.name, ": ", note));
  const Section curves = curves_section(runs),
                measurements = measurements_section(found.measurements, !runs.empty()),
                attention = attention_section(inputs.attention);
  report.figures = curves.pictures + measurements.pictures;
  report.attention_maps = attention.pictures;

  const std::string body = cat(overview_section(runs), curves.html, measurements.html,
                               attention.html, samples_section(runs), setup_section(runs));
  const std::string title = escaped_xml(title_of(inputs, runs, found.measurements));
  const std::string made_by = inputs.command_line.empty()
                                  ? ""
                                  : cat(": <code>", escaped_xml(inputs.command_line), "</code>");
  report.html = cat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      policy(),
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      title, "</title>\n<style>\n", kPageCss, "</style>\n", plot_style(),
      "\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n",
      "<header>\n<p class=\"kicker\">transformer-zoo report</p>\n<h1><bdi>", title, "</bdi></h1>\n",
      navigation({{"overview", "Overview"},
                  {"curves", "Curves"},
                  {"measurements", "Measurements"},
                  {"attention", "Attention"},
                  {"samples", "Samples"},
                  {"setup", "Commands and configs"}},
                 body),
      "</header>\n<main id=\"main\">\n", body,
      "</main>\n<footer>Made by transformer-zoo " ZOO_VERSION, made_by, "</footer>\n<script>",
      kPageJs, "</script>\n</body>\n</html>\n");
  return report;
}

}  // namespace zoo
