#pragma once
// The project config: sections `model`, `tokenizer`, `task` and `training`. No torch in this
// header.

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/fields.h"
#include "core/files.h"
#include "core/json.h"
#include "models/model_config.h"
#include "tokenizer/config.h"
#include "training/image_task_config.h"
#include "training/text_task_config.h"
#include "training/translation_config.h"

namespace zoo {

// ---- task ------------------------------------------------------------------------------------

/// The order in which training windows of a text are drawn.
enum class WindowOrder { epochs, random };
template <>
struct EnumNames<WindowOrder> {
  static constexpr std::array values{std::pair{WindowOrder::epochs, "epochs"},
                                     std::pair{WindowOrder::random, "random"}};
};

struct LanguageModelTaskConfig {
  static constexpr std::string_view kType = "language_model";
  static constexpr std::string_view kAbout = "Next-token prediction on running text";
  std::vector<std::string> train;
  std::vector<std::string> valid;
  double valid_fraction = 0.1;
  int64_t block_size = 0;
  WindowOrder order = WindowOrder::epochs;
  std::string cache;

  void fields(auto&& visit) {
    visit("train", train,
          "text files in UTF-8, or one packed .tokens file, to learn from; relative to the working "
          "folder");
    visit("valid", valid, "the same to evaluate on; empty: the end of `train`, see valid_fraction");
    visit("valid_fraction", valid_fraction, fraction(),
          "share of `train` held out at its end when `valid` is empty");
    visit("block_size", block_size, non_negative(),
          "tokens in a training example; 0: the model's max_length");
    visit("order", order,
          "epochs: windows that do not overlap, shuffled and shifted anew each epoch, so that each "
          "token "
          "is seen once an epoch; random: each window at a random place");
    visit("cache", cache, "folder for packed tokens, shared by runs; empty: the run's own folder");
  }
  std::string check() const;
};

struct CompletionTaskConfig {
  static constexpr std::string_view kType = "completion";
  static constexpr std::string_view kAbout =
      "Completing a prompt; only the completion is learnt and scored";
  std::vector<std::string> train;
  std::vector<std::string> valid;

