// Whole trainings of a very small GPT.

#include "training/train.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint.h"
#include "core/system.h"
#include "core/text.h"
#include "data/token_file.h"
#include "models/cost.h"
#include "tests/support/message_of.h"
#include "tests/training/fake_task.h"
#include "tests/training/small_project.h"

namespace zoo {
namespace {

using testing::after;
using testing::LogitsTask;
using testing::message_of;
using testing::Notices;
using testing::SmallProject;

class TrainTest : public ::testing::Test {
 protected:
  TrainTest() { at::set_num_threads(1); }
  SmallProject small_;
  Notices notices_;

  TrainResult run(const ProjectConfig& config, const TrainOptions& options) {
    return train(config, options, notices_);
  }
  std::string weights(const std::string& name) const {
    return read_file(small_.folder / name / "last/model.safetensors");
  }
};

TEST_F(TrainTest, WritesTheRunFolder) {
  const TrainResult result =
      run(small_.config({"training.tensorboard=true", "training.keep_last=1"}), small_.options());
  const fs::path folder = small_.folder / "run";
  EXPECT_EQ(result.step, 10);
  EXPECT_EQ(result.end, TrainEnd::steps);
  for (const char* file :
       {"run.json", "zoo.json", "train.log", "metrics.jsonl", "samples/step-000010.txt",
        "last/model.safetensors", "last/config.json", "last/zoo.json", "last/optimizer.safetensors",
        "last/trainer.json", "best/model.safetensors", "last/generation_config.json"})
    EXPECT_TRUE(fs::exists(folder / file)) << file;
  EXPECT_FALSE(fs::is_empty(folder / "tensorboard"));
  EXPECT_EQ(fs::read_symlink(folder / "last"), "checkpoints/step-000010");
  const Json receipt = read_json_file(folder / "run.json");
  EXPECT_EQ(receipt["status"], "max_steps");
  EXPECT_EQ(receipt["seed"], 1337);
  EXPECT_EQ(receipt["result"]["step"], 10);
  EXPECT_EQ(receipt["data"]["train"]["source_sha256"], sha256_file(small_.folder / "text.txt"));
  const LoadedModel loaded = load_model(folder);
  EXPECT_EQ(loaded.as<CausalLm>()->vocab_size(), loaded.tokenizer->vocab_size());
  EXPECT_LT(result.best_value, 3.4);  // it has learnt something: ln V is 3.3
}

TEST_F(TrainTest, IsReproducibleToTheBit) {
  run(small_.config(), small_.options("a"));
  run(small_.config(), small_.options("b"));
  EXPECT_EQ(small_.metrics("a"), small_.metrics("b"));
  EXPECT_EQ(weights("a"), weights("b"));
  run(small_.config({"training.seed=7"}), small_.options("c"));
  EXPECT_NE(weights("a"), weights("c"));
}

TEST_F(TrainTest, CountsTokensAndEndsWithThem) {
  const TrainResult result =
      run(small_.config({"training.max_steps=0", "training.max_tokens=100"}), small_.options());
  EXPECT_EQ(result.end, TrainEnd::tokens);
  EXPECT_EQ(result.step, 4);  // 4 texts of 8 tokens a step
  const std::vector<Json> metrics = small_.metrics();
  EXPECT_EQ(metrics[0]["tokens"], 32);
  EXPECT_EQ(metrics[3]["tokens"], 128);
  const double flops = metrics[3]["flops"].get<double>();
  EXPECT_EQ(flops, 4 * metrics[0]["flops"].get<double>());
  const ProjectConfig project = read_project(read_zoo_json(small_.folder / "run"), "zoo.json");
  EXPECT_EQ(flops, 128 * training_flops(project.model, 8));
  const Json session = read_json_file(small_.folder / "run/run.json")["sessions"][0];
  EXPECT_GE(session["peak_memory_bytes"], session["memory_before_bytes"]);
}

// TRN-5, CKP-3: losses, learning rates, moments and weights go on bit for bit.
TEST_F(TrainTest, ResumingContinuesBitForBit) {
  const std::vector<std::vector<std::string>> variants = {{},
                                                          {"training.grad_accum=2"},
                                                          {"training.log_every=4"},
                                                          {"training.ema=0.9"},
                                                          {"training.optimizer=adam"},
                                                          {"training.optimizer=sgd"},
                                                          {"task.order=random"}};
  for (size_t i = 0; i < variants.size(); ++i) {
    const ProjectConfig config = small_.config(variants[i]);
    const std::string straight = cat("straight", i), broken = cat("broken", i);
    run(config, small_.options(straight));
    TrainOptions options = small_.options(broken);
    options.stop = after(5);
    EXPECT_EQ(run(config, options).end, TrainEnd::stopped);
    options.stop = [] { return false; };
    options.resume = "auto";
    EXPECT_EQ(run(config, options).step, 10);
    std::vector<Json> wanted = small_.metrics(straight), found = small_.metrics(broken);
    // A stop out of turn adds a report of what is not yet due.
    std::erase_if(found, [&](const Json& entry) {
      return entry["step"] == 5 && config.training.log_every != 1;
    });
    EXPECT_EQ(found, wanted) << i;
    EXPECT_EQ(weights(broken), weights(straight)) << i;
    EXPECT_EQ(read_file(small_.folder / broken / "last/optimizer.safetensors"),
              read_file(small_.folder / straight / "last/optimizer.safetensors"));
  }
}

TEST_F(TrainTest, ALongerLimitNeedsAnOverrideAndIsLogged) {
  const ProjectConfig config = small_.config({"training.schedule=constant"});
  run(config, small_.options());
  TrainOptions options = small_.options();
  options.resume = "auto";
  TrainResult result = run(config, options);
  EXPECT_TRUE(result.had_finished);
  EXPECT_EQ(
      notices_.all.back(),
      "nothing left to do: the run has done 10 steps and its limit is 10 in all; raise it with "
      "--override training.max_steps=N");

  const ProjectConfig longer =
      small_.config({"training.schedule=constant", "training.max_steps=14"});
  EXPECT_EQ(message_of<ConfigError>([&] { run(longer, options); }),
            "--resume: the config differs from the run's:\n  training.max_steps: 10 in the run, 14 "
            "now\ntake the run's by leaving --config and the other flags out, or say what shall "
            "change: --override KEY=VALUE");
  options.overrides = {parse_setting("training.max_steps=14")};
  result = run(*resumed_project(options), options);
  EXPECT_EQ(result.step, 14);
  EXPECT_NE(read_file(small_.folder / "run/train.log").find("override: training.max_steps = 14"),
            std::string::npos);
  options.resume.reset();
  EXPECT_EQ(message_of<ConfigError>([&] { run(config, options); }),
            "--override: changes the config of a resumed run; without --resume use --set");
}

TEST_F(TrainTest, RefusesChangedData) {
  TrainOptions options = small_.options();
  options.stop = after(3);
  run(small_.config(), options);
  options.resume = "last";
  std::string text = read_file(small_.folder / "text.txt");
  text[0] = 'a';
  write_file(small_.folder / "text.txt", text);
  EXPECT_TRUE(
      message_of<DataError>([&] {
        run(small_.config(), options);
      }).starts_with("--resume: the data are not those of the run: train.source_sha256 was "));
}

// SYS-5
TEST_F(TrainTest, TheOutputFolderIsCheckedFirst) {
  TrainOptions options = small_.options("a/b/c");
  EXPECT_EQ(run(small_.config(), options).step, 10);
  write_file(small_.folder / "file", "x");
  // The missing text would be found later.
  const ProjectConfig broken = small_.config({"task.train=[\"missing\"]"});
  EXPECT_EQ(message_of<DataError>([&] { run(broken, small_.options("file")); }),
            utf8(small_.folder / "file") + ": is a file; a folder is needed there");
  options.output = "/proc/zoo/run";
  EXPECT_TRUE(message_of<DataError>([&] {
                run(broken, options);
              }).starts_with("/proc/zoo/run: the folder cannot be made: "));
}

TEST_F(TrainTest, ANonEmptyFolderNeedsAWord) {
  run(small_.config(), small_.options());
  EXPECT_EQ(message_of<ConfigError>([&] { run(small_.config(), small_.options()); }),
            utf8(small_.folder / "run") +
                ": the output folder is not empty; give --resume to go on with the run in it, "
                "--overwrite to replace it, or another --output");
  write_file(small_.folder / "run/notes.txt", "mine");
  TrainOptions options = small_.options();
  options.overwrite = true;
  run(small_.config({"training.max_steps=6"}), options);
  EXPECT_EQ(small_.metrics().back()["step"], 6);
  EXPECT_TRUE(fs::exists(small_.folder / "run/notes.txt"));
  EXPECT_FALSE(fs::exists(small_.folder / "run/checkpoints/step-000010"));
}

TEST_F(TrainTest, NothingToResume) {
  TrainOptions options = small_.options();
  options.resume = "last";
  EXPECT_EQ(message_of<DataError>([&] { run(small_.config(), options); }),
            utf8(small_.folder / "run") +
                ": has no checkpoint \"last\" to resume from; leave --resume out to start from the "
                "beginning");
  options.resume = "auto";
  // As a run leaves it that was killed before its first checkpoint.
  write_file(small_.folder / "run/run.json", "{}");
  write_file(small_.folder / "run/data/0.tokens", "");
  EXPECT_EQ(run(small_.config(), options).step, 10);
}

TEST_F(TrainTest, StartsFromOtherWeights) {
  run(small_.config(), small_.options("a"));
  TrainOptions options = small_.options("b");
  options.init_from = small_.folder / "a/last";
  run(small_.config(
          {"training.learning_rate=1e-9", "training.max_steps=1", "training.schedule=constant"}),
      options);
  const auto weight = [&](const char* run) {
    const LoadedModel loaded = load_model(small_.folder / run / "last");
    return loaded.model->parameters()[0].clone();
  };
  EXPECT_TRUE(torch::allclose(weight("a"), weight("b"), 0, 1e-6));
}

TEST_F(TrainTest, ReportsWhatCannotBeTrained) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    TrainOptions options = small_.options();
    options.overwrite = true;
    return message_of([&] { run(small_.config(settings), options); });
  };
  EXPECT_EQ(refusal({"training.max_steps=0"}),
            "training: nothing ends it; set max_steps, epochs, max_tokens or max_time above 0");
  EXPECT_EQ(refusal({"task.train=[]"}),
            "task.train: names no file; name at least one, in the config or with --set "
            "task.train='[\"FILE\"]'");
  EXPECT_TRUE(refusal({"task.train=[\"missing.txt\"]"}).starts_with("missing.txt: no such file; "));
  EXPECT_EQ(refusal({"task.block_size=9"}),
            "task.block_size: 9 tokens, but the model reads at most 8 (model.max_length)");
  EXPECT_EQ(refusal({"training.batch_type=tokens"}),
            "training.batch_size: 4 tokens hold no example of 8 tokens; raise it");
  EXPECT_EQ(
      refusal({"training.early_stopping.metric=bleu"}),
      "training.early_stopping.metric: \"bleu\" is no metric of this task; it has loss, accuracy");
  EXPECT_EQ(refusal({"task.valid_fraction=0"}),
            "the validation split has 0 tokens; at least 2 are needed: name files in task.valid or "
            "raise task.valid_fraction");
  EXPECT_EQ(read_json_file(small_.folder / "run/run.json")["status"], "failed");
}

