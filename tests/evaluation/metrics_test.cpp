// BLEU, chrF, TER and ROUGE against sacreBLEU and rouge-score (tests/golden/evaluation/compare.py).

#include <gtest/gtest.h>

#include "core/files.h"
#include "evaluation/bootstrap.h"
#include "evaluation/numpy_generator.h"
#include "evaluation/score_files.h"
#include "tests/evaluation/metric_case.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;
using testing::TempFolder;
using Lines = std::vector<std::string>;

const Json& goldens() {
  static const Json json =
      read_json_file(fs::path(ZOO_SOURCE_DIR) / "tests/golden/evaluation/goldens.json");
  return json;
}

double bleu(const Lines& hypotheses, const std::vector<Lines>& references,
            const Json& options = Json::object()) {
  return testing::answer({{"metric", "bleu"},
                          {"options", options},
                          {"hypotheses", hypotheses},
                          {"references", references}})["score"];
}

TEST(Metrics, EqualSacrebleuAndRougeScore) {
  for (const Json& request : goldens()["cases"]) {
    const Json ours = testing::answer(request);
    const Json& theirs = request["expected"];
    for (const char* key : {"name", "signature", "details"})
      if (theirs.contains(key)) {
        EXPECT_EQ(ours[key], theirs[key]) << request.dump();
      }
    EXPECT_NEAR(ours["score"].get<double>(), theirs["score"].get<double>(), 1e-9) << request.dump();
    ASSERT_EQ(ours["sentences"].size(), theirs["sentences"].size());
    for (size_t i = 0; i < ours["sentences"].size(); ++i)
      EXPECT_NEAR(ours["sentences"][i].get<double>(), theirs["sentences"][i].get<double>(), 1e-9)
          << request.dump() << " line " << i;
  }
}

/// Statistics of the goldens' systems.
LineStatistics statistics_of(Metric& metric, size_t system) {
  const auto hypotheses = goldens()["systems"][system].get<Lines>();
  const auto reference = goldens()["reference"].get<Lines>();
  LineStatistics lines;
  std::vector<double> line(metric.num_statistics());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const std::string_view of_line = reference[i];
    metric.measure(hypotheses[i], std::span(&of_line, 1), line);
    lines.insert(lines.end(), line.begin(), line.end());
  }
  return lines;
}

MetricScore score_of(const Metric& metric, const LineStatistics& lines) {
  std::vector<double> sums(metric.num_statistics());
  for (size_t i = 0; i < lines.size(); ++i) sums[i % sums.size()] += lines[i];
  return metric.score(sums);
}

TEST(Metrics, PrintAsSacrebleuDoes) {
  for (const Json& printed : goldens()["printed"]) {
    const auto metric = make_metric(printed["metric"]);
    const LineStatistics lines = statistics_of(*metric, 1);
    const MetricScore score = score_of(*metric, lines);
    const std::string signature = metric_signature(*metric, {});
    EXPECT_EQ(score_line(score, signature, 1), printed["line"]);
    EXPECT_EQ(score_json(score, signature, 1).dump(), printed["json"].dump());

    const BootstrapOptions options{.samples = 200};
    const ScoreInterval interval = bootstrap_interval(*metric, lines, options);
    const std::string with_seed =
        metric_signature(*metric, {.bootstrap_samples = 200, .seed = 12345});
    EXPECT_EQ(score_line(score, with_seed, 1, interval), printed["interval_line"]);
    EXPECT_EQ(score_json(score, with_seed, 1, interval).dump(), printed["interval_json"].dump());
  }
}

TEST(Bootstrap, DrawsAndDecidesAsSacrebleuDoes) {
  for (const Json& paired : goldens()["paired"]) {
    const auto metric = make_metric(paired["metric"]);
    const PairedBootstrap result = paired_bootstrap(*metric, statistics_of(*metric, 0),
                                                    statistics_of(*metric, 1), {.samples = 200});
    const Json& baseline = paired["results"][0];
    const Json& system = paired["results"][1];
    // sacreBLEU adds statistics up in single precision.
    EXPECT_NEAR(result.baseline.mean, baseline["mean"].get<double>(), 1e-4);
    EXPECT_NEAR(result.baseline.half_width, baseline["ci"].get<double>(), 1e-4);
    EXPECT_NEAR(result.system.mean, system["mean"].get<double>(), 1e-4);
    EXPECT_NEAR(result.system.half_width, system["ci"].get<double>(), 1e-4);
    EXPECT_NEAR(result.p_value, system["p_value"].get<double>(), 1e-12);
    EXPECT_EQ(metric_signature(*metric, {.bootstrap_samples = 200, .seed = 12345}),
              paired["signature"]);
  }
}

