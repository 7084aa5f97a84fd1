#include "training/causal_lm_task.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "data/completions.h"
#include "data/windows.h"
#include "decoding/generate.h"

namespace zoo {

std::optional<double> find_metric(const Metrics& metrics, const std::string& name) {
  for (const auto& [key, value] : metrics)
    if (key == name) return value;
  return std::nullopt;
}

bool larger_is_better(const std::string& metric) { return metric != "loss"; }

namespace {

// Evaluation needs no activations for a backward pass, so its batches may be larger; what grows
// then are the logits.
constexpr int64_t kEvaluationTokens = 16384, kEvaluationLogits = int64_t{1} << 26;

constexpr uint64_t kEstimateStream = uint64_t{8} << 56;

/// Loss, accuracy and exact matches, summed over batches.
struct Score {
  double loss = 0;
  int64_t targets = 0, right = 0, examples = 0, exact = 0;
};

/// What the two tasks share: the loss, the metrics, batches on the right device.
class CausalLmTask : public Task {
 public:
  explicit CausalLmTask(const CausalLmTaskOptions& options)
      : model_(options.model),
        tokenizer_(options.tokenizer),
        training_(*options.training),
        device_(options.device) {}

  torch::nn::Module& module() override { return *model_; }

  Tensor loss_sum(torch::nn::Module& module, const Batch& batch) override {
    return cross_entropy_sum(static_cast<CausalLm&>(module).forward(batch.inputs), batch.targets,
                             training_.label_smoothing);
  }

  std::shared_ptr<torch::nn::Module> replica() const override { return model_->replica(); }

  Metrics evaluate(Precision precision) override {
    Score score;
    for (int64_t position = 0; position < validation_size();) {
      const Batch batch = validation_batch(position);
      add_score(batch, precision, score);
      position += batch.examples;
    }
    return metrics(score);
  }

  double estimate_loss(int64_t batches, uint64_t stream, Precision precision) override {
    torch::NoGradGuard no_grad;
    const Autocast autocast(precision, device_);
    RandomStream random(static_cast<uint64_t>(training_.seed), kEstimateStream | stream);
    double sum = 0;
    int64_t targets = 0;
    for (int64_t i = 0; i < batches; ++i) {
      const Batch batch = random_validation_batch(random);
      sum += cross_entropy_sum(model_->forward(batch.inputs), batch.targets, 0).item<double>();
      targets += batch.target_count;
    }
    return sum / static_cast<double>(targets);
  }

 protected:
  virtual int64_t validation_size() const = 0;  // examples
  virtual Batch validation_batch(int64_t position) const = 0;
  virtual Batch random_validation_batch(RandomStream& random) const = 0;
  virtual Metrics metrics(const Score& score) const = 0;

  /// Rows of `length` tokens in a validation batch.
  int64_t validation_rows(int64_t length) const {
    const int64_t tokens = std::min(kEvaluationTokens, kEvaluationLogits / model_->vocab_size());
    return std::max<int64_t>(1, tokens / length);
  }

  uint64_t seed() const { return static_cast<uint64_t>(training_.seed); }

  /// @param inputs, targets (B, T) int64 on the CPU
  Batch on_device(const Tensor& inputs, const Tensor& targets, int64_t target_count) const {
    const auto move = [&](const Tensor& tensor) {
      // From pinned memory the copy runs beside the computation.
      return device_.is_cuda() ? tensor.pin_memory().to(device_, /*non_blocking=*/true) : tensor;
    };
    return {move(inputs), move(targets), inputs.size(0), target_count};
  }

  std::string generate_text(const std::vector<int64_t>& prompt, GenerationOptions options) const {
    options.ignore_eos = false;
    const auto outputs =
        generate(*model_, {prompt}, options, {.tokenizer = tokenizer_.get(), .seed = seed()});
    return outputs.at(0).at(0).text;
  }

  std::shared_ptr<CausalLm> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  const TrainingConfig& training_;
  torch::Device device_;

 private:
  /// @param logits (B, T, V)  @param targets (B, T) int64  @return scalar
  static Tensor cross_entropy_sum(const Tensor& logits, const Tensor& targets,
                                  double label_smoothing) {
    return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten(), {}, at::Reduction::Sum,
                                  kNoTarget, label_smoothing);
  }

