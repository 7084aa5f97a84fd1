// The task translation: batches, loss, metrics, and whole trainings of very small models.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "checkpoint/checkpoint.h"
#include "evaluation/bleu.h"
#include "tests/support/message_of.h"
#include "tests/training/small_translation.h"
#include "training/tasks.h"
#include "training/training_step.h"

namespace zoo {
namespace {

using testing::after;
using testing::kRecurrent;
using testing::message_of;
using testing::Notices;
using testing::SmallTranslation;

/// Logits that are the encoder's and decoder's tokens themselves, looked up in one table: what a
/// task asks of a model can be seen, and the loss be worked out by hand.
struct TableModel final : Seq2Seq {
  explicit TableModel(const Tensor& start) {
    table = register_parameter("table", start.clone());  // (V, V)
  }
  Encoded encode(const Tensor& source, const Tensor& lengths, Tap*) override {
    return {torch::zeros({source.size(0), source.size(1), 1}), lengths, {}};
  }
  Tensor decode(const Encoded&, const Tensor& inputs, const TeachArgs& args) override {
    teacher_forcing.push_back(args.teacher_forcing);
    return torch::one_hot(inputs, table.size(0)).to(torch::kFloat32);  // (B, T, V)
  }
  Tensor logits(const Tensor& hidden) override {
    rows_of_logits = hidden.numel() / hidden.size(-1);
    return hidden.matmul(table);
  }
  struct State final : DecodeState {
    int64_t read = 0, rows = 0, most = 0;
    int64_t length() const override { return read; }
    int64_t capacity() const override { return most; }
    int64_t batch() const override { return rows; }
    void reorder(const Tensor& kept) override { rows = kept.size(0); }
  };
  std::unique_ptr<DecodeState> start(const Encoded& encoded, int64_t capacity) override {
    auto state = std::make_unique<State>();
    state->rows = encoded.lengths.size(0);
    state->most = capacity;
    return state;
  }
  Tensor step(const Tensor& tokens, DecodeState& state, Tap*) override {
    EXPECT_EQ(tokens.size(0), state.batch());
    auto& own = static_cast<State&>(state);
    EXPECT_LT(own.read++, own.most);
    return table.index_select(0, tokens);
  }
  int64_t source_vocab_size() const override { return table.size(0); }
  int64_t vocab_size() const override { return table.size(0); }
  int64_t max_source_length() const override { return 9; }
  int64_t max_length() const override { return 9; }

  Tensor table;
  int64_t rows_of_logits = 0;
  std::vector<double> teacher_forcing;
};

/// A task on the files `s` and `t` of a folder, with words as tokens.
class TranslationTaskTest : public ::testing::Test {
 protected:
  testing::TempFolder folder_;
  TrainingConfig training_;
  TranslationTaskConfig config_;
  std::vector<std::string> notices_;
  std::shared_ptr<Tokenizer> tokenizer_;
  std::shared_ptr<TableModel> model_;

