// transformer-cli eval --hypotheses F --reference F: scores of a system's output.

#include <algorithm>

#include "cli/eval.h"
#include "core/text.h"
#include "evaluation/make_metric.h"
#include "evaluation/score_files.h"

namespace zoo::cli {
namespace {

template <class Enum>
Enum named(const std::string& name, const std::vector<std::pair<std::string, Enum>>& values) {
  return std::find_if(values.begin(), values.end(),
                      [&](const auto& value) { return value.first == name; })
      ->second;
}

struct EvalMetrics : EvalMode {
  using EvalMode::EvalMode;

  std::string baseline;
  std::vector<std::string> references;
  std::string tokenize = "13a", smooth_method = "exp";
  MetricOptions options;
  bool lowercase = false, sentence_level = false, by_length = false;
  std::optional<int64_t> paired_samples, samples, width;

  void declare(Flags& flags) override {
    flags.describe(
        "With --hypotheses, files are scored: line i of each belongs to line i of the others. "
        "BLEU, chrF and TER are\n"
        "those of sacreBLEU 2.6.0, with its signatures; ROUGE is that of rouge-score 0.1.2, the "
        "mean F over lines. All\n"
        "are in percent; more is better, but for TER. Give text as a reader sees it: with "
        "capitals, not tokenized. Words\n"
        "of --by-length are those between white space in the first reference.");
    flags.group("Of files");
    flags.text("--hypotheses,--hyp", shared.hypotheses, "FILE",
               "what is scored; -: standard input");
    flags.texts("--reference,--references,--ref", references, "FILE",
                "what it should be; give it again for a second reference of each line");
    flags.choice(
        "--tokenize", tokenize, {"13a", "intl", "zh", "char", "none"},
        "BLEU's tokens: 13a as WMT, intl by Unicode's classes, zh Chinese characters, char "
        "every character, none between blanks");
    flags.flag("--lowercase", lowercase, "capitals do not count in BLEU and chrF");
    flags.choice("--smooth-method", smooth_method, {"exp", "floor", "add-k", "none"},
                 "BLEU's precisions without a match");
    flags.number("--smooth-value", options.bleu.smooth_value, non_negative(),
                 "of floor (0.1 if not given) and add-k (1)");
    flags.flag("--effective-order", options.bleu.effective_order,
               "BLEU without n-grams longer than all lines; always so with --sentence-level");
    flags.flag("--sentence-level", sentence_level, "a score for each line, one a line");
    flags.flag("--by-length", by_length, "also the score by words of the first reference");
    flags.text("--baseline", baseline, "FILE",
               "another system's hypotheses, for --paired-bootstrap");
    flags.number("--paired-bootstrap", paired_samples, at_least(1),
                 "compare with --baseline over N resampled corpora: 95 % intervals and p-value");
    flags.number("--bootstrap", samples, at_least(1),
                 "95 % interval of the score over N resampled corpora, drawn by --seed (12345)");
    flags.number("--width", width, between(0, 15),
                 "digits after the point; 1 in text, all in JSON if not given");
    flags.rare();
    flags.number("--chrf-char-order", options.chrf.char_order, at_least(1),
                 "longest n-grams of characters");
    flags.number("--chrf-word-order", options.chrf.word_order, non_negative(),
                 "longest n-grams of words; 2 is chrF++");
    flags.number("--chrf-beta", options.chrf.beta, at_least(1), "weight of recall");
    flags.flag("--chrf-whitespace", options.chrf.whitespace, "blanks are characters too");
    flags.flag("--chrf-eps-smoothing", options.chrf.eps_smoothing,
               "F averaged over orders, as chrF++.py does");
    flags.flag("--ter-normalized", options.ter.normalized, "take punctuation from words");
    flags.flag("--ter-no-punct", options.ter.no_punct, "leave punctuation out");
    flags.flag("--ter-asian-support", options.ter.asian_support,
               "with the two above: Chinese and Japanese characters as words");
    flags.flag("--ter-case-sensitive", options.ter.case_sensitive, "capitals count");
    flags.example("BLEU and chrF of a translation against two references",
                  "transformer-cli eval --hyp README.md --ref README.md --ref text.txt "
                  "--metrics bleu,chrf --by-length");
    flags.example("whether a system is better than another one",
                  "transformer-cli eval --hyp README.md --baseline text.txt --ref README.md "
                  "--paired-bootstrap 100 --json");
  }

  bool asked_for() const override {
    return !shared.hypotheses.empty() || !references.empty() || !baseline.empty();
  }

