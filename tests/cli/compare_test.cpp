// transformer-cli compare, as a user runs it.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;

/// Two configs and their pairs.
class CompareCommand : public ::testing::Test {
 protected:
  CompareCommand() {
    write_file(folder_ / "pairs.tsv", testing::reversed_letters(40));
    write_file(folder_ / "rnn.json", testing::tiny_comparison("rnn-seq2seq", R"("d_hidden": 12)"));
    write_file(folder_ / "transformer.json",
               testing::tiny_comparison("transformer", R"("d_model": 16, "encoder_layers": 1,
                                        "decoder_layers": 1,
                                        "block": {"attention": {"num_heads": 2}})"));
  }
  CliResult compare(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "compare");
    return run_cli(arguments, "", folder_.path());
  }
  testing::TempFolder folder_;
};

TEST_F(CompareCommand, TrainsReportsAndReadsAgain) {
  const CliResult result = compare({"rnn.json", "transformer.json", "--budget", "steps=10", "-o",
                                    "out", "--every", "5", "--pairs", "10"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.lines()[0].starts_with("quantity ")) << result.out;
  for (const char* part : {"rnn-seq2seq", "tokens/s", "FLOP/s", "memory", "best valid_loss",
                           "clipped steps", "words", "rnn BLEU"})
    EXPECT_TRUE(holds(result.out, part)) << part << "\n" << result.out;
  EXPECT_TRUE(holds(result.err, "all have read the same batches, step by step")) << result.err;
  for (const char* file : {"compare.csv", "compare.json", "loss-tokens.svg", "reach.svg",
                           "rnn/run.json", "transformer/best/model.safetensors"})
    EXPECT_TRUE(fs::exists(folder_ / "out" / file)) << file;
  const Json json = read_json_file(folder_ / "out/compare.json");
  EXPECT_EQ(json["budget"], "steps=10");
  EXPECT_EQ(json["runs"][0]["tokens"], json["runs"][1]["tokens"]);

  const CliResult again = compare({"out/rnn", "out/transformer", "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  const Json read = parse_json(again.out, "standard output");
  EXPECT_EQ(read["runs"][0]["steps"], 10);
  EXPECT_EQ(read["runs"][1]["flops"], json["runs"][1]["flops"]);

  const CliResult occupied =
      compare({"rnn.json", "transformer.json", "--budget", "steps=10", "-o", "out"});
  EXPECT_EQ(occupied.code, 2);
  EXPECT_TRUE(holds(occupied.err, "out: is not empty; give --overwrite")) << occupied.err;
}

TEST_F(CompareCommand, TracksWhatIsAskedFor) {
  const CliResult result = compare({"rnn.json", "transformer.json", "--budget", "steps=4", "-o",
                                    "out", "--track", "loss,grad-norm", "--grad-norm-per", "time"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(holds(result.out, "tokens/s")) << result.out;
  EXPECT_FALSE(holds(result.out, "BLEU")) << result.out;
  EXPECT_TRUE(fs::exists(folder_ / "out/gradient_time.csv"));
  EXPECT_FALSE(fs::exists(folder_ / "out/dynamics.csv"));
}

TEST_F(CompareCommand, RefusesWhatItCannotCompare) {
  const auto expect = [&](const std::vector<std::string>& arguments, int code,
                          const std::string& part) {
    const CliResult result = compare(arguments);
    EXPECT_EQ(result.code, code) << part;
    EXPECT_TRUE(holds(result.err, part)) << result.err;
    EXPECT_EQ(result.out, "");
  };
  expect({"rnn.json"}, 2, "compare: 1 model is given; give two or more configs or run folders");
  expect({"rnn.json", "transformer.json"}, 2, "compare: needs -o/--output DIR for the runs");
  expect({"rnn.json", "transformer.json", "-o", "out", "--budget", "5"}, 2,
         "--budget: \"5\" has no =");
  expect({"rnn.json", ".", "-o", "out"}, 2, "compare: configs and run folders are mixed");
  expect({".", "."}, 3, "holds no run");
  expect({"rnn.json", "none.json", "-o", "out"}, 3, "none.json");
  expect({".", ".", "--budget", "steps=5"}, 2,
         "--budget: is for configs that are trained; the runs are there already, leave it out");
  expect({"rnn.json", "transformer.json", "-o", "out", "--budget", "steps=5", "--set",
          R"(training.schedule={"type": "cosine", "warmup_steps": 9})"},
         2, "rnn: training.schedule: warm-up (and decay) take 9 steps, but training has 5");
  expect({"rnn.json", "transformer.json", "-o", "out", "--track", "los"}, 2,
         "did you mean \"loss\"?");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

}  // namespace
}  // namespace zoo