  std::unique_ptr<Task> make(const std::string& source, const std::string& target) {
    write_file(folder_ / "s", source);
    write_file(folder_ / "t", target);
    config_.train.source = config_.valid.source = {utf8(folder_ / "s")};
    config_.train.target = config_.valid.target = {utf8(folder_ / "t")};
    SentencePieceTokenizerConfig words;
    words.model = SentencePieceModel::word;
    tokenizer_ = train_tokenizer(words, {folder_ / "s", folder_ / "t"});
    torch::manual_seed(3);
    model_ = std::make_shared<TableModel>(
        torch::randn({tokenizer_->vocab_size(), tokenizer_->vocab_size()}));
    return make_task(config_, {.model = model_,
                               .tokenizer = tokenizer_,
                               .source_tokenizer = nullptr,
                               .training = &training_,
                               .device = torch::kCPU,
                               .cache = folder_ / "cache",
                               .notice = [&](const std::string& n) { notices_.push_back(n); }});
  }
  int64_t id(const std::string& word) { return tokenizer_->piece_id("▁" + word).value(); }
  static std::vector<int64_t> row(const Tensor& tensor, int64_t index) {
    const Tensor line = tensor[index].contiguous();
    return {line.data_ptr<int64_t>(), line.data_ptr<int64_t>() + line.numel()};
  }
};

TEST_F(TranslationTaskTest, ABatchHasBothSidesShiftedAndPadded) {
  const auto task = make("a\nb c\n", "x y\nz\n");
  const Batch batch = task->batch(0);
  ASSERT_EQ(batch.examples, 2);
  EXPECT_EQ(batch.target_count, 5);
  const int64_t bos = 1, eos = 2;
  const int64_t first = batch.source_lengths[0].item<int64_t>() == 2 ? 0 : 1, second = 1 - first;
  EXPECT_EQ(row(batch.source, first), (std::vector<int64_t>{id("a"), eos, 0}));
  EXPECT_EQ(row(batch.source, second), (std::vector<int64_t>{id("b"), id("c"), eos}));
  EXPECT_EQ(row(batch.inputs, first), (std::vector<int64_t>{bos, id("x"), id("y")}));
  EXPECT_EQ(row(batch.targets, first), (std::vector<int64_t>{id("x"), id("y"), eos}));
  EXPECT_EQ(row(batch.inputs, second), (std::vector<int64_t>{bos, id("z"), 0}));
  EXPECT_EQ(row(batch.targets, second), (std::vector<int64_t>{id("z"), eos, kNoTarget}));
  EXPECT_EQ(batch.token_count, 10);
}

// The loss against torch in float64, and padding that no logits are computed for.
TEST_F(TranslationTaskTest, TheLossIsThatOfTheRealTargets) {
  training_.label_smoothing = 0.1;
  const auto task = make("a\nb c\n", "x y\nz\n");
  const Batch batch = task->batch(0);
  const double found = task->loss_sum(*model_, batch).item<double>();
  EXPECT_EQ(model_->rows_of_logits, 5);
  const Tensor log_p = model_->table.detach().to(torch::kFloat64).log_softmax(-1);
  double wanted = 0;
  const std::vector<std::pair<int64_t, int64_t>> steps = {
      {1, id("x")}, {id("x"), id("y")}, {id("y"), 2}, {1, id("z")}, {id("z"), 2}};
  for (const auto& [input, target] : steps)
    wanted -= 0.9 * log_p[input][target].item<double>() + 0.1 * log_p[input].mean().item<double>();
  EXPECT_NEAR(found, wanted, 1e-5);
  // Metrics are without smoothing.
  const Metrics metrics = task->evaluate(Precision::fp32);
  double nats = 0;
  for (const auto& [input, target] : steps) nats -= log_p[input][target].item<double>();
  EXPECT_NEAR(find_metric(metrics, "loss").value(), nats / 5, 1e-5);
}

// behaviours.md TRN-1: micro-batches of unequal lengths weigh each token the same.
TEST_F(TranslationTaskTest, AccumulatedBatchesEqualTheJoinedOne) {
  const std::string source = "a b\nc\nd e f\na\nb\n", target = "x y z\nx\ny\nz y\nx x x x\n";
  const auto gradient = [&](int64_t batch_size, int64_t micro_batches) {
    training_ = {};
    training_.batch_size = batch_size;
    training_.clip_norm = 0;
    training_.learning_rate = 1;
    training_.optimizer = SgdConfig{.momentum = 0};
    const auto task = make(source, target);
    const Tensor before = model_->table.detach().clone();
    std::vector<Batch> window;
    for (int64_t i = 0, position = 0; i < micro_batches; ++i) {
      window.push_back(task->batch(position));
      position += window.back().examples;
    }
    TrainingStep step(*task, training_, Schedule(ConstantScheduleConfig{}, 1, 0, 1), torch::kCPU);
    EXPECT_EQ(step.run(window, 1).target_count, 5 + 11);
    return before - model_->table.detach();
  };
  const Tensor joined = gradient(5, 1), accumulated = gradient(1, 5);
  EXPECT_TRUE(torch::allclose(joined, accumulated, 1e-5, 1e-6));
}

// behaviours.md TXT-3: training's half.
TEST_F(TranslationTaskTest, PairsLeftOutAreCounted) {
  config_.max_length = 3;
  const auto task = make("a\n\nb c d\ne\n", "x\ny\nz\n  \n");
  EXPECT_EQ(task->epoch_size(), 1);
  EXPECT_EQ(notices_[0], "task.train: 2 pairs with a blank side are left out");
  EXPECT_EQ(notices_[1],
            "task.train: 1 pairs are longer than 3 tokens (source) or 3 (target) and are left out");
  const Json receipt = task->data_receipt();
  EXPECT_EQ(receipt["train"]["blank"], 2);
  EXPECT_EQ(receipt["valid"]["too_long"], 1);
}

TEST_F(TranslationTaskTest, BleuIsThatOfGreedyOutputAgainstTheRawReference) {
  config_.bleu_pairs = 2;
  const auto task = make("a\nb\nc\n", "p q r s\np q r t\nu\n");
  {
    torch::NoGradGuard no_grad;
    model_->table.zero_();
    const std::vector<std::pair<int64_t, int64_t>> steps = {
        {1, id("p")}, {id("p"), id("q")}, {id("q"), id("r")}, {id("r"), id("s")}, {id("s"), 2}};
    for (const auto& [from, to] : steps) model_->table[from][to] = 5;
  }
  Bleu metric;
  MetricTotal total(metric);
  total.add("p q r s", "p q r s");
  total.add("p q r s", "p q r t");
  const Metrics metrics = task->evaluate(Precision::fp32);
  EXPECT_NEAR(find_metric(metrics, "bleu").value(), total.score().score, 1e-9);
  EXPECT_NEAR(find_metric(metrics, "exact_match").value(), 1.0 / 3, 1e-12);
  EXPECT_EQ(find_metric(metrics, "accuracy").value(), (5 + 3 + 0) / 12.0);
  EXPECT_TRUE(
      task->sample().starts_with("source: a\noutput: p q r s\nwanted: p q r s\n\nsource: b\n"));
  config_.bleu_pairs = 0;
  EXPECT_EQ(make("a\nb\nc\n", "p q r s\np q r t\nu\n")->metric_names(),
            (std::vector<std::string>{"loss", "accuracy", "exact_match"}));
}

// A model that never ends is cut off.
TEST_F(TranslationTaskTest, GreedyDecodingHasAnEnd) {
  const auto task = make("a\n", "x\n");
  torch::NoGradGuard no_grad;
  model_->table.zero_();
  model_->table.select(1, id("x")).fill_(1);
  EXPECT_EQ(task->sample(), "source: a\noutput: x x x x x x x x x\nwanted: x\n");
}

TEST_F(TranslationTaskTest, TeacherForcingFollowsTheSteps) {
  config_.teacher_forcing = LinearForcingConfig{.start = 1, .slope = 0.25, .minimum = 0.4};
  const auto task = make("a\n", "x\n");
  EXPECT_EQ(task->replica(), nullptr);
  const Batch batch = task->batch(0);
  for (const int64_t step : {1, 2, 5}) {
    task->begin_step(step);
    task->loss_sum(*model_, batch);
  }
  model_->eval();
  task->evaluate(Precision::fp32);
  EXPECT_EQ(model_->teacher_forcing, (std::vector<double>{1, 0.75, 0.4, 1}));
}

// Bengio et al. 2015, section 2.4.
TEST(TeacherForcing, HasTheDecaysOfThePaper) {
  EXPECT_EQ(teacher_forcing_at(ConstantForcingConfig{.ratio = 0.5}, 1000), 0.5);
  const LinearForcingConfig linear{.start = 0.9, .slope = 1e-3, .minimum = 0.2};
  EXPECT_DOUBLE_EQ(teacher_forcing_at(linear, 1), 0.9);
  EXPECT_DOUBLE_EQ(teacher_forcing_at(linear, 101), 0.8);
  EXPECT_DOUBLE_EQ(teacher_forcing_at(linear, 5000), 0.2);
  EXPECT_DOUBLE_EQ(teacher_forcing_at(ExponentialForcingConfig{.base = 0.99}, 11),
                   std::pow(0.99, 10));
  const InverseSigmoidForcingConfig sigmoid{.k = 1000};
  EXPECT_DOUBLE_EQ(teacher_forcing_at(sigmoid, 1), 1000.0 / 1001);
  const auto half = static_cast<int64_t>(std::llround(1000 * std::log(1000)));
  EXPECT_NEAR(teacher_forcing_at(sigmoid, half + 1), 0.5, 1e-3);
  EXPECT_TRUE(always_forces(ConstantForcingConfig{}));
  EXPECT_FALSE(always_forces(sigmoid));
  EXPECT_FALSE(always_forces(LinearForcingConfig{}));
}

TEST(TranslationConfig, RefusesWhatDoesNotFit) {
  const SmallTranslation small;
  const auto problem = [&](const std::string& setting) {
    return message_of([&] {
      Notices notices;
      TrainOptions options = small.options();
      options.overwrite = true;
      train(small.translation({setting}), options, notices);
    });
  };
  EXPECT_EQ(problem(R"(task.train={"source": ["a", "b"], "target": ["c"]})"),
            "small#/task/train: source, target: 2 and 1 files; each source file needs the file of "
            "its translations");
  EXPECT_EQ(problem(R"(task.valid={"tsv": []})"),
            "task.valid: names no file; name task.valid.source and task.valid.target, or "
            "task.valid.tsv");
  EXPECT_TRUE(problem(R"(task.train={"tsv": ["nowhere.tsv"]})")
                  .starts_with("nowhere.tsv: no such file; it is named in task.train.tsv"));
  EXPECT_EQ(problem("tokenizer=char"),
            "tokenizer: the source's, of type \"char\", has no end token, without which no output "
            "would end; use sentencepiece or bpe");
  EXPECT_NE(problem(R"(model={"type": "gpt", "num_layers": 1, "d_model": 16,
                               "block": {"attention": {"num_heads": 2}}})")
                .find("model.type, for the task translation: "),
            std::string::npos);
  EXPECT_EQ(problem("training.average.checkpoints=3"),
            "small#/training: average: 3 checkpoints, but only 2 are kept; set keep_last to at "
            "least as many");
  EXPECT_EQ(
      message_of([&] {
        Notices notices;
        train(small.config({R"(tokenizer={"type": "separate"})"}), small.options("gpt"), notices);
      }),
      "tokenizer.type: separate tokenizers are for the task translation, whose text has two sides; "
      "use one of char, bpe, sentencepiece");
}

class TranslationTrainTest : public ::testing::Test {
 protected:
  TranslationTrainTest() { at::set_num_threads(1); }
  SmallTranslation small_;
  Notices notices_;
  TrainResult run(const ProjectConfig& config, const TrainOptions& options) {
    return train(config, options, notices_);
  }
  std::string weights(const std::string& name) const {
    return read_file(small_.folder / name / "last/model.safetensors");
  }
};

// TRN-5, CKP-3 for this task, scheduled sampling included.
TEST_F(TranslationTrainTest, ResumingContinuesBitForBit) {
  const std::vector<std::vector<std::string>> variants = {
      {}, {kRecurrent, R"(task.teacher_forcing={"type": "inverse_sigmoid", "k": 4})"}};
  for (size_t i = 0; i < variants.size(); ++i) {
    const ProjectConfig config = small_.translation(variants[i]);
    const std::string straight = cat("straight", i), broken = cat("broken", i);
    run(config, small_.options(straight));
    TrainOptions options = small_.options(broken);
    options.stop = after(5);
    EXPECT_EQ(run(config, options).end, TrainEnd::stopped);
    options.stop = [] { return false; };
    options.resume = "auto";
    EXPECT_EQ(run(config, options).step, 10);
    EXPECT_EQ(small_.metrics(broken), small_.metrics(straight)) << i;
    EXPECT_EQ(weights(broken), weights(straight)) << i;
  }
}

TEST_F(TranslationTrainTest, LearnsToReverse) {
  const TrainResult result =
      run(small_.translation({"training.max_steps=400", "training.eval_every=400",
                              "training.learning_rate=5e-3", "training.batch_size=300",
                              R"(model.dropout={"embedding": 0, "residual": 0})", "training.seed=2",
                              "training.early_stopping.metric=bleu", "training.label_smoothing=0"}),
          small_.options());
  EXPECT_GT(result.best_value, 30);  // BLEU on sequences it has not seen; it starts at 0
  const std::string sample = read_file(small_.folder / "run/samples/step-000400.txt");
  EXPECT_TRUE(sample.starts_with("source: ")) << sample;
}

TEST_F(TranslationTrainTest, SeparateTokenizersAreKept) {
  const std::string words = R"({"type": "sentencepiece", "model": "word")";
  const ProjectConfig config =
      small_.translation({R"(tokenizer={"type": "separate", "source": )" + words +
                              R"(}, "target": )" + words + R"(, "vocab_size": 9}})",
                          R"(task.train={"tsv": [], "source": [")" + small_.path("train.source") +
                              R"("], "target": [")" + small_.path("train.target") + "\"]}",
                          "model.tie_embeddings=target"});
  run(config, small_.options());
  const LoadedModel loaded = load_model(small_.folder / "run");
  EXPECT_EQ(loaded.source_tokenizer->vocab_size(), 11);
  EXPECT_EQ(loaded.tokenizer->vocab_size(), 9);
  EXPECT_EQ(loaded.as<Seq2Seq>()->source_vocab_size(), 11);
  EXPECT_EQ(loaded.as<Seq2Seq>()->vocab_size(), 9);
  // Resuming takes both from the checkpoint.
  TrainOptions options = small_.options();
  options.resume = "auto";
  options.overrides = {{"training.max_steps", 12}};
  ProjectConfig longer = config;
  longer.training.max_steps = 12;
  EXPECT_EQ(run(longer, options).step, 12);
}

