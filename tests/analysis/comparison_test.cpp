// Trainings against each other: the same data in the same order, and what comes of it.

#include "analysis/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/train_comparison.h"
#include "tests/support/message_of.h"
#include "tests/training/small_translation.h"

namespace zoo {
namespace {

using testing::after;
using testing::kRecurrent;
using testing::message_of;
using testing::Notices;
using testing::SmallTranslation;

TEST(Budget, IsRead) {
  EXPECT_EQ(parse_budget("tokens=2e6").amount, 2e6);
  EXPECT_EQ(parse_budget("tokens=2e6").unit, BudgetUnit::tokens);
  EXPECT_EQ(parse_budget("steps=500").unit, BudgetUnit::steps);
  EXPECT_EQ(parse_budget("seconds=1.5").amount, 1.5);
  const std::string allowed =
      "; allowed: tokens=N, steps=N or seconds=N with N above 0, such as tokens=2e6";
  for (const auto& [text, problem] : {std::pair{"500", "has no ="},
                                      {"hours=2", "names no unit"},
                                      {"steps=", "is no number above 0"},
                                      {"steps=-1", "is no number above 0"},
                                      {"tokens=5k", "is no number above 0"},
                                      {"seconds=inf", "is no number above 0"},
                                      {"steps=1.5", "is no whole number"}})
    EXPECT_EQ(message_of<ConfigError>([&, text = text] { parse_budget(text); }),
              cat("--budget: \"", text, "\" ", problem, allowed));
}

class ComparisonTest : public ::testing::Test {
 protected:
  ComparisonTest() { at::set_num_threads(1); }

  std::vector<DynamicsRun> runs(const std::vector<std::string>& of_transformer = {}) const {
    return {{"rnn", small_.translation({kRecurrent, "training.max_steps=20"}), {}},
            {"transformer", small_.translation(of_transformer), {}}};
  }
  std::string refusal(const std::vector<std::string>& of_transformer) const {
    return message_of<ConfigError>([&] {
      std::vector<DynamicsRun> both = runs(of_transformer);
      align_trainings(both);
    });
  }
  TrainDynamicsOptions options(const std::string& folder) const {
    TrainDynamicsOptions options;
    options.output = small_.folder / folder;
    options.look.every = 5;
    return options;
  }

