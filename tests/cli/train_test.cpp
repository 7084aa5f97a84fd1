// train, data and what a run leaves behind, as a user meets them.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::kTinyModel;
using testing::run_cli;
using testing::run_shell;

class TrainCommand : public ::testing::Test {
 protected:
  TrainCommand() {
    write_file(folder_ / "text.txt", testing::small_text(60));
    for (const std::string& argument : kTinyModel) tiny_ += " " + argument;
  }
  CliResult shell(const std::string& line) { return run_shell(line, "", folder_.path()); }

  /// Trains without end, and sends `signal` once the first steps are on record.
  CliResult interrupted(const std::string& signal) {
    return shell(cat("transformer-cli train --data text.txt -o run --log-every 1 ", tiny_,
                     " --set training.max_steps=0 --max-steps 100000000 & train=$!\n"
                     "until [ -s run/metrics.jsonl ]; do sleep 0.02; done\n"
                     "kill -",
                     signal, " $train; wait $train"));
  }

  testing::TempFolder folder_;
  std::string tiny_;
};

TEST_F(TrainCommand, ASignalSavesAndStops) {
  // The later --max-steps would contradict the earlier one.
  tiny_.erase(tiny_.find(" --max-steps 2"), std::string(" --max-steps 2").size());
  for (const auto& [signal, code] : {std::pair{"INT", 130}, {"TERM", 143}}) {
    const CliResult result = interrupted(signal);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.lines().size(), 1U) << result.out;
    const Json receipt = Json::parse(read_file(folder_ / "run/run.json"));
    EXPECT_EQ(receipt["status"], "stopped");
    const int64_t step = receipt["result"]["step"];
    EXPECT_GE(step, 1);
    // It goes on from there.
    const CliResult resumed = shell(
        cat("transformer-cli train -o run --resume --override training.max_steps=", step + 2));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_TRUE(holds(resumed.err, cat("going on after step "))) << resumed.err;
    EXPECT_EQ(Json::parse(read_file(folder_ / "run/run.json"))["result"]["step"], step + 2);
    fs::remove_all(folder_ / "run");
  }
}

TEST_F(TrainCommand, AFileThatOutgrowsItsLimitIsAnError) {
  const CliResult result =
      shell(cat("ulimit -f 8; transformer-cli train --data text.txt -o run --set model.d_model=128",
                tiny_.substr(tiny_.find(" --set model.max_length"))));
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_TRUE(holds(result.err, "error: ")) << result.err;
}

TEST_F(TrainCommand, LaterCheckpointsAreNotRemovedInSilence) {
  const CliResult first =
      shell(cat("transformer-cli train --data text.txt -o run --save-every 1", tiny_));
  ASSERT_EQ(first.code, 0) << first.err;
  const CliResult back = shell("transformer-cli train -o run --resume run/checkpoints/step-000001");
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_TRUE(holds(back.err,
                    "the checkpoint of step 2 is removed, since training goes on from "
                    "step 1"))
      << back.err;
}

TEST_F(TrainCommand, ResumesTheRunThatItsFolderNames) {
  const CliResult first =
      shell(cat("transformer-cli train --data text.txt -o run --save-every 1", tiny_));
  ASSERT_EQ(first.code, 0) << first.err;
  int64_t step = 2;
  for (const char* folder : {"run", "run/", "run/checkpoints/step-000004"}) {
    const CliResult again = shell(cat("transformer-cli train --resume ", folder,
                                      " --override training.max_steps=", step + 1));
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_TRUE(holds(again.err, cat("going on after step ", step, " in "))) << again.err;
    ++step;
  }
  const CliResult nowhere = shell("transformer-cli train --resume elsewhere");
  EXPECT_EQ(nowhere.code, 2) << nowhere.err;
  EXPECT_TRUE(holds(nowhere.err, "needs -o/--output DIR")) << nowhere.err;
}