  void add_score(const Batch& batch, Precision precision, Score& score) const {
    torch::NoGradGuard no_grad;
    const Autocast autocast(precision, device_);
    const Tensor logits = model_->forward(batch.inputs);                              // (B, T, V)
    const Tensor is_target = batch.targets.ne(kNoTarget);                             // (B, T)
    const Tensor wrong = logits.argmax(-1).ne(batch.targets).logical_and(is_target);  // (B, T)
    const Tensor sums =
        torch::stack({cross_entropy_sum(logits, batch.targets, 0).to(torch::kFloat64),
                      wrong.sum().to(torch::kFloat64), wrong.any(-1).sum().to(torch::kFloat64)})
            .cpu();  // the only wait for the device
    const auto* sum = sums.const_data_ptr<double>();
    score.loss += sum[0];
    score.targets += batch.target_count;
    score.right += batch.target_count - static_cast<int64_t>(sum[1]);
    score.examples += batch.examples;
    score.exact += batch.examples - static_cast<int64_t>(sum[2]);
  }
};

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<fs::path> paths_of(const std::vector<std::string>& names) {
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    paths.push_back(utf8_path(name));
    if (!fs::is_regular_file(paths.back()))
      throw DataError(cat(name,
                          ": no such file; it is named in task.train or task.valid, and paths "
                          "are relative to the working folder ",
                          utf8(fs::current_path())));
  }
  return paths;
}

void require_data(const std::vector<std::string>& files, const char* key) {
  if (files.empty())
    throw ConfigError(cat("task.", key,
                          ": names no file; name at least one, in the config or with "
                          "--set task.",
                          key, "='[\"FILE\"]'"));
}

// ---- language model ----------------------------------------------------------------------------

class LanguageModelTask final : public CausalLmTask {
 public:
  LanguageModelTask(const LanguageModelTaskConfig& config, const CausalLmTaskOptions& options)
      : CausalLmTask(options),
        length_(config.block_size == 0 ? model_->max_length() : config.block_size) {
    if (length_ > model_->max_length())
      throw ConfigError(cat("task.block_size: ", length_, " tokens, but the model reads at most ",
                            model_->max_length(), " (model.max_length)"));
    require_data(config.train, "train");
    const fs::path cache = config.cache.empty() ? options.cache : utf8_path(config.cache);
    train_ = open(config.train, cache, options);
    if (config.valid.empty()) {
      const auto held_out = static_cast<int64_t>(
          std::ceil(static_cast<double>(train_.count) * config.valid_fraction));
      valid_ = {train_.file, train_.count - held_out, held_out};
      train_.count -= held_out;
    } else {
      valid_ = open(config.valid, cache, options);
    }
    if (valid_.count < 2)
      throw DataError(cat("the validation split has ", valid_.count,
                          " tokens; at least 2 are needed: "
                          "name files in task.valid or raise task.valid_fraction"));
    sampler_ = config.order == WindowOrder::epochs
                   ? make_epoch_sampler(train_.count, length_, seed())
                   : make_random_sampler(train_.count, length_, seed());
    rows_ = training_.batch_type == BatchType::sentences ? training_.batch_size
                                                         : training_.batch_size / length_;
    if (rows_ == 0)
      throw ConfigError(cat("training.batch_size: ", training_.batch_size,
                            " tokens hold no example of ", length_, " tokens; raise it"));
  }

  int64_t epoch_size() const override { return sampler_->epoch_size(); }

  Batch batch(int64_t position) const override {
    return windows(train_, rows_, length_,
                   [&](int64_t row) { return sampler_->start(position + row); });
  }

  int64_t batch_examples(int64_t) const override { return rows_; }

  std::vector<std::string> metric_names() const override { return {"loss", "accuracy"}; }

  std::string sample() override {
    return generate_text(encode_prompt(*tokenizer_, ""),
                         {.max_new_tokens = 300, .sample = true, .temperature = 0.8, .top_k = 200});
  }

  Json data_receipt() const override {
    const auto part = [](const TokenRange& range) {
      const TokenFileInfo& info = range.file->info();
      return Json{{"source_sha256", info.source_hash},
                  {"tokenizer_sha256", info.tokenizer_hash},
                  {"first_token", range.first},
                  {"tokens", range.count}};
    };
    return {{"train", part(train_)}, {"valid", part(valid_)}};
  }

 protected:
  // An example is a window; the last one may be shorter.
  int64_t validation_size() const override { return (valid_.count - 1 + length_ - 1) / length_; }

  Batch validation_batch(int64_t position) const override {
    const int64_t whole = (valid_.count - 1) / length_;
    if (position >= whole)  // the rest
      return windows(valid_, 1, valid_.count - 1 - whole * length_,
                     [&](int64_t) { return whole * length_; });
    return windows(valid_, std::min(validation_rows(length_), whole - position), length_,
                   [&](int64_t row) { return (position + row) * length_; });
  }