  SmallTranslation small_;
  Notices notices_;
};

TEST_F(ComparisonTest, BothReadTheSameInTheSameOrder) {
  std::vector<DynamicsRun> both =
      runs({"training.batch_size=60", "training.seed=7", "training.learning_rate=0.01",
            "training.early_stopping.patience=1"});
  // As they stand they do not.
  const std::vector<TrainedDynamics> apart = train_dynamics(both, options("apart"), notices_);
  EXPECT_EQ(message_of<DataError>([&] { require_same_order(apart); }),
            "compare: at step 1 transformer has read other data than rnn, so their losses cannot "
            "be compared; look for differences of the models that change their inputs, such as the "
            "size of pictures");
  EXPECT_EQ(align_trainings(both),
            (std::vector<std::string>{"transformer: training.seed becomes that of rnn",
                                      "transformer: training.batch_size becomes that of rnn",
                                      "transformer: training.max_steps becomes that of rnn"}));
  EXPECT_EQ(both[1].project.training.learning_rate, 0.01);
  EXPECT_EQ(both[1].project.training.early_stopping.patience, 0);
  const std::vector<TrainedDynamics> together = train_dynamics(both, options("runs"), notices_);
  require_same_order(together);
  EXPECT_EQ(together[0].dynamics.read, together[1].dynamics.read);
  EXPECT_EQ(together[0].dynamics.read.size(), 20U);
  EXPECT_NE(together[0].dynamics.read[0], together[0].dynamics.read[1]);

  Comparison comparison =
      read_comparison({small_.folder / "runs/rnn", small_.folder / "runs/transformer"});
  require_comparable(comparison);
  ASSERT_EQ(comparison.runs.size(), 2U);
  const ComparedRun& rnn = comparison.runs[0];
  const ComparedRun& transformer = comparison.runs[1];
  EXPECT_EQ(rnn.model(), "rnn-seq2seq");
  EXPECT_EQ(transformer.model(), "transformer");
  EXPECT_EQ(rnn.steps(), 20);
  EXPECT_GT(rnn.tokens(), 20 * 50);
  EXPECT_EQ(rnn.tokens(), transformer.tokens());
  EXPECT_GT(rnn.flops(), 6 * rnn.tokens() * 1000);
  EXPECT_NE(rnn.flops(), transformer.flops());
  EXPECT_GT(rnn.tokens_per_second(), 0);
  EXPECT_GT(rnn.memory(), 0);
  EXPECT_GT(rnn.median_grad_norm(), 0);
  EXPECT_GE(rnn.clipped(), 0);
  EXPECT_LT(transformer.best("valid_loss"), 4);
  EXPECT_EQ(rnn.dynamics.steps.size(), 5U);

  for (ComparedRun& run : comparison.runs)
    run.by_length = scores_by_length(run.record.folder, 15, torch::kCPU);
  int64_t lines = 0;
  for (const LengthScore& score : rnn.by_length) lines += score.lines;
  EXPECT_EQ(lines, 15);
  write_comparison(comparison, small_.folder / "runs");
  for (const char* file :
       {"compare.csv", "compare.json", "loss-tokens.svg", "loss-seconds.svg", "loss-flops.svg",
        "grad-norm.svg", "speed.svg", "length.svg", "reach.svg", "clipping.svg", "rnn/layers.svg",
        "transformer/groups.svg", "dynamics.csv", "gradient_time.csv"}) {
    ASSERT_TRUE(fs::exists(small_.folder / "runs" / file)) << file;
    EXPECT_EQ(read_file(small_.folder / "runs" / file).find("no data"), std::string::npos) << file;
  }
  const std::string csv = read_file(small_.folder / "runs/compare.csv");
  EXPECT_TRUE(csv.starts_with("run,step,tokens,seconds,flops,quantity,value\nrnn,1,"))
      << csv.substr(0, 200);
  const Json json = read_json_file(small_.folder / "runs/compare.json");
  EXPECT_EQ(json["runs"][1]["name"], "transformer");
  EXPECT_EQ(json["runs"][0]["steps"], 20);
  EXPECT_EQ(json["runs"][0]["by_length"][0]["from"], 0);

  const auto table = comparison_table(comparison);
  EXPECT_EQ(table[0], (std::vector<std::string>{"quantity", "rnn", "transformer"}));
  std::vector<std::string> names;
  for (const auto& row : table) names.push_back(row[0]);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "quantity", "model", "parameters", "steps", "tokens", "seconds", "tokens/s",
                "FLOPs", "FLOP/s", "memory", "loss", "best valid_loss", "best valid_accuracy",
                "best valid_exact_match", "best valid_bleu", "gradient norm", "clipped steps"}));
  EXPECT_EQ(length_table(comparison)[0],
            (std::vector<std::string>{"words", "lines", "rnn BLEU", "rnn exact", "transformer BLEU",
                                      "transformer exact"}));
}

TEST_F(ComparisonTest, ABudgetOfTokensIsReadByBoth) {
  std::vector<DynamicsRun> both = runs();
  align_trainings(both);
  set_budget(both, parse_budget("tokens=2000"), torch::kCPU, notices_);
  const auto trained = train_dynamics(both, options("runs"), notices_);
  EXPECT_EQ(trained[0].result.end, TrainEnd::tokens);
  const Comparison comparison =
      read_comparison({small_.folder / "runs/rnn", small_.folder / "runs/transformer"});
  for (const ComparedRun& run : comparison.runs) {
    EXPECT_GE(run.tokens(), 2000);
    EXPECT_LT(run.tokens(), 2000 + 240);  // a step has at most 120 tokens a side
    EXPECT_EQ(run.record.receipt["status"], "max_tokens");
  }
}

