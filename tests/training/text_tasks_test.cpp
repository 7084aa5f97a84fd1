// The tasks masked_lm, text_classification and tagging, and fine-tuning: other heads, frozen
// parameters, layer-wise learning rates.

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "data/labelled_texts.h"
#include "tests/support/message_of.h"
#include "tests/training/small_project.h"
#include "training/optimizer.h"
#include "training/tasks.h"

namespace zoo {
namespace {

using testing::after;
using testing::message_of;
using testing::Notices;

struct SmallEncoder : testing::SmallProject {
  SmallEncoder() {
    std::string text, classes, tags;
    for (int i = 0; i < 60; ++i) {
      const std::string animal = i % 3 == 0 ? "cat" : i % 3 == 1 ? "dog" : "owl";
      const std::string verb = i % 2 == 0 ? "sat" : "ran";
      text += "the " + animal + " " + verb + " on the mat .\nit was old .\n";
      if (i % 5 == 4) text += "\n";
      classes += animal + "\tthe " + animal + " " + verb + " on the mat\n";
      tags += "the O\n" + animal + " B-" + animal + "\n" + verb + " O\n\n";
    }
    write_file(folder / "lines.txt", text);
    write_file(folder / "classes.tsv", classes);
    write_file(folder / "tags.txt", tags);
  }
  std::string path(const std::string& name) const { return utf8(folder / name); }