TEST_F(TrainTest, APackedFileNeedsItsTokenizer) {
  write_file(small_.folder / "other.txt", "abc\n");
  const auto tokenizer = train_tokenizer(CharTokenizerConfig{}, {small_.folder / "other.txt"});
  const fs::path packed = small_.folder / "t.tokens";
  pack_texts({small_.folder / "other.txt"}, *tokenizer, packed);
  const std::string setting = cat("task.train=[\"", utf8(packed), "\"]");
  EXPECT_EQ(message_of<ConfigError>([&] { run(small_.config({setting}), small_.options("a")); }),
            cat("tokenizer.file: names no tokenizer, but ", utf8(packed),
                " is packed; name the tokenizer it was packed with"));
  run(small_.config(), small_.options("b"));
  const std::string file = cat("tokenizer.file=", utf8(small_.folder / "b/last"));
  EXPECT_NE(message_of<DataError>([&] {
              run(small_.config({setting, file}), small_.options("c"));
            }).find("was packed with another tokenizer"),
            std::string::npos);
}

TEST_F(TrainTest, EpochsEndTraining) {
  const TrainResult result =
      run(small_.config({"training.max_steps=0", "training.epochs=1", "training.batch_size=16"}),
          small_.options());
  EXPECT_EQ(result.end, TrainEnd::epochs);
  const Json state = read_json_file(small_.folder / "run/last/trainer.json");
  const int64_t tokens = state["data"]["train"]["tokens"];
  EXPECT_EQ(result.step, ((tokens - 8) / 8 + 15) / 16);
}