  void fields(auto&& visit) {
    visit("train", train, "files with one \"prompt<TAB>completion\" a line, to learn from");
    visit("valid", valid, "the same to evaluate on");
  }
};

using TaskConfig =
    std::variant<LanguageModelTaskConfig, CompletionTaskConfig, TranslationTaskConfig,
                 MaskedLmTaskConfig, TextClassificationTaskConfig, TaggingTaskConfig,
                 ImageClassificationTaskConfig>;

// ---- optimizer -------------------------------------------------------------------------------

struct AdamWConfig {
  static constexpr std::string_view kType = "adamw";
  static constexpr std::string_view kAbout =
      "Loshchilov & Hutter 2019, \"Decoupled Weight Decay Regularization\", algorithm 2";
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  void fields(auto&& visit) {
    visit("beta1", beta1, fraction(), "decay of the gradient's running mean");
    visit("beta2", beta2, fraction(), "decay of the squared gradient's running mean");
    visit("eps", eps, positive(), "added to the root of the second moment");
    visit("weight_decay", weight_decay, non_negative(),
          "decoupled decay, times the learning rate; on matrices only");
  }
};

struct AdamConfig {
  static constexpr std::string_view kType = "adam";
  static constexpr std::string_view kAbout =
      "Kingma & Ba 2015, \"Adam: A Method for Stochastic Optimization\", algorithm 1";
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  void fields(auto&& visit) {
    visit("beta1", beta1, fraction(), "decay of the gradient's running mean");
    visit("beta2", beta2, fraction(), "decay of the squared gradient's running mean");
    visit("eps", eps, positive(), "added to the root of the second moment");
  }
};

struct SgdConfig {
  static constexpr std::string_view kType = "sgd";
  static constexpr std::string_view kAbout =
      "Gradient descent with momentum (Sutskever et al. 2013)";
  double momentum = 0.9, weight_decay = 0;
  bool nesterov = false;
  void fields(auto&& visit) {
    visit("momentum", momentum, fraction(), "decay of the running sum of gradients");
    visit("nesterov", nesterov, "look ahead by one momentum step");
    visit("weight_decay", weight_decay, non_negative(),
          "L2 penalty, added to the gradient; on matrices only");
  }
  std::string check() const;
};

using OptimizerConfig = std::variant<AdamWConfig, AdamConfig, SgdConfig>;

// ---- schedule --------------------------------------------------------------------------------
// Steps count from 1. With warm-up the rate rises in a straight line and reaches learning_rate at
// step warmup_steps; with decay it reaches min_learning_rate at the last step.

struct ConstantScheduleConfig {
  static constexpr std::string_view kType = "constant";
  static constexpr std::string_view kAbout = "the same rate at every step after the warm-up";
  int64_t warmup_steps = 0;
  void fields(auto&& visit) {
    visit("warmup_steps", warmup_steps, non_negative(), "steps of linear warm-up");
  }
};

struct LinearScheduleConfig {
  static constexpr std::string_view kType = "linear";
  static constexpr std::string_view kAbout = "a straight line down after the warm-up";
  int64_t warmup_steps = 0;
  double min_learning_rate = 0;
  void fields(auto&& visit) {
    visit("warmup_steps", warmup_steps, non_negative(), "steps of linear warm-up");
    visit("min_learning_rate", min_learning_rate, non_negative(), "the rate at the last step");
  }
};

struct CosineScheduleConfig {
  static constexpr std::string_view kType = "cosine";
  static constexpr std::string_view kAbout =
      "Loshchilov & Hutter 2017, \"SGDR\", equation 5, one period";
  int64_t warmup_steps = 0;
  double min_learning_rate = 0;
  void fields(auto&& visit) {
    visit("warmup_steps", warmup_steps, non_negative(), "steps of linear warm-up");
    visit("min_learning_rate", min_learning_rate, non_negative(), "the rate at the last step");
  }
};

struct InverseSqrtScheduleConfig {
  static constexpr std::string_view kType = "inverse_sqrt";
  static constexpr std::string_view kAbout =
      "learning_rate * sqrt(warmup_steps / step) after the warm-up";
  int64_t warmup_steps = 4000;
  void fields(auto&& visit) {
    visit("warmup_steps", warmup_steps, at_least(1), "steps of linear warm-up");
  }
};

struct NoamScheduleConfig {
  static constexpr std::string_view kType = "noam";
  static constexpr std::string_view kAbout =
      "learning_rate * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5): Vaswani et al. "
      "2017, equation 3, where the factor learning_rate is 1";
  int64_t warmup_steps = 4000;
  void fields(auto&& visit) {
    visit("warmup_steps", warmup_steps, at_least(1), "steps of linear warm-up");
  }
};

struct WsdScheduleConfig {
  static constexpr std::string_view kType = "wsd";
  static constexpr std::string_view kAbout =
      "Warm-up, stable, decay (Hu et al. 2024, \"MiniCPM\", section 4): linear decay over the last "
      "steps";
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;
  double min_learning_rate = 0;
  void fields(auto&& visit) {
    visit("warmup_steps", warmup_steps, non_negative(), "steps of linear warm-up");
    visit("decay_steps", decay_steps, non_negative(),
          "steps of decay at the end; 0: a fifth of all steps");
    visit("min_learning_rate", min_learning_rate, non_negative(), "the rate at the last step");
  }
};

struct PlateauScheduleConfig {
  static constexpr std::string_view kType = "plateau";
  static constexpr std::string_view kAbout =
      "learning_rate, multiplied by `factor` each time the validation metric "
      "(early_stopping.metric) stands still";
  int64_t warmup_steps = 0;
  double factor = 0.5;
  int64_t patience = 2;
  double min_learning_rate = 0;
  void fields(auto&& visit) {
    visit("warmup_steps", warmup_steps, non_negative(), "steps of linear warm-up");
    visit("factor", factor, fraction(), "what the rate is multiplied by");
    visit("patience", patience, at_least(1),
          "evaluations in a row without a better value before the rate falls");
    visit("min_learning_rate", min_learning_rate, non_negative(), "the rate never falls below it");
  }
};

using ScheduleConfig = std::variant<ConstantScheduleConfig, LinearScheduleConfig,
                                    CosineScheduleConfig, InverseSqrtScheduleConfig,
                                    NoamScheduleConfig, WsdScheduleConfig, PlateauScheduleConfig>;

// ---- training --------------------------------------------------------------------------------

enum class BatchType { sentences, tokens };
template <>
struct EnumNames<BatchType> {
  static constexpr std::array values{std::pair{BatchType::sentences, "sentences"},
                                     std::pair{BatchType::tokens, "tokens"}};
};

enum class Precision { automatic, fp32, bf16, fp16 };
template <>
struct EnumNames<Precision> {
  static constexpr std::array values{
      std::pair{Precision::automatic, "auto"}, std::pair{Precision::fp32, "fp32"},
      std::pair{Precision::bf16, "bf16"}, std::pair{Precision::fp16, "fp16"}};
};

/// Which checkpoint is the best one, and when there is no hope of a better one.
struct EarlyStoppingConfig {
  std::string metric = "loss";
  int64_t patience = 0;
  double min_delta = 0;
  void fields(auto&& visit) {
    visit("metric", metric,
          "the validation metric that `best` stands for, one that the task has: loss, accuracy, "
          "exact_match, bleu, next_sentence_accuracy, macro_f1, matthews");
    visit("patience", patience, non_negative(),
          "evaluations without a better value before training stops; 0: never");
    visit("min_delta", min_delta, non_negative(),
          "what a value must be better by to count as better");
  }
};

/// Which checkpoints of a run are averaged.
enum class AverageOf { last, best };
template <>
struct EnumNames<AverageOf> {
  static constexpr std::array values{std::pair{AverageOf::last, "last"},
                                     std::pair{AverageOf::best, "best"}};
};

struct AverageConfig {
  int64_t checkpoints = 0;
  AverageOf of = AverageOf::last;
  void fields(auto&& visit) {
    visit("checkpoints", checkpoints, non_negative(),
          "checkpoints whose mean is evaluated and saved as `average` when training ends (Vaswani "
          "et al. 2017, section 6.1); `best` then is the better one; 0: none");
    visit("of", of, "the last ones, or those with the best values of early_stopping.metric");
  }
};

struct TrainingConfig {
  OptimizerConfig optimizer;
  double learning_rate = 1e-3;
  ScheduleConfig schedule = CosineScheduleConfig{};
  int64_t max_steps = 0;
  int64_t epochs = 0;
  int64_t max_tokens = 0;
  double max_time = 0;
  int64_t batch_size = 32;
  BatchType batch_type = BatchType::sentences;
  int64_t grad_accum = 1;
  double clip_norm = 1.0;
  double label_smoothing = 0;
  double layer_decay = 1;
  std::vector<std::string> freeze;
  double ema = 0;
  Precision precision = Precision::automatic;
  int64_t seed = 1337;
  int64_t log_every = 10;
  int64_t eval_every = 250;
  int64_t eval_batches = 0;
  int64_t save_every = 0;
  int64_t keep_last = 2;
  int64_t keep_best = 1;
  int64_t sample_every = 0;
  EarlyStoppingConfig early_stopping;
  AverageConfig average;
  bool tensorboard = false;
  bool overfit_batch = false;