  int run(const GlobalOptions& globals) override {
    check();
    const std::vector<std::unique_ptr<Metric>> metrics = make_metrics();
    const bool keep_lines = sentence_level || paired_samples || samples;
    const ScoreFilesOptions reading{.keep_lines = keep_lines, .by_length = by_length};
    const ScoredFiles scored = score_files({shared.hypotheses, references}, metrics, reading);
    for (const std::string& notice : scored.notices) log_warning(notice);

    const bool as_json = globals.json || shared.format == "json";
    const BootstrapOptions bootstrap{
        .samples = paired_samples.value_or(samples.value_or(0)),
        .seed = globals.seed_given ? static_cast<uint64_t>(globals.seed) : BootstrapOptions{}.seed};
    if (sentence_level)
      print_sentences(metrics, scored, as_json);
    else if (paired_samples)
      print_comparison(metrics, scored, bootstrap, as_json);
    else
      print_scores(metrics, scored, bootstrap, as_json);
    return gate(*metrics.front(), scored.metrics.front());
  }

 private:
  void check() const {
    if (shared.hypotheses.empty())
      throw ConfigError(
          "--hypotheses: not given; name the file that is scored, or - for standard input");
    if (references.empty())
      throw ConfigError("--reference: not given; name the file that --hypotheses is compared with");
    if (paired_samples.has_value() != !baseline.empty())
      throw ConfigError("--paired-bootstrap and --baseline need each other; give both or none");
    if (paired_samples && samples)
      throw ConfigError(
          "--bootstrap and --paired-bootstrap: give one of them; the second has intervals too");
    if (sentence_level && (paired_samples || samples || by_length))
      throw ConfigError(
          "--sentence-level scores lines one by one; leave out --bootstrap, "
          "--paired-bootstrap and --by-length");
    if (paired_samples && by_length)
      throw ConfigError("--by-length is not for --paired-bootstrap; run eval once for each");
  }

  std::vector<std::unique_ptr<Metric>> make_metrics() {
    options.bleu.tokenization =
        named<BleuTokenization>(tokenize, {{"13a", BleuTokenization::v13a},
                                           {"intl", BleuTokenization::international},
                                           {"zh", BleuTokenization::chinese},
                                           {"char", BleuTokenization::characters},
                                           {"none", BleuTokenization::none}});
    options.bleu.smoothing =
        named<BleuSmoothing>(smooth_method, {{"exp", BleuSmoothing::exponential},
                                             {"floor", BleuSmoothing::floor},
                                             {"add-k", BleuSmoothing::add_k},
                                             {"none", BleuSmoothing::none}});
    options.bleu.lowercase = options.chrf.lowercase = lowercase;
    options.bleu.effective_order |= sentence_level;
    std::vector<std::unique_ptr<Metric>> metrics;
    for (const std::string& list : shared.metric_lists)
      for (const std::string& name : split(list, ',')) {
        try {
          metrics.push_back(make_metric(name, options));
        } catch (const ConfigError& error) {
          throw ConfigError(cat("--metrics: ", error.what()));
        }
      }
    if (metrics.empty()) metrics.push_back(make_metric("bleu", options));
    return metrics;
  }

  std::string signature_of(const Metric& metric, const BootstrapOptions* bootstrap) const {
    SignatureParts parts{.references = references.size()};
    if (bootstrap != nullptr) {
      parts.bootstrap_samples = bootstrap->samples;
      parts.seed = static_cast<int64_t>(bootstrap->seed);
    }
    return metric_signature(metric, parts);
  }

  std::optional<int> json_digits() const {
    return width ? std::optional(static_cast<int>(*width)) : std::nullopt;
  }
  int text_digits() const { return static_cast<int>(width.value_or(1)); }

  /// One object, or an array of them where there are several, as sacreBLEU prints.
  static void print_json(const std::vector<Json>& objects) {
    out() << (objects.size() == 1 ? objects.front() : Json(objects)).dump(1) << '\n';
  }