TEST_F(TrainTest, LearnsCompletions) {
  std::string lines;
  for (char a = 'a'; a <= 'h'; ++a)
    for (char b = 'a'; b <= 'h'; ++b) lines += std::string{a, b, '\t', b, a, '\n'};
  write_file(small_.folder / "pairs.tsv", lines);
  const std::string files = cat("[\"", utf8(small_.folder / "pairs.tsv"), "\"]");
  const TrainResult result = run(
      small_.config({"task.type=completion", "task.train=" + files, "task.valid=" + files,
                     "training.max_steps=300", "training.batch_size=32", "training.eval_every=100",
                     "training.learning_rate=0.02", "training.early_stopping.metric=exact_match",
                     "model.dropout.embedding=0", "model.dropout.residual=0"}),
      small_.options());
  EXPECT_EQ(result.best_value, 1);
  EXPECT_NE(read_file(small_.folder / "run/samples/step-000300.txt").find("aa\taa\t(wanted: aa)"),
            std::string::npos);
}

// CKP-1, CKP-3
TEST_F(TrainTest, NamesTheFileThatIsCut) {
  TrainOptions options = small_.options();
  options.stop = after(2);
  run(small_.config(), options);
  options.resume = "last";
  for (const char* name : {"optimizer.safetensors", "trainer.json", "model.safetensors"}) {
    const fs::path file = fs::canonical(small_.folder / "run/last") / name;
    const std::string whole = read_file(file);
    for (const size_t size : {whole.size() / 2, size_t{1}, size_t{0}}) {
      write_file(file, whole.substr(0, size));
      EXPECT_NE(message_of<DataError>([&] { run(small_.config(), options); }).find(name),
                std::string::npos)
          << name << " " << size;
    }
    write_file(file, whole);
  }
  EXPECT_EQ(run(small_.config(), options).end, TrainEnd::stopped);
}