  ProjectConfig project(const std::string& task, const std::string& file, const std::string& head,
                        const std::vector<std::string>& settings = {}) const {
    Json json = {{"model",
                  {{"type", "bert"},
                   {"max_length", 24},
                   {"num_layers", 2},
                   {"d_model", 32},
                   {"block", {{"attention", {{"num_heads", 2}}}}},
                   {"dropout", {{"embedding", 0}, {"residual", 0}}},
                   {"head", {{"type", head}}}}},
                 {"tokenizer", {{"type", "wordpiece"}, {"vocab_size", 38}}},
                 {"task", {{"type", task}, {"train", {path(file)}}, {"valid", {path(file)}}}},
                 {"training",
                  {{"learning_rate", 3e-3},
                   {"schedule", {{"type", "linear"}, {"warmup_steps", 5}}},
                   {"max_steps", 10},
                   {"batch_size", 16},
                   {"log_every", 1},
                   {"eval_every", 10}}}};
    for (const std::string& setting : settings) merge_setting(json, parse_setting(setting));
    return read_project(std::move(json), "small#");
  }
  ProjectConfig masked_lm(const std::vector<std::string>& settings = {}) const {
    return project("masked_lm", "lines.txt", "masked_lm", settings);
  }
  ProjectConfig classifier(const std::vector<std::string>& settings = {}) const {
    return project("text_classification", "classes.tsv", "classifier", settings);
  }
  ProjectConfig tagger(const std::vector<std::string>& settings = {}) const {
    return project("tagging", "tags.txt", "tagger", settings);
  }
  double metric(const std::string& run, const std::string& name) const {
    return metrics(run).back()["valid_" + name];
  }
};

TEST(MaskedLmTask, StartsAtLnVAndLearns) {
  const SmallEncoder small;
  Notices observer;
  train(small.masked_lm({"training.max_steps=250", "training.eval_every=250"}), small.options(),
        observer);
  const auto entries = small.metrics();
  const Json model = read_zoo_json(small.folder / "run/last")["model"];
  EXPECT_NEAR(entries.front()["loss"].get<double>(), std::log(model["vocab_size"].get<double>()),
              0.4);
  // What follows from the other words is learnt; which animal, only chance tells.
  EXPECT_GT(small.metric("run", "accuracy"), 0.6);
  EXPECT_LT(small.metric("run", "loss"), 1.2);
}

/// The parts of a task without a training.
struct Made {
  std::shared_ptr<Tokenizer> tokenizer;
  std::shared_ptr<torch::nn::Module> model;
  std::unique_ptr<Task> task;
};

Made make(const ProjectConfig& project, const fs::path& folder) {
  Made made;
  made.tokenizer = train_tokenizer(
      std::get<WordPieceTokenizerConfig>(project.tokenizer),
      tokenizer_texts(project.task, std::get<WordPieceTokenizerConfig>(project.tokenizer),
                      TextSide::both, folder));
  ModelConfig config = project.model;
  fit_to_vocabulary(config, made.tokenizer->vocab_size(), 0);
  fit_to_data(config, project.task);
  torch::manual_seed(4);
  made.model = make_model(config);
  made.task = make_task(project.task, {.model = made.model,
                                       .tokenizer = made.tokenizer,
                                       .source_tokenizer = nullptr,
                                       .training = &project.training,
                                       .device = torch::kCPU,
                                       .cache = folder / "cache"});
  return made;
}

TEST(MaskedLmTask, MasksAreDrawnAnewInEachEpochAndTheSameOnResuming) {
  const SmallEncoder small;
  const ProjectConfig project = small.masked_lm();
  const Made made = make(project, small.folder.path());
  const auto masks_at = [&](int64_t position) { return made.task->batch(position).targets; };
  EXPECT_TRUE(at::equal(masks_at(3), masks_at(3)));
  const auto epoch = made.task->epoch_size();
  bool other = false;
  for (int64_t i = 0; i < 3; ++i)
    other = other || !at::equal(masks_at(0), masks_at(epoch * (i + 1)));
  EXPECT_TRUE(other);
  const Batch batch = made.task->batch(0);
  EXPECT_EQ(batch.target_count, batch.targets.ne(kNoTarget).sum().item<int64_t>());
  EXPECT_EQ(batch.token_count, batch.lengths.sum().item<int64_t>());
}

TEST(MaskedLmTask, TheLossOfNextSentencesIsAdded) {
  const SmallEncoder small;
  const ProjectConfig project = small.masked_lm({"model.head.next_sentence=true"});
  const Made made = make(project, small.folder.path());
  const Batch batch = made.task->batch(0);
  ASSERT_TRUE(batch.follows.defined());
  ASSERT_TRUE(batch.segments.defined());
  auto& model = dynamic_cast<TextEncoder&>(*made.model);
  model.eval();
  const torch::NoGradGuard no_grad;
  const Tensor hidden = model.encode({batch.inputs, batch.segments, batch.lengths});
  const Tensor logits = model.logits(hidden, batch.lengths).log_softmax(-1);  // (B, T, V)
  double masked = 0;
  for (int64_t row = 0; row < batch.examples; ++row)
    for (int64_t place = 0; place < batch.targets.size(1); ++place)
      if (const auto target = batch.targets[row][place].item<int64_t>(); target != kNoTarget)
        masked -= logits[row][place][target].item<double>();
  const Tensor follows = model.next_sentence_logits(hidden, batch.lengths).log_softmax(-1);
  double next = 0;
  for (int64_t row = 0; row < batch.examples; ++row)
    next -= follows[row][batch.follows[row].item<int64_t>()].item<double>();
  const double expected =
      masked + next / static_cast<double>(batch.examples) * static_cast<double>(batch.target_count);
  EXPECT_NEAR(made.task->loss_sum(*made.model, batch).item<double>(), expected, 1e-3);
  const auto metrics = made.task->evaluate(Precision::fp32);
  EXPECT_TRUE(find_metric(metrics, "next_sentence_accuracy"));
}

TEST(MaskedLmTask, TheEndOfTheTextIsHeldOut) {
  const SmallEncoder small;
  const ProjectConfig project =
      small.masked_lm({"task.valid=[]", "task.valid_fraction=0.25", "task.block_size=12"});
  const Made made = make(project, small.folder.path());
  const Json receipt = made.task->data_receipt();
  const auto held = receipt["valid"]["passages"].get<int64_t>();
  const auto kept = receipt["train"]["passages"].get<int64_t>();
  EXPECT_EQ(held, (held + kept + 3) / 4);
  EXPECT_EQ(receipt["valid"]["first_passage"], kept);
  EXPECT_LE(made.task->batch(0).inputs.size(1), 12);
}

TEST(TextClassificationTask, LearnsAndIsResumedExactly) {
  const SmallEncoder small;
  Notices observer;
  const auto project = small.classifier(
      {"training.max_steps=60", "model.pooling=mean", "model.dropout.residual=0.1"});
  train(project, small.options("whole"), observer);
  EXPECT_EQ(small.metric("whole", "accuracy"), 1);
  EXPECT_EQ(small.metric("whole", "macro_f1"), 1);
  EXPECT_EQ(small.metric("whole", "matthews"), 1);
  TrainOptions options = small.options("cut");
  options.stop = after(13);
  train(project, options, observer);
  options.stop = [] { return false; };
  options.resume = "last";
  train(project, options, observer);
  EXPECT_EQ(read_file(small.folder / "whole/last/model.safetensors"),
            read_file(small.folder / "cut/last/model.safetensors"));
  const LoadedModel loaded = load_model(small.folder / "whole");
  EXPECT_EQ(labels_of(loaded.as<TextEncoder>()->head()),
            (std::vector<std::string>{"cat", "dog", "owl"}));
}

TEST(TaggingTask, Learns) {
  const SmallEncoder small;
  Notices observer;
  train(small.tagger({"training.max_steps=40"}), small.options(), observer);
  EXPECT_EQ(small.metric("run", "accuracy"), 1);
  const LoadedModel loaded = load_model(small.folder / "run");
  EXPECT_EQ(labels_of(loaded.as<TextEncoder>()->head()),
            (std::vector<std::string>{"B-cat", "B-dog", "B-owl", "O"}));
}

TEST(TextTasks, AnotherHeadOrModelIsRefused) {
  const SmallEncoder small;
  Notices observer;
  EXPECT_NE(message_of([&] {
              train(small.classifier({"model.head.type=masked_lm"}), small.options(), observer);
            }).find("the task text_classification needs \"classifier\""),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              train(small.masked_lm({R"(model={"type": "gpt", "preset": "modern"})"}),
                    small.options("gpt"), observer);
            }).find("is a language model, but a text encoder is needed"),
            std::string::npos);
}