  Batch random_validation_batch(RandomStream& random) const override {
    const int64_t length = std::min(length_, valid_.count - 1);
    return windows(valid_, rows_, length, [&](int64_t) {
      return static_cast<int64_t>(random.next_below(valid_.count - length));
    });
  }

  Metrics metrics(const Score& score) const override {
    return {{"loss", score.loss / static_cast<double>(score.targets)},
            {"accuracy", share(score.right, score.targets)}};
  }

 private:
  TokenRange open(const std::vector<std::string>& names, const fs::path& cache,
                  const CausalLmTaskOptions& options) const {
    const std::vector<fs::path> paths = paths_of(names);
    const bool packed = paths[0].extension() == ".tokens";
    auto file = std::make_shared<const TokenFile>(packed ? paths[0]
                                                         : pack_cached(paths, *tokenizer_, cache));
    if (file->info().vocab_size != tokenizer_->vocab_size() ||
        (packed && file->info().tokenizer_hash != tokenizer_hash(*tokenizer_, options.cache)))
      throw DataError(cat(utf8(file->path()), ": was packed with another tokenizer (",
                          file->info().vocab_size, " tokens; this one has ",
                          tokenizer_->vocab_size(),
                          "); pack the text again with this one, or name "
                          "that tokenizer in tokenizer.file"));
    const int64_t count = file->size();
    return {std::move(file), 0, count};
  }

  template <class Start>
  Batch windows(const TokenRange& range, int64_t rows, int64_t length, Start&& start) const {
    const Tensor inputs = torch::empty({rows, length}, torch::kInt64);
    const Tensor targets = torch::empty({rows, length}, torch::kInt64);
    auto* input = inputs.mutable_data_ptr<int64_t>();
    auto* target = targets.mutable_data_ptr<int64_t>();
    const auto size = static_cast<size_t>(length);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = start(row);
      range.read(first, {input + row * length, size});
      range.read(first + 1, {target + row * length, size});
    }
    return on_device(inputs, targets, rows * length);
  }

  int64_t length_, rows_ = 0;  // T, and B of a training batch
  TokenRange train_, valid_;
  std::unique_ptr<WindowSampler> sampler_;
};

// ---- completion --------------------------------------------------------------------------------

class CompletionTask final : public CausalLmTask {
 public:
  CompletionTask(const CompletionTaskConfig& config, const CausalLmTaskOptions& options)
      : CausalLmTask(options),
        train_(open(config.train, "train", options)),
        valid_(open(config.valid, "valid", options)),
        files_{config.train, config.valid} {}

  int64_t epoch_size() const override { return train_.size(); }

  Batch batch(int64_t position) const override { return collate(train_, batch_pairs(position)); }

  int64_t batch_examples(int64_t position) const override {
    return static_cast<int64_t>(batch_pairs(position).size());
  }

  std::vector<std::string> metric_names() const override {
    return {"loss", "accuracy", "exact_match"};
  }

  std::string sample() override {
    std::string text;
    for (int64_t i = 0; i < std::min<int64_t>(valid_.size(), 10); ++i) {
      const Completions::Pair pair = valid_[i];
      const std::vector<int64_t> tokens(pair.tokens.begin(), pair.tokens.end());
      const std::vector<int64_t> prompt(tokens.begin(), tokens.begin() + pair.prompt_length);
      const std::vector<int64_t> wanted(tokens.begin() + pair.prompt_length, tokens.end());
      text += tokenizer_->decode(prompt) + "\t" +
              generate_text(prompt, {.max_new_tokens = static_cast<int64_t>(wanted.size())}) +
              "\t(wanted: " + tokenizer_->decode(wanted) + ")\n";
    }
    return text;
  }

  Json data_receipt() const override {
    const auto part = [](const std::vector<std::string>& names, const Completions& pairs) {
      return Json{{"files", names},
                  {"source_sha256", source_hash(paths_of(names))},
                  {"pairs", pairs.size()},
                  {"blank", pairs.blank()},
                  {"too_long", pairs.too_long()}};
    };
    return {{"train", part(files_[0], train_)}, {"valid", part(files_[1], valid_)}};
  }

 protected:
  int64_t validation_size() const override { return valid_.size(); }