TEST_F(TrainTest, EstimatesWithoutTouchingTheFolder) {
  const TrainEstimate estimate = estimate_training(small_.config(), small_.options(), notices_);
  EXPECT_FALSE(fs::exists(small_.folder / "run"));
  EXPECT_EQ(estimate.tokens_per_step, 32);
  EXPECT_EQ(estimate.total_steps, 10);
  EXPECT_GT(estimate.seconds_per_step, 0);
  EXPECT_GT(estimate.flops_per_token, 6.0 * 16 * 16 * 12);
  EXPECT_GT(estimate.peak_bytes, 1e6);
}

// ---- the loop, with evaluations that the test makes up ----

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() : task_(torch::tensor({1.f, 0.f, -1.f})) {
    at::set_num_threads(1);
    task_.batches = {LogitsTask::of({0, 1}), LogitsTask::of({2})};
    config_.schedule = ConstantScheduleConfig{};
    config_.max_steps = 8;
    config_.eval_every = 1;
    config_.log_every = 1;
  }
  Trainer trainer() {
    return Trainer(
        {.task = task_,
         .config = config_,
         .run = run_,
         .observer = notices_,
         .save_model = [](const fs::path& folder) { write_file(folder / "model", "x"); }});
  }
  testing::TempFolder folder_;
  RunFolder run_{folder_ / "run"};
  LogitsTask task_;
  TrainingConfig config_;
  Notices notices_;
};

TEST_F(TrainerTest, KeepsTheNewestAndTheBest) {
  task_.losses = {5, 3, 4, 2, 6, 7, 8, 9};
  config_.keep_last = 2;
  config_.keep_best = 2;
  trainer().run();
  EXPECT_EQ(run_.checkpoint_steps(), (std::vector<int64_t>{2, 4, 7, 8}));
  EXPECT_EQ(fs::read_symlink(folder_ / "run/best"), "checkpoints/step-000004");
  EXPECT_EQ(fs::read_symlink(folder_ / "run/last"), "checkpoints/step-000008");
}