TEST(Bootstrap, RefusesUnequalNumbersOfLines) {
  const auto metric = make_metric("ter");
  EXPECT_EQ(message_of<DataError>([&] {
              paired_bootstrap(*metric, {1, 2}, {1, 2, 3, 4}, {});
            }),
            "bootstrap: found 1 and 2 lines; all systems need the same number, at least 1");
  EXPECT_NE(message_of<DataError>([&] { bootstrap_interval(*metric, {}, {}); }), "");
}

TEST(Bleu, EmptyOutputGetsNoCredit) {  // BLEU-1
  EXPECT_EQ(bleu({"", ""}, {{"a b", "c d"}}), 0);
  EXPECT_NEAR(bleu({"the small red fox ran"}, {{"the small red fox ran home today"}}), 67.0320,
              1e-4);
  EXPECT_NEAR(bleu({"the river is wide and very cold", "", "we left the house at noon"},
                   {{"the river is wide and really cold", "nobody answered the door bell",
                     "we left the house at noon"}}),
              54.7857, 1e-4);
}

TEST(Bleu, SeveralReferences) {  // BLEU-5
  const Lines hypotheses = {"a cat sat on the warm mat", "they were late again"};
  const Lines a = {"the cat sat on a warm mat", "they came late again"};
  const Lines b = {"a cat sat on the warm rug", "once more they were late"};
  EXPECT_NEAR(bleu(hypotheses, {a}), 27.5633, 1e-4);
  EXPECT_NEAR(bleu(hypotheses, {b}), 65.9859, 1e-4);
  for (const std::vector<Lines>& references : {std::vector{a, b}, {b, a}, {a, a, b}})
    EXPECT_NEAR(bleu(hypotheses, references), 80.9107, 1e-4);
}

TEST(Bleu, TokenizersAndCase) {  // BLEU-7
  const std::map<std::string, double> expected = {
      {"13a", 59.4604}, {"none", 59.4604}, {"intl", 70.7107}, {"char", 72.0960}};
  for (const auto& [tokenize, score] : expected)
    EXPECT_NEAR(
        bleu({"It's 3.5% (maybe more)!"}, {{"It's 3.5% (maybe less)!"}}, {{"tokenize", tokenize}}),
        score, 1e-4);
  const Lines hypothesis = {"THE Quick brown Fox jumps over it"};
  const std::vector<Lines> reference = {{"the quick brown fox jumps over it"}};
  EXPECT_NEAR(bleu(hypothesis, reference), 26.2691, 1e-4);
  EXPECT_NEAR(bleu(hypothesis, reference, {{"lowercase", true}}), 100, 1e-9);
}

TEST(Metrics, PartsOfACorpusAddUp) {
  for (const std::string& name : metric_names()) {
    const auto metric = make_metric(name);
    MetricTotal whole(*metric), first(*metric), second(*metric);
    whole.add("a b c d e", "a b d c e");
    whole.add("x", "y z");
    first.add("a b c d e", "a b d c e");
    second.add("x", "y z");
    second.merge(first);
    EXPECT_EQ(second.score().score, whole.score().score) << name;
  }
  EXPECT_TRUE(make_metric("ter")->small_is_better());
  EXPECT_FALSE(make_metric("bleu")->small_is_better());
}

TEST(Metrics, LongLines) {  // more words than a block of 64 bits, a first table, a beam
  std::string text;
  for (int i = 0; i < 3000; ++i) text += cat("w", i % 997, " ");
  for (const char* name : {"bleu", "chrf++", "rougeL"}) {
    const auto metric = make_metric(name);
    MetricTotal total(*metric);
    total.add(text, text);
    EXPECT_NEAR(total.score().score, 100, 1e-9) << name;
  }
}

TEST(Metrics, RefuseUnknownNamesAndOrders) {
  EXPECT_EQ(message_of<ConfigError>([] { make_metric("blue"); }),
            "unknown metric \"blue\"; did you mean \"bleu\"? allowed: bleu, chrf, chrf++, ter, "
            "rouge, rouge1, rouge2, rougeL, exact_match");
  EXPECT_EQ(message_of<ConfigError>([] { Chrf({.char_order = 0}); }),
            "chrF: char_order 0 is refused; allowed: >= 1");
  EXPECT_EQ(message_of<ConfigError>([] { Chrf({.word_order = -1}); }),
            "chrF: word_order -1 is refused; allowed: >= 0");
  EXPECT_EQ(message_of<ConfigError>([] { Chrf({.beta = 0}); }),
            "chrF: beta 0 is refused; allowed: >= 1");
}