  void fields(auto&& visit) {
    visit("optimizer", optimizer, "how parameters follow the gradient");
    visit("learning_rate", learning_rate, positive(),
          "the highest rate; the factor of the noam schedule");
    visit("schedule", schedule, "how the rate changes over the steps");
    visit("max_steps", max_steps, non_negative(),
          "optimizer steps in all, resumed ones included; 0: no limit");
    visit("epochs", epochs, non_negative(),
          "passes over the training data; 0: no limit. The limit reached first ends training");
    visit("max_tokens", max_tokens, non_negative(),
          "training ends with the step that has read so many tokens, of sources and targets, "
          "padding left out; 0: no limit");
    visit("max_time", max_time, non_negative(), "seconds of training in this process; 0: no limit");
    visit("batch_size", batch_size, at_least(1),
          "examples (or tokens, see batch_type) in a micro-batch");
    visit("batch_type", batch_type,
          "what batch_size counts: sentences = examples, or tokens, padding included");
    visit("grad_accum", grad_accum, at_least(1),
          "micro-batches in an optimizer step; equal to one joined batch, token for token");
    visit("clip_norm", clip_norm, non_negative(),
          "largest 2-norm of the whole gradient; 0: no clipping");
    visit("label_smoothing", label_smoothing, fraction(),
          "share of the target spread over the vocabulary (Szegedy et al. 2016, section 7)");
    visit(
        "layer_decay", layer_decay, {.low = 0, .high = 1, .low_open = true},
        "learning rate of a block, as a factor of that of the block above it; embeddings are below "
        "all, heads above all (Clark et al. 2020, \"ELECTRA\", appendix B); 1: all alike");
    visit("freeze", freeze,
          "parameters that stay as they are: names in which * stands for anything, such as "
          "\"*embedding*\" or \"blocks.0.*\"; `inspect --tensors` lists the names");
    visit("ema", ema, fraction(),
          "decay of the running mean of the weights that is evaluated and saved; 0: off");
    visit("precision", precision,
          "arithmetic of matrix products: auto = bf16 on CUDA, fp32 on CPU; weights stay fp32");
    visit("seed", seed, non_negative(), "of initialisation, data order and dropout");
    visit("log_every", log_every, at_least(1), "steps between log lines");
    visit("eval_every", eval_every, non_negative(),
          "steps between evaluations; 0: at the end only");
    visit("eval_batches", eval_batches, non_negative(),
          "random batches for a second, cheaper loss estimate at each evaluation (nanoGPT's "
          "eval_iters); 0: none");
    visit("save_every", save_every, non_negative(),
          "steps between checkpoints; 0: one at each evaluation");
    visit("keep_last", keep_last, non_negative(), "newest checkpoints to keep; 0: all");
    visit("keep_best", keep_best, non_negative(), "best checkpoints to keep");
    visit("sample_every", sample_every, non_negative(),
          "steps between sample texts; 0: at the end only");
    visit("early_stopping", early_stopping, "which checkpoint is best, and when to give up");
    visit("average", average, "the mean of several checkpoints");
    visit("tensorboard", tensorboard, "write TensorBoard event files too");
    visit("overfit_batch", overfit_batch,
          "learn the first batch only: its loss must fall to nearly 0 if all is well");
  }
  std::string check() const;
};

/// A whole project: what is trained on what, and how.
struct ProjectConfig {
  ModelConfig model;
  TokenizersConfig tokenizer;
  TaskConfig task;
  TrainingConfig training;