TEST_F(TrainerTest, StopsWithoutHope) {
  task_.losses = {5, 3, 3.5, 2.95, 3, 1};
  config_.early_stopping = {.patience = 3, .min_delta = 0.1};
  Trainer stopped = trainer();
  EXPECT_EQ(stopped.run(), TrainEnd::early_stopping);
  EXPECT_EQ(stopped.state().step, 5);
  EXPECT_EQ(stopped.state().best.front().step, 2);
}

TEST_F(TrainerTest, ThePlateauScheduleFollowsTheMetric) {
  struct Rates : Notices {
    void steps(const StepReport& report) override { all.push_back(report.learning_rate); }
    std::vector<double> all;
  } rates;
  task_.losses = {5, 3, 3.5, 4, 2, 2, 2, 2, 2, 2};
  config_.schedule = PlateauScheduleConfig{.factor = 0.5, .patience = 2, .min_learning_rate = 0.2};
  config_.learning_rate = 1;
  const auto parts = [&] {
    return TrainerParts{
        .task = task_,
        .config = config_,
        .run = run_,
        .observer = rates,
        .save_model = [](const fs::path& folder) { write_file(folder / "model", "x"); }};
  };
  Trainer(parts()).run();
  const std::vector<double> wanted = {1, 1, 1, 1, .5, .5, .5, .25, .25, .2};
  EXPECT_EQ(rates.all, std::vector<double>(wanted.begin(), wanted.begin() + 8));
  config_.max_steps = 10;
  Trainer resumed(parts());
  resumed.resume(run_.checkpoint(8));
  resumed.run();
  EXPECT_EQ(rates.all, wanted);
}

// TRN-3, TRN-9
TEST_F(TrainerTest, NothingToLearnIsSaid) {
  task_.batches = {LogitsTask::of({kNoTarget})};
  config_.max_steps = 1;
  trainer().run();
  EXPECT_EQ(notices_.all.at(0), "step 1: no target in the whole batch, nothing learnt");
  EXPECT_TRUE(task_.model.logits.isfinite().all().item<bool>());
}

TEST_F(TrainerTest, DivergenceEndsTraining) {
  struct Diverging : LogitsTask {
    using LogitsTask::LogitsTask;
    Tensor loss_sum(torch::nn::Module&, const Batch&) override {
      return (model.logits * NAN).sum();
    }
  } task(torch::zeros(3));
  task.batches = task_.batches;
  config_.max_steps = 100;
  config_.eval_every = 0;
  Trainer trainer({.task = task,
                   .config = config_,
                   .run = run_,
                   .observer = notices_,
                   .save_model = [](const fs::path&) {}});
  EXPECT_EQ(
      message_of<NumericError>([&] { trainer.run(); }),
      "step 10: the gradient was not finite for 10 steps in a row; the last checkpoint is good. "
      "Lower training.learning_rate, clip with training.clip_norm, or use training.precision "
      "fp32");
  EXPECT_TRUE(task.model.logits.equal(torch::zeros(3)));
  task_.losses = {NAN};
  config_.eval_every = 1;
  EXPECT_EQ(message_of<NumericError>([&] { this->trainer().run(); }),
            "step 1: valid_loss is nan; the last checkpoint is good. Lower training.learning_rate");
}

// CKP-3: 50 reloads leave memory as it is.
TEST_F(TrainerTest, ReloadingDoesNotGrow) {
  trainer().run();
  Trainer reloaded = trainer();
  const auto resident = [] { return std::stoll(proc_value("/proc/self/status", "VmRSS")); };
  for (int i = 0; i < 5; ++i) reloaded.resume(run_.checkpoint(8));
  const auto before = static_cast<double>(resident());
  for (int i = 0; i < 50; ++i) reloaded.resume(run_.checkpoint(8));
  EXPECT_NEAR(static_cast<double>(resident()) / before, 1, 0.05);
  EXPECT_EQ(reloaded.state().step, 8);
}

TEST_F(TrainerTest, RefusesAStateThatIsNone) {
  write_file(folder_ / "trainer.json", "{\"step\": 3}");
  EXPECT_TRUE(message_of<FormatError>([&] {
                read_trainer_state(folder_ / "trainer.json");
              }).starts_with(utf8(folder_ / "trainer.json") + ": is no training state: "));
}

}  // namespace
}  // namespace zoo
