// eval --hypotheses F --reference F.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/run_cli.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using Arguments = std::vector<std::string>;

class EvalMetricsTest : public ::testing::Test {
 protected:
  EvalMetricsTest() {  // the corpus of sacreBLEU's own tests
    write_file(folder_ / "hyp",
               "The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n");
    write_file(folder_ / "a",
               "The dog bit the man.\nIt was not unexpected.\nThe man bit him first.\n");
    write_file(folder_ / "b",
               "The dog had bit the man.\nNo one was surprised.\nThe man had bitten the dog.\n");
    write_file(folder_ / "two", "x\ny\n");
  }

  CliResult eval(Arguments arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), "eval");
    return run_cli(arguments, input, folder_.path());
  }
  Json json_of(const Arguments& arguments) const {
    const CliResult result = eval(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  }
  void expect_refused(const Arguments& arguments, int code, const std::string& part) const {
    const CliResult result = eval(arguments);
    EXPECT_EQ(result.code, code) << join(arguments, " ");
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(holds(result.err, part)) << result.err;
  }

  testing::TempFolder folder_;
};

TEST_F(EvalMetricsTest, PrintsSacrebleusLine) {
  const CliResult result =
      eval({"--metric", "bleu", "--hypotheses", "hyp", "--reference", "a", "--reference", "b"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 48.5 "
            "82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)\n");
  EXPECT_EQ(eval({"--hyp", "-", "--ref", "a", "--ref", "b"}, read_file(folder_ / "hyp")).out,
            result.out);
}

TEST_F(EvalMetricsTest, PrintsSacrebleusJson) {
  const Json json = json_of(
      {"--hyp", "hyp", "--ref", "a", "--ref", "b", "--tokenize", "intl", "--format", "json"});
  EXPECT_NEAR(json["score"].get<double>(), 43.91623493, 1e-8);
  EXPECT_EQ(json["tok"], "intl");
  EXPECT_TRUE(json.contains("verbose_score"));
  EXPECT_EQ(
      json_of({"--hyp", "hyp", "--ref", "a", "--ref", "b", "--width", "1", "--json"})["score"],
      48.5);

  const Json several = json_of(
      {"--metrics", "bleu,chrf,ter,rouge", "--hyp", "hyp", "--ref", "a", "--by-length", "--json"});
  ASSERT_EQ(several.size(), 4U);
  EXPECT_EQ(several[1]["name"], "chrF2");
  EXPECT_EQ(several[3]["name"], "rougeL");
  EXPECT_EQ(several[0]["by_length"].size(), 7U);
  EXPECT_EQ(several[0]["by_length"][0]["score"], several[0]["score"]);
  EXPECT_TRUE(several[0]["by_length"][6]["score"].is_null());
}

TEST_F(EvalMetricsTest, ScoresSentences) {
  const CliResult result =
      eval({"--hyp", "hyp", "--ref", "a", "--ref", "b", "--sentence-level", "--width", "2"});
  EXPECT_EQ(result.code, 0) << result.err;
  ASSERT_EQ(result.lines().size(), 3U);
  EXPECT_TRUE(result.lines()[0].starts_with(
      "BLEU|nrefs:2|case:mixed|eff:yes|tok:13a|smooth:exp|version:2.6.0 = 100.00 "))
      << result.out;
}

TEST_F(EvalMetricsTest, ComparesSystems) {
  const Json json = json_of(
      {"--hyp", "hyp", "--baseline", "b", "--ref", "a", "--paired-bootstrap", "100", "--json"});
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["system"], "Baseline: b");
  EXPECT_TRUE(json[0]["BLEU"]["p_value"].is_null());
  EXPECT_GT(json[1]["BLEU"]["p_value"].get<double>(), 0);
  EXPECT_TRUE(holds(json[1]["BLEU"]["signature"].get<std::string>(), "|bs:100|seed:12345|"));
  const CliResult text = eval({"--hyp", "hyp", "--baseline", "b", "--ref", "a",
                               "--paired-bootstrap", "100", "--seed", "7"});
  EXPECT_TRUE(holds(text.out, "|bs:100|seed:7|")) << text.out;
  EXPECT_TRUE(holds(text.out, "Baseline: b")) << text.out;
  EXPECT_TRUE(holds(eval({"--hyp", "hyp", "--ref", "a", "--bootstrap", "100"}).out, "(μ = "));
}

TEST_F(EvalMetricsTest, Gates) {
  EXPECT_EQ(eval({"--hyp", "hyp", "--ref", "a", "--min-score", "1"}).code, 0);
  const CliResult closed = eval({"--hyp", "hyp", "--ref", "a", "--min-score", "99"});
  EXPECT_EQ(closed.code, 4);
  EXPECT_TRUE(closed.out.starts_with("BLEU|")) << closed.out;
  EXPECT_TRUE(holds(closed.err, "--min-score: BLEU is ")) << closed.err;
  // Fewer edits are better.
  EXPECT_EQ(eval({"--metric", "ter", "--hyp", "a", "--ref", "a", "--min-score", "0"}).code, 0);
  EXPECT_TRUE(holds(eval({"--metric", "ter", "--hyp", "hyp", "--ref", "a", "--min-score", "0"}).err,
                    "above the gate of 0"));
}

TEST_F(EvalMetricsTest, RefusesWhatCannotBeScored) {
  expect_refused({"--hyp", "two", "--ref", "a"}, 3,  // BLEU-3
                 "unequal numbers of lines: two has 2, a has 3");
  expect_refused({"--hyp", "none", "--ref", "a"}, 3, "none: cannot be opened");
  expect_refused({"--ref", "a"}, 2, "--hypotheses: not given");
  expect_refused({"--hyp", "hyp"}, 2, "--reference: not given");
  expect_refused({"--hyp", "hyp", "--ref", "a", "--metric", "blue"}, 2, "did you mean \"bleu\"?");
  expect_refused({"--hyp", "hyp", "--ref", "a", "--tokenize", "12a"}, 2, "did you mean \"13a\"?");
  expect_refused({"--hyp", "hyp", "--ref", "a", "--baseline", "b"}, 2,
                 "--paired-bootstrap and --baseline need each other");
  expect_refused({"--hyp", "hyp", "--ref", "a", "--baseline", "b", "--paired-bootstrap", "9",
                  "--bootstrap", "9"},
                 2, "give one of them");
  expect_refused(
      {"--hyp", "hyp", "--ref", "a", "--baseline", "b", "--paired-bootstrap", "9", "--by-length"},
      2, "--by-length is not for");
  expect_refused({"--hyp", "hyp", "--ref", "a", "--sentence-level", "--by-length"}, 2,
                 "scores lines one by one");
  expect_refused({"model", "--hyp", "hyp", "--ref", "a"}, 2, "a model and --hypotheses were given");
}

}  // namespace
}  // namespace zoo