TEST_F(ComparisonTest, ABudgetOfSecondsBecomesSteps) {
  std::vector<DynamicsRun> both = runs();
  align_trainings(both);
  set_budget(both, parse_budget("seconds=0.5"), torch::kCPU, notices_);
  for (const DynamicsRun& run : both) {
    EXPECT_GT(run.project.training.max_steps, 3) << run.name;
    EXPECT_LT(run.project.training.max_steps, 100'000) << run.name;
    EXPECT_LE(run.project.training.eval_every, run.project.training.max_steps) << run.name;
  }
}

TEST_F(ComparisonTest, EndsWithWhatThereIsWhenItIsStopped) {
  std::vector<DynamicsRun> both = runs();
  TrainDynamicsOptions stopping = options("runs");
  stopping.stop = after(3);
  const auto trained = train_dynamics(both, stopping, notices_);
  ASSERT_EQ(trained.size(), 1U);
  EXPECT_EQ(trained[0].result.end, TrainEnd::stopped);
  EXPECT_EQ(read_comparison({small_.folder / "runs/rnn"}).runs[0].steps(), 3);
}

TEST_F(ComparisonTest, RefusesWhatCannotBeCompared) {
  EXPECT_EQ(
      refusal({cat("task.train.tsv=[\"", small_.path("valid.tsv"), "\"]")}),
      cat("compare: rnn and transformer learn different tasks or data: task.train.tsv is [\"",
          small_.path("train.tsv"), "\"] and [\"", small_.path("valid.tsv"),
          "\"]; only models that learn the same from the same files can be compared; give all "
          "configs one task"));
  EXPECT_TRUE(refusal({"tokenizer={\"type\": \"sentencepiece\", \"model\": \"word\", "
                       "\"vocab_size\": 9}"})
                  .starts_with("compare: rnn and transformer have different tokenizers: "
                               "tokenizer.vocab_size is "))
      << refusal(
             {"tokenizer={\"type\": \"sentencepiece\", \"model\": \"word\", \"vocab_size\": 9}"});
  EXPECT_EQ(refusal({"model.max_length=12"}),
            "compare: rnn and transformer read texts of up to 16 and 12 tokens (model.max_length), "
            "so they would not learn from the same data; give both one limit, such as --set "
            "model.max_length=12");
  // The task's own limit is the smaller one for both.
  std::vector<DynamicsRun> both = {
      {"rnn", small_.translation({kRecurrent, "task.max_length=10"}), {}},
      {"transformer", small_.translation({"model.max_length=12", "task.max_length=10"}), {}}};
  align_trainings(both);
  both.pop_back();
  EXPECT_EQ(message_of<ConfigError>([&] { align_trainings(both); }),
            "compare: 1 config is given; give two or more, such as an RNN's and a Transformer's of "
            "one task");
}

TEST_F(ComparisonTest, ReadsRunsThatAreThere) {
  Notices notices;
  train(small_.translation(), small_.options("one"), notices);
  train(small_.translation({"training.batch_size=60", "training.learning_rate=0.01"}),
        small_.options("two"), notices);
  Comparison comparison = read_comparison({small_.folder / "one", small_.folder / "two"});
  require_comparable(comparison);
  EXPECT_EQ(comparison.notes,
            std::vector<std::string>{
                "two: training.batch_size is 60, of one 120: their batches are not the same"});
  EXPECT_TRUE(comparison.runs[0].dynamics.steps.empty());
  EXPECT_TRUE(length_table(comparison).empty());
  for (const auto& [name, picture] : comparison_charts(comparison))
    EXPECT_EQ(picture.find("no data"), std::string::npos) << name;

  write_file(small_.folder / "valid.tsv", "1 2\t2 1\n");
  train(small_.translation(), small_.options("three"), notices);
  EXPECT_TRUE(
      message_of<ConfigError>([&] {
        Comparison other = read_comparison({small_.folder / "one", small_.folder / "three"});
        require_comparable(other);
      })
          .starts_with("compare: one and three have read different data: "
                       "data.valid.source_sha256 was "));
  EXPECT_EQ(message_of<DataError>([&] { read_comparison({small_.folder.path()}); }),
            cat(utf8(small_.folder.path()),
                ": holds no run (there is no run.json and no metrics.jsonl); name a folder that "
                "`train` or `compare` wrote"));
  fs::create_directories(small_.folder / "none");
  write_file(small_.folder / "none/run.json", "{}");
  EXPECT_EQ(message_of<DataError>([&] { read_comparison({small_.folder / "none"}); }),
            cat(small_.path("none"),
                ": holds no config or no metrics, so there is nothing to compare; name a run that "
                "has begun"));
}

// Runs from before tokens were counted: speed times time gives them.
TEST_F(ComparisonTest, CountsTheTokensOfOlderRuns) {
  Notices notices;
  train(small_.translation(), small_.options("run"), notices);
  const double wanted = read_comparison({small_.folder / "run"}).runs[0].tokens();
  std::string older;
  for_each_line(read_file(small_.folder / "run/metrics.jsonl"), [&](std::string_view line) {
    Json entry = parse_json(line, "metrics");
    entry.erase("tokens");
    entry.erase("flops");
    older += entry.dump() + "\n";
  });
  write_file(small_.folder / "run/metrics.jsonl", older);
  const Comparison comparison = read_comparison({small_.folder / "run"});
  EXPECT_NEAR(comparison.runs[0].tokens(), wanted, 1e-6 * wanted);
  EXPECT_TRUE(std::isnan(comparison.runs[0].flops()));
}

}  // namespace
}  // namespace zoo