class ScoreFilesTest : public ::testing::Test {
 protected:
  ScoreFilesTest() { metrics_.push_back(make_metric("bleu")); }

  ScoredFiles score(std::string_view hypotheses, std::string_view reference) {
    write_file(folder_ / "hyp", hypotheses);
    write_file(folder_ / "ref", reference);
    return score_files({utf8(folder_ / "hyp"), {utf8(folder_ / "ref")}}, metrics_,
                       {.keep_lines = true, .by_length = true});
  }
  double bleu(std::string_view hypotheses, std::string_view reference) {
    return metrics_[0]->score(score(hypotheses, reference).metrics[0].sums).score;
  }

  TempFolder folder_;
  std::vector<std::unique_ptr<Metric>> metrics_;
};

TEST_F(ScoreFilesTest, EndsOfLines) {  // TXT-1
  const std::string reference = "one two three four five\nsix seven eight nine eleven\n";
  for (const char* hypotheses : {"one two three four five\nsix seven eight nine ten\n",
                                 "one two three four five\r\nsix seven eight nine ten\r\n",
                                 "one two three four five\nsix seven eight nine ten",
                                 "one\rtwo three four five\nsix seven eight nine ten\n"})
    EXPECT_NEAR(bleu(hypotheses, reference), 83.7592, 1e-4) << hypotheses;
  EXPECT_NEAR(bleu("one two three four five\nsix seven eight nine ten\n",
                   "one two three four five\r\nsix seven eight nine eleven\r\n"),
              83.7592, 1e-4);
}

TEST_F(ScoreFilesTest, RefusesUnequalNumbersOfLines) {  // BLEU-3
  const std::string message = message_of<DataError>([&] { score("a\nb\n", "a\n"); });
  EXPECT_EQ(message, cat("unequal numbers of lines: ", utf8(folder_ / "hyp"), " has 2, ",
                         utf8(folder_ / "ref"),
                         " has 1; line i of the hypotheses belongs to line i of each reference"));
  EXPECT_EQ(message_of<DataError>([&] { score("", ""); }),
            utf8(folder_ / "hyp") + ": holds no line; there is nothing to score");
}

TEST_F(ScoreFilesTest, KeepsLinesAndBuckets) {
  std::string long_line = "w";
  for (int i = 0; i < 70; ++i) long_line += " w";
  const ScoredFiles scored =
      score("a b\n" + long_line + "\nc d e\n", "a b\n" + long_line + "\nc d e\n");
  EXPECT_EQ(scored.lines, 3);
  EXPECT_EQ(scored.metrics[0].lines.size(), 3 * metrics_[0]->num_statistics());
  ASSERT_EQ(scored.metrics[0].buckets.size(), 7U);
  EXPECT_EQ(scored.metrics[0].buckets.front().lines, 2);
  EXPECT_EQ(scored.metrics[0].buckets.back().lines, 1);
  EXPECT_EQ(scored.metrics[0].buckets.back().longest, -1);
  EXPECT_NEAR(metrics_[0]->score(scored.metrics[0].buckets.back().sums).score, 100, 1e-9);
  EXPECT_TRUE(scored.notices.empty());
}

TEST_F(ScoreFilesTest, NoticesTextThatIsNotAsReadersSeeIt) {
  std::string tokenized, reference;
  for (int i = 0; i < 100; ++i) {
    tokenized += "to@@ ken ised .\n";
    reference += "tokenised.\n";
  }
  const ScoredFiles scored = score(tokenized, reference);
  ASSERT_EQ(scored.notices.size(), 2U);
  EXPECT_NE(scored.notices[0].find("100 lines end in a period with a blank before it"),
            std::string::npos);
  EXPECT_NE(scored.notices[1].find("100 lines hold pieces of words"), std::string::npos);
  const std::vector<std::string> invalid = score("a\n\xff\xfe\n", "a\nb\n").notices;
  ASSERT_EQ(invalid.size(), 1U);
  EXPECT_NE(invalid[0].find("line 2 is the first that is not UTF-8"), std::string::npos);
}

TEST(Metrics, ExactMatchCountsLinesThatEqualAReference) {
  const Json found =
      testing::answer({{"metric", "exact_match"},
                       {"options", Json::object()},
                       {"hypotheses", Lines{"a b", "a  b", "", "x"}},
                       {"references", {Lines{"a b", "a b", "", "y"}, Lines{"c", "d", "e", "x"}}}});
  EXPECT_DOUBLE_EQ(found["score"], 75);
  EXPECT_EQ(found["details"], "(3 of 4 lines)");
  EXPECT_EQ(found["sentences"], Json({100.0, 0.0, 100.0, 100.0}));
}

}  // namespace
}  // namespace zoo