  void fields(auto&& visit) {
    visit("model", model, "the model");
    visit("tokenizer", tokenizer, "how text becomes tokens");
    visit("task", task, "what is learnt, and from which data");
    visit("training", training, "how it is learnt");
  }
};

/// A setting given beside the files: `training.max_steps` = 100.
struct ConfigSetting {
  std::string key;
  Json value;
};

/// Reads "a.b=c": the value is read as JSON where it is JSON ("3", "true", "[1]"), else as a
/// string.
/// @throws ConfigError without a `=` or a key
ConfigSetting parse_setting(std::string_view text);

/// Lays `over` on `base`, object by object; what is no object is replaced. An object whose `type`
/// or `preset` changes starts afresh, since its other keys belong to the old one.
void merge_config(Json& base, const Json& over);
/// The same for one setting.
void merge_setting(Json& base, const ConfigSetting& setting);

/// Merges config files in order, so that later ones win, then the settings, and checks the whole on
/// top of the defaults. @param base what the files are laid on
/// @throws ConfigError, DataError, FormatError
ProjectConfig read_project(const std::vector<fs::path>& files,
                           const std::vector<ConfigSetting>& settings = {},
                           Json base = Json::object());
/// The same from JSON that `where` names in messages. A key `$schema` is for editors and is
/// ignored.
ProjectConfig read_project(Json json, const std::string& where);

}  // namespace zoo