TEST_F(TrainCommand, ADryRunWritesNothing) {
  const CliResult result = shell("transformer-cli train --data text.txt --dry-run" + tiny_);
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* line : {"parameters: ", "FLOPs a token: ", "peak memory: ", "time: "})
    EXPECT_TRUE(holds(result.out, line)) << result.out;
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(TrainCommand, OverfitsABatch) {
  const CliResult result = shell(
      cat("transformer-cli train --data text.txt -o run --overfit-batch --lr 0.02 --eval-every 0 "
          "--log-every 1 --schedule constant",
          tiny_.substr(0, tiny_.find(" --max-steps")), " --batch-size 2 --max-steps 300"));
  ASSERT_EQ(result.code, 0) << result.err;
  std::string last;
  for_each_line(read_file(folder_ / "run/metrics.jsonl"), [&](std::string_view line) {
    if (holds(std::string(line), "\"loss\"")) last = line;
  });
  EXPECT_LT(Json::parse(last)["loss"].get<double>(), 0.5) << last;
}

TEST_F(TrainCommand, OnlyWhatReadsAConfigTakesOne) {
  for (const char* command : {"generate x", "eval x", "tokenize x", "detokenize x",
                              "train-tokenizer -i text.txt", "data stats text.txt", "env"})
    for (const char* flag : {"-c text.json", "--config=text.json", "--set a=1"})
      for (const bool before : {false, true}) {
        const CliResult result = shell(before ? cat("transformer-cli ", flag, " ", command)
                                              : cat("transformer-cli ", command, " ", flag));
        EXPECT_EQ(result.code, 2) << command;
        EXPECT_TRUE(holds(result.err, "reads no config")) << result.err;
      }
}

TEST_F(TrainCommand, DevicesAreChecked) {
  for (const char* command : {"inspect gpt2", "config list", "env"}) {
    const CliResult result = shell(cat("transformer-cli ", command, " --device gpu"));
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(holds(result.err, "--device: \"gpu\" is refused; allowed: auto, cpu"))
        << result.err;
  }
}

class DataCommand : public TrainCommand {};

TEST_F(DataCommand, PacksWhatTrainingReads) {
  ASSERT_EQ(shell("transformer-cli train-tokenizer --type char -i text.txt -o chars").code, 0);
  const CliResult packed = shell("transformer-cli data pack text.txt -m chars -o text.tokens");
  ASSERT_EQ(packed.code, 0) << packed.err;
  EXPECT_TRUE(holds(packed.out, "text.tokens")) << packed.out;
  const CliResult trained = shell(
      cat("transformer-cli train --data text.tokens -o run --set tokenizer.file=chars", tiny_));
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(DataCommand, SynthesisesAndCounts) {
  const CliResult synth =
      shell("transformer-cli data synth reverse --train 20 --valid 5 --length 4 -o reverse");
  ASSERT_EQ(synth.code, 0) << synth.err;
  int lines = 0;
  for_each_line(read_file(folder_ / "reverse/train.tsv"), [&](std::string_view line) {
    ++lines;
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string_view::npos);
    std::string text(line.substr(0, tab));  // "abc>", answered by "cba."
    ASSERT_EQ(text.back(), '>');
    text.pop_back();
    EXPECT_EQ(std::string(text.rbegin(), text.rend()) + ".", line.substr(tab + 1));
  });
  EXPECT_EQ(lines, 20);
  const CliResult stats = shell("transformer-cli data stats reverse/train.tsv --json");
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_EQ(Json::parse(stats.out)[0]["lines"], 20) << stats.out;
}

TEST_F(DataCommand, ChecksAndSaysWhatIsWrong) {
  write_file(folder_ / "a.txt", "one\ntwo\n\nthree \xff\n");
  write_file(folder_ / "b.txt", "one\ntwo\n");
  const CliResult invalid = shell("transformer-cli data check a.txt");
  EXPECT_EQ(invalid.code, 3);
  EXPECT_TRUE(holds(invalid.out + invalid.err, "UTF-8")) << invalid.out << invalid.err;
  const CliResult uneven = shell("transformer-cli data check a.txt b.txt --parallel");
  EXPECT_EQ(uneven.code, 3);
  EXPECT_TRUE(holds(uneven.out, "4") && holds(uneven.out, "2")) << uneven.out;
  EXPECT_EQ(shell("transformer-cli data check b.txt").code, 0);
}

}  // namespace
}  // namespace zoo