/// Parameters of a checkpoint by name.
std::map<std::string, Tensor> parameters_of(const fs::path& folder) {
  std::map<std::string, Tensor> found;
  for (const auto& item : load_model(folder).model->named_parameters())
    found[item.key()] = item.value().detach().clone();
  return found;
}

TEST(FineTuning, StartsFromTheBodyWithANewHeadAndKeepsWhatIsFrozen) {
  const SmallEncoder small;
  Notices observer;
  train(small.masked_lm(), small.options("pre"), observer);
  TrainOptions options = small.options("fine");
  options.init_from = small.folder / "pre";
  observer.all.clear();
  train(small.classifier(
            {R"(training.freeze=["*embedding*", "blocks.0.*"])", "training.optimizer.type=adamw"}),
        options, observer);
  ASSERT_EQ(observer.all.size(), 1);
  EXPECT_NE(observer.all[0].find("has no weights for pooler.weight, pooler.bias, "
                                 "classifier.weight, classifier.bias"),
            std::string::npos)
      << observer.all[0];
  const auto before = parameters_of(small.folder / "pre"),
             now = parameters_of(small.folder / "fine");
  for (const auto& [name, value] : now) {
    const bool frozen =
        name.find("embedding") != std::string::npos || name.starts_with("blocks.0.");
    if (!before.contains(name)) continue;
    EXPECT_EQ(at::equal(before.at(name), value), frozen) << name;
  }
  // A classifier that goes on keeps its head; one with other labels does not.
  options = small.options("more");
  options.init_from = small.folder / "fine";
  observer.all.clear();
  train(small.classifier({"training.max_steps=1", "training.schedule=constant"}), options,
        observer);
  EXPECT_TRUE(observer.all.empty());
  write_file(small.folder / "other.tsv", "x\tthe cat\ny\tthe dog\nz\tthe owl\n");
  options = small.options("other");
  options.init_from = small.folder / "fine";
  train(small.classifier({"training.max_steps=1", "training.schedule=constant",
                          "task.train=[\"" + small.path("other.tsv") + "\"]",
                          "task.valid=[\"" + small.path("other.tsv") + "\"]"}),
        options, observer);
  ASSERT_EQ(observer.all.size(), 1);
  EXPECT_NE(observer.all[0].find("no weights for classifier.weight, classifier.bias;"),
            std::string::npos);
}

TEST(FineTuning, APatternThatFitsNothingIsRefused) {
  const SmallEncoder small;
  Notices observer;
  EXPECT_NE(message_of([&] {
              train(small.classifier({R"(training.freeze=["layers.*"])"}), small.options(),
                    observer);
            }).find("no parameter fits \"layers.*\"; the model has: token_embedding.weight"),
            std::string::npos);
  const std::string nothing_left = message_of([&] {
    train(small.classifier({R"(training.freeze=["*"])"}), small.options("all"), observer);
  });
  EXPECT_NE(nothing_left.find("no parameter is left to train"), std::string::npos) << nothing_left;
}

TEST(FineTuning, LowerLayersLearnMoreSlowly) {
  EXPECT_EQ(layer_rates({"token_embedding.weight", "position.weight", "embedding_norm.bias",
                         "blocks.0.norm1.weight", "blocks.1.attention.qkv.bias", "pooler.weight",
                         "classifier.bias"},
                        0.5),
            (std::vector<double>{0.125, 0.125, 0.125, 0.25, 0.5, 1, 1}));
  // SGD without momentum: the step is the gradient times the rate.
  struct Net : torch::nn::Module {
    Net() {
      blocks = register_module("blocks", torch::nn::ModuleList());
      blocks->push_back(torch::nn::Linear(1, 1));
      head = register_module("head", torch::nn::Linear(1, 1));
    }
    torch::nn::ModuleList blocks;
    torch::nn::Linear head{nullptr};
  };
  Net net;
  {
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : net.parameters()) {
      parameter.fill_(1);
      parameter.mutable_grad() = torch::ones_like(parameter);
    }
  }
  Optimizer optimizer(SgdConfig{.momentum = 0}, net, 0.5);
  optimizer.step(0.1);
  EXPECT_FLOAT_EQ(net.head->weight.item<float>(), 0.9F);
  EXPECT_FLOAT_EQ(net.blocks->named_parameters()["0.weight"].item<float>(), 0.95F);
}

}  // namespace
}  // namespace zoo