  Batch validation_batch(int64_t position) const override {
    std::vector<int64_t> pairs;
    int64_t longest = 0;
    for (; position < valid_.size(); ++position) {
      longest = std::max(longest, read_length(valid_[position]));
      if (!pairs.empty() && static_cast<int64_t>(pairs.size()) >= validation_rows(longest)) break;
      pairs.push_back(position);
    }
    return collate(valid_, pairs);
  }

  Batch random_validation_batch(RandomStream& random) const override {
    std::vector<int64_t> pairs(std::min(training_.batch_size, valid_.size()));
    for (int64_t& pair : pairs) pair = static_cast<int64_t>(random.next_below(valid_.size()));
    return collate(valid_, pairs);
  }

  Metrics metrics(const Score& score) const override {
    return {{"loss", score.loss / static_cast<double>(score.targets)},
            {"accuracy", share(score.right, score.targets)},
            // All tokens right after the right ones before them: what greedy decoding writes, too.
            {"exact_match", share(score.exact, score.examples)}};
  }

 private:
  Completions open(const std::vector<std::string>& names, const char* key,
                   const CausalLmTaskOptions& options) const {
    require_data(names, key);
    Completions pairs(paths_of(names), *tokenizer_, model_->max_length());
    if (pairs.blank() > 0)
      options.notice(
          cat("task.", key, ": ", pairs.blank(), " pairs with a blank side are left out"));
    if (pairs.too_long() > 0)
      options.notice(cat("task.", key, ": ", pairs.too_long(),
                         " pairs are longer than model.max_length ", model_->max_length(),
                         " and are left out"));
    return pairs;
  }

  std::vector<int64_t> batch_pairs(int64_t position) const {
    std::vector<int64_t> pairs;
    int64_t longest = 0;
    for (;; ++position) {
      const int64_t pair = shuffled_pair(position, train_.size(), seed());
      longest = std::max(longest, read_length(train_[pair]));
      const auto rows = static_cast<int64_t>(pairs.size()) + 1;
      const int64_t size = training_.batch_type == BatchType::sentences ? rows : rows * longest;
      if (rows > 1 && size > training_.batch_size) return pairs;  // one example is always taken
      pairs.push_back(pair);
    }
  }

  /// Tokens that the model reads: all but the last, which is only predicted.
  static int64_t read_length(const Completions::Pair& pair) {
    return static_cast<int64_t>(pair.tokens.size()) - 1;
  }

  /// Rows padded at the right with token 0, whose targets are kNoTarget: causal attention keeps the
  /// real positions from seeing it.
  Batch collate(const Completions& data, const std::vector<int64_t>& pairs) const {
    int64_t length = 0, target_count = 0;
    for (const int64_t pair : pairs) length = std::max(length, read_length(data[pair]));
    const auto rows = static_cast<int64_t>(pairs.size());
    const Tensor inputs = torch::zeros({rows, length}, torch::kInt64);
    const Tensor targets = torch::full({rows, length}, kNoTarget, torch::kInt64);
    auto input = inputs.accessor<int64_t, 2>();
    auto target = targets.accessor<int64_t, 2>();
    for (int64_t row = 0; row < rows; ++row) {
      const Completions::Pair pair = data[pairs[row]];
      for (int64_t i = 0; i < read_length(pair); ++i) {
        input[row][i] = pair.tokens[i];
        if (i + 1 < pair.prompt_length) continue;
        target[row][i] = pair.tokens[i + 1];
        ++target_count;
      }
    }
    return on_device(inputs, targets, target_count);
  }

  Completions train_, valid_;
  std::vector<std::string> files_[2];
};

}  // namespace

std::unique_ptr<Task> make_task(const TaskConfig& config, const CausalLmTaskOptions& options) {
  if (const auto* task = std::get_if<LanguageModelTaskConfig>(&config))
    return std::make_unique<LanguageModelTask>(*task, options);
  return std::make_unique<CompletionTask>(std::get<CompletionTaskConfig>(config), options);
}

std::vector<fs::path> tokenizer_texts(const TaskConfig& task, const TokenizerConfig& tokenizer) {
  auto [train, valid] = std::visit([](const auto& t) { return std::pair(t.train, t.valid); }, task);
  require_data(train, "train");
  if (std::holds_alternative<CharTokenizerConfig>(tokenizer))
    train.insert(train.end(), valid.begin(), valid.end());
  for (const std::string& name : train)
    if (utf8_path(name).extension() == ".tokens")
      throw ConfigError(cat("tokenizer.file: names no tokenizer, but ", name,
                            " is packed; name the tokenizer it was packed with"));
  return paths_of(train);
}

}  // namespace zoo