TEST_F(TranslationTrainTest, AJointTokenizerIsOne) {
  run(small_.translation(), small_.options());
  const LoadedModel loaded = load_model(small_.folder / "run");
  EXPECT_EQ(loaded.source_tokenizer, loaded.tokenizer);
  EXPECT_FALSE(fs::exists(small_.folder / "run/last/source_tokenizer"));
}

// The mean of a run's last checkpoints against torch's, and what becomes of it.
TEST_F(TranslationTrainTest, AveragesCheckpointsAtTheEnd) {
  const TrainResult result =
      run(small_.translation({"training.keep_last=3", "training.average.checkpoints=3",
                              "training.save_every=1", "training.eval_every=5"}),
          small_.options());
  const fs::path folder = small_.folder / "run";
  const SafetensorsFile mean(folder / "average/model.safetensors");
  for (const auto& [name, info] : mean.tensors()) {
    Tensor sum = torch::zeros(info.shape, torch::kFloat64);
    for (const char* step : {"step-000008", "step-000009", "step-000010"})
      sum += SafetensorsFile(folder / "checkpoints" / step / "model.safetensors").tensor(name);
    EXPECT_TRUE(torch::equal(mean.tensor(name), (sum / 3).to(torch::kFloat32))) << name;
  }
  EXPECT_TRUE(notices_.all.back().starts_with("average of 3 checkpoints: valid_loss "))
      << notices_.all.back();
  EXPECT_NE(load_model(folder / "average").tokenizer, nullptr);
  EXPECT_FALSE(fs::exists(folder / "average/trainer.json"));
  if (result.checkpoint == fs::canonical(folder / "average")) {
    TrainOptions options = small_.options();
    options.resume = "best";
    EXPECT_EQ(message_of<DataError>([&] { resumed_project(options); }),
              utf8(folder) + ": its best checkpoint is the mean of several, " +
                  utf8(fs::canonical(folder / "average")) +
                  ", from which no training can go on; resume from last");
  }
}

TEST_F(TranslationTrainTest, AShortTrainingHasNoAverage) {
  const TrainResult result =
      run(small_.translation({"training.keep_last=9", "training.average.checkpoints=9",
                              "training.save_every=5", "training.eval_every=5"}),
          small_.options());
  EXPECT_TRUE(notices_.all.back().starts_with("no average is made: ")) << notices_.all.back();
  EXPECT_FALSE(fs::exists(small_.folder / "run/average"));
  EXPECT_TRUE(fs::exists(result.checkpoint / "model.safetensors"));
}

}  // namespace
}  // namespace zoo
