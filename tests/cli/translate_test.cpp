// translate, score, average and eval --source as a user meets them.

#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using Lines = std::vector<std::string>;

/// A model that turns up to three letters round, learnt in a few seconds.
class TranslateCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TempFolder;
    write_file(*folder_ / "pairs.tsv", testing::reversed_letters(1200));
    Lines arguments = {"train", "-o",    "run",     "--max-steps", "800",
                       "--lr",  "0.004", "--quiet", "--threads",   "1"};
    arguments.insert(arguments.end(), testing::kTinyTranslation.begin(),
                     testing::kTinyTranslation.end());
    arguments.back() = "32";
    arguments.insert(arguments.end(), {"--set", "model.d_model=32"});
    const CliResult result = run_cli(arguments, "", folder_->path());
    ASSERT_EQ(result.code, 0) << result.err;
  }
  static void TearDownTestSuite() { delete folder_; }

  static CliResult cli(const Lines& arguments, const std::string& input = "") {
    return run_cli(arguments, input, folder_->path());
  }
  static CliResult translate(Lines flags, const std::string& input) {
    flags.insert(flags.begin(), {"translate", "run"});
    const CliResult result = cli(flags, input);
    EXPECT_EQ(result.code, 0) << result.err;
    return result;
  }
  static void expect_refused(Lines flags, int code, const std::string& part,
                             const std::string& input = "a\n") {
    flags.insert(flags.begin(), {"translate", "run"});
    const CliResult result = cli(flags, input);
    EXPECT_EQ(result.code, code) << join(flags, " ");
    EXPECT_TRUE(holds(result.err, part)) << result.err;
  }

  static testing::TempFolder* folder_;
};
testing::TempFolder* TranslateCommand::folder_ = nullptr;

constexpr const char* kInput = "a b c\n\nd\n   \ne d c\r\nb a";

TEST_F(TranslateCommand, OneLineForEachLine) {  // TXT-3, BEAM-1
  const std::string expected = translate({}, kInput).out;
  EXPECT_EQ(expected, "c b a\n\nd\n\nc d e\na b\n");
  for (const Lines& flags : std::vector<Lines>{{"--batch-size", "1"},
                                               {"--batch-size", "2", "--batch-type", "sentences"},
                                               {"--batch-size", "64", "--batch-type", "sentences"},
                                               {"--greedy"},
                                               {"--length-norm", "wu"},
                                               {"--early-stopping", "first"},
                                               {"-i", "-", "-o", "-"}})
    EXPECT_EQ(translate(flags, kInput).out, expected) << join(flags, " ");
}

TEST_F(TranslateCommand, Formats) {
  const CliResult json = translate({"--json", "--scores", "token"}, kInput);
  ASSERT_EQ(json.lines().size(), 6U);
  const Json first = Json::parse(json.lines()[0]);
  EXPECT_EQ(first["text"], "c b a");
  EXPECT_EQ(first["finish_reason"], "eos");
  EXPECT_EQ(first["tokens"].size(), 4U);
  double sum = 0;
  for (const Json& term : first["token_scores"]) sum += term.get<double>();
  EXPECT_NEAR(first["log_probability"], sum, 1e-6);
  EXPECT_NEAR(first["score"], sum / 4, 1e-6);
  EXPECT_EQ(Json::parse(json.lines()[1])["text"], "");

  const CliResult moses =
      translate({"--beam-size", "4", "--n-best", "2", "--output-format", "moses"}, kInput);
  ASSERT_EQ(moses.lines().size(), 12U);
  EXPECT_TRUE(moses.lines()[0].starts_with("0 ||| c b a ||| logp= -")) << moses.out;
  EXPECT_TRUE(moses.lines()[11].starts_with("5 ||| ")) << moses.out;
  const CliResult tsv = translate({"--output-format", "tsv"}, kInput);
  EXPECT_TRUE(tsv.lines()[0].starts_with("1\t-")) << tsv.out;
}

TEST_F(TranslateCommand, SamplesByLineAndSeed) {
  const Lines sampled = {"--temperature", "2", "--num-samples", "2"};
  const std::string once = translate(sampled, kInput).out;
  Lines one_by_one = sampled;
  one_by_one.insert(one_by_one.end(), {"--batch-size", "1"});
  EXPECT_EQ(translate(one_by_one, kInput).out, once);
  Lines other_seed = sampled;
  other_seed.insert(other_seed.end(), {"--seed", "7"});
  EXPECT_NE(translate(other_seed, kInput).out, once);
}

