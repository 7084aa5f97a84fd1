// What the models said while they were trained.

#include "analysis/plot.h"
#include "analysis/report/sections.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr size_t kMost = 12;  // of a run; more are not read by anyone

/// "step 1000" for "step-001000".
std::string sample_title(const std::string& name) {
  const std::string digits = name.starts_with("step-") ? name.substr(5) : "";
  const bool is_step = !digits.empty() && digits.size() <= 15 &&
                       digits.find_first_not_of("0123456789") == std::string::npos;
  return is_step ? "step " + number_text(std::stod(digits)) : name;
}

std::string samples_of(const std::vector<RunRecord>& runs, size_t index) {
  const std::vector<RunSample>& samples = runs[index].samples;
  std::string html = cat("<div><h3>", run_label(runs, index), "</h3>\n");
  const size_t shown = std::min(samples.size(), kMost);
  // The last one first; of many, such that the steps between them are about the same.
  for (size_t i = 0; i < shown; ++i) {
    const size_t place = shown == 1 ? samples.size() - 1
                                    : samples.size() - 1 - i * (samples.size() - 1) / (shown - 1);
    html += folded(sample_title(samples[place].name),
                   cat("<pre>", escaped_xml(trim(samples[place].text)), "</pre>\n"), i == 0);
  }
  if (shown < samples.size())
    html += cat("<p class=\"soft\">", shown, " of the ", samples.size(),
                " samples in the run's folder.</p>\n");
  return html + "</div>\n";
}

}  // namespace

std::string samples_section(const std::vector<RunRecord>& runs) {
  std::string html;
  for (size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].samples.empty()) html += samples_of(runs, i);
  return html.empty()
             ? ""
             : section("samples", "Samples", cat("<div class=\"samples\">\n", html, "</div>\n"));
}

}  // namespace zoo