  void print_scores(const std::vector<std::unique_ptr<Metric>>& metrics, const ScoredFiles& scored,
                    const BootstrapOptions& bootstrap, bool as_json) const {
    std::vector<Json> objects;
    for (size_t m = 0; m < metrics.size(); ++m) {
      const Metric& metric = *metrics[m];
      const ScoredMetric& result = scored.metrics[m];
      const MetricScore score = metric.score(result.sums);
      const std::string signature = signature_of(metric, samples ? &bootstrap : nullptr);
      std::optional<ScoreInterval> interval;
      if (samples) interval = bootstrap_interval(metric, result.lines, bootstrap);
      if (!as_json) {
        out() << score_line(score, signature, text_digits(), interval) << '\n';
        print_buckets(metric, score.name, result.buckets);
        continue;
      }
      Json& object = objects.emplace_back(score_json(score, signature, json_digits(), interval));
      for (const LengthBucket& bucket : result.buckets) {
        Json& entry = object["by_length"].emplace_back(Json{{"from", bucket.shortest},
                                                            {"to", nullptr},
                                                            {"lines", bucket.lines},
                                                            {"score", nullptr}});
        if (bucket.longest >= 0) entry["to"] = bucket.longest;
        if (bucket.lines > 0) entry["score"] = metric.score(bucket.sums).score;
      }
    }
    if (as_json) print_json(objects);
  }

  void print_buckets(const Metric& metric, const std::string& name,
                     const std::vector<LengthBucket>& buckets) const {
    if (buckets.empty()) return;
    Table table({"words", "lines", name});
    for (const LengthBucket& bucket : buckets)
      table.add({bucket.longest < 0 ? cat(bucket.shortest, "+")
                                    : cat(bucket.shortest, "-", bucket.longest),
                 with_thousands(bucket.lines),
                 bucket.lines == 0 ? "-" : fixed(metric.score(bucket.sums).score, text_digits())});
    table.print(out());
  }

  void print_sentences(const std::vector<std::unique_ptr<Metric>>& metrics,
                       const ScoredFiles& scored, bool as_json) const {
    for (int64_t line = 0; line < scored.lines; ++line)
      for (size_t m = 0; m < metrics.size(); ++m) {
        const size_t size = metrics[m]->num_statistics();
        const auto statistics =
            std::span(scored.metrics[m].lines).subspan(static_cast<size_t>(line) * size, size);
        const MetricScore score = metrics[m]->score(statistics);
        const std::string signature = signature_of(*metrics[m], nullptr);
        if (as_json)
          out() << score_json(score, signature, json_digits()).dump() << '\n';
        else
          out() << score_line(score, signature, text_digits()) << '\n';
      }
  }

  /// The keys of sacreBLEU's paired test, with the signatures.
  void print_comparison(const std::vector<std::unique_ptr<Metric>>& metrics,
                        const ScoredFiles& system, const BootstrapOptions& bootstrap,
                        bool as_json) const {
    const ScoredFiles other = score_files({baseline, references}, metrics, {.keep_lines = true});
    Json first{{"system", "Baseline: " + baseline}}, second{{"system", shared.hypotheses}};
    for (size_t m = 0; m < metrics.size(); ++m) {
      const Metric& metric = *metrics[m];
      const PairedBootstrap result =
          paired_bootstrap(metric, other.metrics[m].lines, system.metrics[m].lines, bootstrap);
      const auto entry = [&](const ScoredMetric& scored, const ScoreInterval& interval,
                             Json p_value) {
        return Json{{"score", metric.score(scored.sums).score},
                    {"p_value", std::move(p_value)},
                    {"mean", interval.mean},
                    {"ci", interval.half_width},
                    {"signature", signature_of(metric, &bootstrap)}};
      };
      const std::string name = metric.score(system.metrics[m].sums).name;
      first[name] = entry(other.metrics[m], result.baseline, nullptr);
      second[name] = entry(system.metrics[m], result.system, result.p_value);
      if (as_json) continue;
      out() << name << '|' << signature_of(metric, &bootstrap) << '\n';
      Table table({"system", name, "mean", "95 %", "p"});
      for (const Json& row : {first, second}) {
        const Json& cells = row[name];
        const auto number = [&](const char* key) { return fixed(cells[key], text_digits()); };
        table.add({row["system"], number("score"), number("mean"), "± " + number("ci"),
                   cells["p_value"].is_null() ? "" : fixed(cells["p_value"], 4)});
      }
      table.print(out());
    }
    if (as_json) print_json({Json::array({first, second})});
  }

  int gate(const Metric& metric, const ScoredMetric& result) const {
    if (!shared.min_score) return kDone;
    const MetricScore score = metric.score(result.sums);
    const bool below = metric.small_is_better();
    if (below ? score.score <= *shared.min_score : score.score >= *shared.min_score) return kDone;
    throw NumericError(cat("--min-score: ", score.name, " is ", fixed(score.score, 4), ", ",
                           below ? "above" : "below", " the gate of ", *shared.min_score));
  }
};

}  // namespace

std::unique_ptr<EvalMode> make_metric_mode(EvalFlags& shared) {
  return std::make_unique<EvalMetrics>(shared);
}

}  // namespace zoo::cli