TEST_F(TranslateCommand, PrefixesLengthsAndAttention) {
  write_file(*folder_ / "prefix.txt", "c\n\nd\n\nc d\na\n");
  EXPECT_EQ(translate({"--target-prefix", "prefix.txt"}, kInput).out, "c b a\n\nd\n\nc d e\na b\n");
  EXPECT_EQ(translate({"--max-length", "2"}, "a b c\n").out, "c b\n");
  translate({"--attention", "maps.jsonl"}, kInput);
  Lines maps;
  for_each_line(read_file(*folder_ / "maps.jsonl"),
                [&](std::string_view line) { maps.emplace_back(line); });
  ASSERT_EQ(maps.size(), 4U);
  const Json map = Json::parse(maps[0]);
  EXPECT_EQ(map["source"].size(), 4U);
  EXPECT_EQ(map["attention"].size(), map["target"].size());
  double row = 0;
  for (const Json& weight : map["attention"][0]) row += weight.get<double>();
  EXPECT_NEAR(row, 1, 1e-5);
}

TEST_F(TranslateCommand, UnknownWords) {
  EXPECT_EQ(translate({"--no-unk"}, "a b\n").out, "b a\n");
  const CliResult replaced = translate({"--replace-unk"}, "a zebra\n");
  EXPECT_FALSE(holds(replaced.out, "unk")) << replaced.out;
}

TEST_F(TranslateCommand, RefusesWhatContradicts) {
  expect_refused({"--n-best", "6"}, 2, "--n-best: 6 is refused; allowed: 1 to --beam-size 5");
  expect_refused({"--n-best", "2", "--num-samples", "2"}, 2, "give one of them");
  expect_refused({"--beam-size", "4", "--top-k", "3"}, 2, "--beam-size searches");
  expect_refused({"--length-norm", "wi"}, 2, "did you mean \"wu\"?");
  write_file(*folder_ / "short.txt", "a\n");
  expect_refused({"--target-prefix", "short.txt"}, 3, "short.txt: has 1 lines", "a\nb\n");
  const CliResult wrong = cli({"generate", "run", "-p", "a"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(holds(wrong.err, "run")) << wrong.err;
}

TEST_F(TranslateCommand, ScoresWhatItTranslates) {
  write_file(*folder_ / "source.txt", "a b c\nd\n");
  write_file(*folder_ / "target.txt", "c b a\nd\n");
  const CliResult sums = cli({"score", "run", "--source", "source.txt", "--target", "target.txt"});
  ASSERT_EQ(sums.code, 0) << sums.err;
  const CliResult found = translate({"--scores", "sum", "--length-norm", "none"}, "a b c\nd\n");
  for (size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(std::stod(sums.lines()[i]), std::stod(found.lines()[i]), 1e-4);
  const CliResult terms =
      cli({"score", "run", "--source", "source.txt", "--target", "target.txt", "--tokens"});
  EXPECT_EQ(split(terms.lines()[0], ' ').size(), 4U) << terms.out;
  write_file(*folder_ / "short.txt", "c b a\n");
  const CliResult uneven = cli({"score", "run", "--source", "source.txt", "--target", "short.txt"});
  EXPECT_EQ(uneven.code, 3);
  EXPECT_TRUE(holds(uneven.err, "source.txt has 2 lines, but short.txt has 1")) << uneven.err;
}

TEST_F(TranslateCommand, EvalTranslatesAndScores) {
  write_file(*folder_ / "source.txt", "a b c\nd c b\n\n");
  write_file(*folder_ / "target.txt", "c b a\nb c d\n\n");
  const CliResult result = cli({"eval", "run", "--source", "source.txt", "--reference",
                                "target.txt", "--tokenize", "none", "--metrics", "bleu,chrf",
                                "--effective-order", "--json", "--translations", "found.txt"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json scores = Json::parse(result.out);
  EXPECT_NEAR(scores[0]["score"], 100, 1e-9);
  EXPECT_EQ(read_file(*folder_ / "found.txt"), "c b a\nb c d\n\n");
}

TEST_F(TranslateCommand, AveragesCheckpoints) {
  const CliResult result = cli({"average", "run/best", "run/last", "-o", "mean"});
  ASSERT_EQ(result.code, 0) << result.err;
  const CliResult mean = cli({"translate", "mean"}, "a b\n");
  EXPECT_EQ(mean.code, 0) << mean.err;
  EXPECT_EQ(mean.lines().size(), 1U);
}

}  // namespace
}  // namespace zoo
