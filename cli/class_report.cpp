#include "cli/class_report.h"

#include "core/text.h"

namespace zoo::cli {

namespace {

const std::vector<std::string> kClassMetrics = {"accuracy", "macro_f1", "micro_f1", "weighted_f1",
                                                "matthews", "classes",  "confusion"};

Json class_table(const Confusion& confusion, const std::vector<std::string>& labels, bool print) {
  Table table({"class", "precision", "recall", "f1", "support"});
  Json json = Json::array();
  for (int64_t index = 0; index < confusion.classes(); ++index) {
    const ClassScore score = confusion.of_class(index);
    table.add({labels[index], fixed(score.precision, 4), fixed(score.recall, 4), fixed(score.f1, 4),
               std::to_string(score.support)});
    json.push_back({{"class", labels[index]},
                    {"precision", score.precision},
                    {"recall", score.recall},
                    {"f1", score.f1},
                    {"support", score.support},
                    {"predicted", score.predicted}});
  }
  if (print) table.print(out());
  return json;
}

/// Rows are the true classes, columns the predicted ones.
Json confusion_table(const Confusion& confusion, const std::vector<std::string>& labels,
                     bool print) {
  std::vector<std::string> header = {"true \\ predicted"};
  header.insert(header.end(), labels.begin(), labels.end());
  Table table(header);
  Json json = Json::array();
  for (int64_t row = 0; row < confusion.classes(); ++row) {
    std::vector<std::string> cells = {labels[row]};
    Json counts = Json::array();
    for (int64_t column = 0; column < confusion.classes(); ++column) {
      counts.push_back(confusion.count(row, column));
      cells.push_back(std::to_string(confusion.count(row, column)));
    }
    table.add(cells);
    json.push_back(std::move(counts));
  }
  if (print) table.print(out());
  return json;
}

}  // namespace

const std::vector<std::string>& class_metrics() { return kClassMetrics; }

int report_classes(const EvalFlags& flags, bool json, const Confusion& confusion,
                   const std::vector<std::string>& labels, const std::string& things, Json result) {
  const std::vector<std::string> metrics =
      chosen_metrics(flags, kClassMetrics, {{"f1", "macro_f1"}});
  result[things] = confusion.total();
  const auto value = [&](const std::string& metric) {
    return metric == "accuracy"      ? confusion.accuracy()
           : metric == "macro_f1"    ? confusion.macro_f1()
           : metric == "micro_f1"    ? confusion.micro_f1()
           : metric == "weighted_f1" ? confusion.weighted_f1()
                                     : confusion.matthews();
  };
  json = json || flags.format == "json";
  for (const std::string& metric : metrics) {
    if (metric == "classes") {
      result["classes"] = class_table(confusion, labels, !json);
    } else if (metric == "confusion") {
      result["confusion"] = confusion_table(confusion, labels, !json);
    } else {
      result[metric] = value(metric);
      if (!json) out() << metric << " = " << fixed(value(metric), 4) << '\n';
    }
  }
  if (json)
    out() << result.dump(2) << '\n';
  else
    out() << things << ": " << with_thousands(confusion.total()) << '\n';
  if (!flags.min_score) return kDone;
  if (metrics[0] == "classes" || metrics[0] == "confusion")
    throw ConfigError("--min-score: goes by the first of --metrics, which must be a number");
  return pass_gate(flags, metrics[0], value(metrics[0]), false);
}

}  // namespace zoo::cli
