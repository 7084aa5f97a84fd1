#pragma once
// A corpus with the options of a metric, as the goldens and metric_server.cpp have it in JSON. No
// torch in this header.

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluation/make_metric.h"

namespace zoo::testing {

template <class Value>
Value one_of(const std::map<std::string, Value>& values, const Json& name) {
  return values.at(name.get<std::string>());
}

/// Options under sacreBLEU's names.
inline MetricOptions metric_options(const std::string& metric, const Json& options) {
  MetricOptions made;
  const std::map<std::string, bool*> switches = {
      {"bleu.effective_order", &made.bleu.effective_order},
      {"bleu.lowercase", &made.bleu.lowercase},
      {"chrf.lowercase", &made.chrf.lowercase},
      {"chrf.whitespace", &made.chrf.whitespace},
      {"chrf.eps_smoothing", &made.chrf.eps_smoothing},
      {"ter.normalized", &made.ter.normalized},
      {"ter.no_punct", &made.ter.no_punct},
      {"ter.asian_support", &made.ter.asian_support},
      {"ter.case_sensitive", &made.ter.case_sensitive}};
  const std::map<std::string, int64_t*> integers = {{"chrf.char_order", &made.chrf.char_order},
                                                    {"chrf.word_order", &made.chrf.word_order},
                                                    {"chrf.beta", &made.chrf.beta}};
  for (const auto& [name, value] : options.items()) {
    const std::string key = metric + "." + name;
    if (key == "bleu.tokenize")
      made.bleu.tokenization = one_of<BleuTokenization>({{"13a", BleuTokenization::v13a},
                                                         {"intl", BleuTokenization::international},
                                                         {"zh", BleuTokenization::chinese},
                                                         {"char", BleuTokenization::characters},
                                                         {"none", BleuTokenization::none}},
                                                        value);
    else if (key == "bleu.smooth_method")
      made.bleu.smoothing = one_of<BleuSmoothing>({{"exp", BleuSmoothing::exponential},
                                                   {"floor", BleuSmoothing::floor},
                                                   {"add-k", BleuSmoothing::add_k},
                                                   {"none", BleuSmoothing::none}},
                                                  value);
    else if (key == "bleu.smooth_value")
      made.bleu.smooth_value = value.get<double>();
    else if (switches.contains(key))
      *switches.at(key) = value.get<bool>();
    else
      *integers.at(key) = value.get<int64_t>();
  }
  return made;
}

/// What the library makes of {"metric", "options", "hypotheses", "references"}.
inline Json answer(const Json& request) {
  const std::string name = request["metric"];
  const auto metric = make_metric(name, metric_options(name, request["options"]));
  const auto hypotheses = request["hypotheses"].get<std::vector<std::string>>();
  const auto references = request["references"].get<std::vector<std::vector<std::string>>>();
  MetricTotal total(*metric);
  Json sentences = Json::array();
  std::vector<double> line(metric->num_statistics());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    std::vector<std::string_view> of_line;
    for (const std::vector<std::string>& file : references) of_line.push_back(file[i]);
    metric->measure(hypotheses[i], of_line, line);
    total.add(line);
    sentences.push_back(metric->score(line).score);
  }
  const MetricScore score = total.score();
  return {{"name", score.name},
          {"score", score.score},
          {"signature", metric_signature(*metric, {.references = references.size()})},
          {"details", score.details},
          {"sentences", sentences}};
}

}  // namespace zoo::testing
