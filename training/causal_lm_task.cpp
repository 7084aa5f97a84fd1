#include "training/causal_lm_task.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "data/completions.h"
#include "data/windows.h"
#include "decoding/generate.h"
#include "evaluation/perplexity.h"
#include "models/zoo.h"
#include "training/token_task.h"

namespace zoo {

namespace {

constexpr uint64_t kEstimateStream = uint64_t{12} << 56;

/// What the two tasks share beside what all token tasks do.
template <class Base>
class CausalLmTask : public Base {
 public:
  explicit CausalLmTask(const TaskParts& parts)
      : Base(*parts.training, parts.device),
        model_(as_kind<CausalLm>(parts.model, "model.type, for this task")),
        tokenizer_(parts.tokenizer) {}

  torch::nn::Module& module() override { return *model_; }

  std::shared_ptr<torch::nn::Module> replica() const override { return model_->replica(); }

 protected:
  typename Base::Predictions predict(torch::nn::Module& module, const Batch& batch) override {
    const Tensor logits = static_cast<CausalLm&>(module).forward(batch.inputs);  // (B, T, V)
    return {logits.flatten(0, 1), batch.targets.flatten(), {}};
  }

  /// @param inputs, targets (B, T) int64 on the CPU
  Batch batch_of(const Tensor& inputs, const Tensor& targets, int64_t target_count) const {
    Batch batch;
    batch.inputs = this->on_device(inputs);
    batch.targets = this->on_device(targets);
    batch.examples = inputs.size(0);
    batch.target_count = target_count;
    batch.token_count = inputs.numel();
    return batch;
  }

  std::string generate_text(const std::vector<int64_t>& prompt, GenerationOptions options) const {
    options.ignore_eos = false;
    const auto outputs =
        generate(*model_, {prompt}, options, {.tokenizer = tokenizer_.get(), .seed = this->seed()});
    return outputs.at(0).at(0).text;
  }

  std::shared_ptr<CausalLm> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

// ---- language model ----------------------------------------------------------------------------

class LanguageModelTask final : public CausalLmTask<TokenTask> {
 public:
  LanguageModelTask(const LanguageModelTaskConfig& config, const TaskParts& parts)
      : CausalLmTask(parts),
        length_(config.block_size == 0 ? model_->max_length() : config.block_size) {
    if (length_ > model_->max_length())
      throw ConfigError(cat("task.block_size: ", length_, " tokens, but the model reads at most ",
                            model_->max_length(), " (model.max_length)"));
    const fs::path cache = config.cache.empty() ? parts.cache : utf8_path(config.cache);
    train_ = open(data_paths(config.train, "task.train"), cache, parts);
    if (config.valid.empty()) {
      const auto held_out = static_cast<int64_t>(
          std::ceil(static_cast<double>(train_.count) * config.valid_fraction));
      valid_ = {train_.file, train_.count - held_out, held_out};
      train_.count -= held_out;
    } else {
      valid_ = open(data_paths(config.valid, "task.valid"), cache, parts);
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

  Metrics evaluate(Precision precision) override {
    const Autocast autocast(precision, device_);
    const PerplexityScore score =
        measure_perplexity(*model_, validation_text(), {.context = length_});
    return {{"loss", score.loss()}, {"accuracy", score.accuracy()}};
  }

  double estimate_loss(int64_t batches, uint64_t stream, Precision precision) override {
    const Autocast autocast(precision, device_);
    return zoo::estimate_loss(*model_, validation_text(),
                              {.batches = batches,
                               .batch_size = rows_,
                               .context = length_,
                               .seed = RandomStream(seed(), kEstimateStream | stream).next_bits()});
  }

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

 private:
  TokenRange open(const std::vector<fs::path>& paths, const fs::path& cache,
                  const TaskParts& parts) const {
    const bool packed = paths[0].extension() == ".tokens";
    auto file = std::make_shared<const TokenFile>(packed ? paths[0]
                                                         : pack_cached(paths, *tokenizer_, cache));
    if (file->info().vocab_size != tokenizer_->vocab_size() ||
        (packed && file->info().tokenizer_hash != tokenizer_hash(*tokenizer_, parts.cache)))
      throw DataError(cat(utf8(file->path()), ": was packed with another tokenizer (",
                          file->info().vocab_size, " tokens; this one has ",
                          tokenizer_->vocab_size(),
                          "); pack the text again with this one, or name "
                          "that tokenizer in tokenizer.file"));
    const int64_t count = file->size();
    return {std::move(file), 0, count};
  }

  TokenSource validation_text() const {
    return {valid_.count,
            [this](int64_t first, std::span<int64_t> out) { valid_.read(first, out); }};
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
    return batch_of(inputs, targets, rows * length);
  }

  int64_t length_, rows_ = 0;  // T, and B of a training batch
  TokenRange train_, valid_;
  std::unique_ptr<WindowSampler> sampler_;
};

// ---- completion --------------------------------------------------------------------------------

class CompletionTask final : public CausalLmTask<ExampleTask> {
 public:
  CompletionTask(const CompletionTaskConfig& config, const TaskParts& parts)
      : CausalLmTask(parts),
        train_(open(config.train, "task.train", parts)),
        valid_(open(config.valid, "task.valid", parts)),
        files_{config.train, config.valid} {}

  int64_t epoch_size() const override { return train_.size(); }

  Batch batch(int64_t position) const override { return collate(train_, batch_pairs(position)); }

  int64_t batch_examples(int64_t position) const override {
    return static_cast<int64_t>(batch_pairs(position).size());
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
                  {"source_sha256", source_hash(data_paths(names, "task"))},
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
      const auto rows = static_cast<int64_t>(pairs.size()) + 1;
      if (rows > 1 && rows * longest > evaluation_tokens(model_->vocab_size())) break;
      pairs.push_back(position);
    }
    return collate(valid_, pairs);
  }

  Batch random_validation_batch(RandomStream& random) const override {
    std::vector<int64_t> pairs(std::min(training_.batch_size, valid_.size()));
    for (int64_t& pair : pairs) pair = static_cast<int64_t>(random.next_below(valid_.size()));
    return collate(valid_, pairs);
  }

 private:
  Completions open(const std::vector<std::string>& names, const std::string& key,
                   const TaskParts& parts) const {
    const Completions pairs(data_paths(names, key), *tokenizer_, model_->max_length());
    notice_left_out(parts.notice, key, pairs.blank(), pairs.too_long(),
                    cat("model.max_length ", model_->max_length()));
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
    int64_t length = 0, target_count = 0, token_count = 0;
    for (const int64_t pair : pairs) {
      length = std::max(length, read_length(data[pair]));
      token_count += read_length(data[pair]);
    }
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
    Batch batch = batch_of(inputs, targets, target_count);
    batch.token_count = token_count;
    return batch;
  }

  Completions train_, valid_;
  std::vector<std::string> files_[2];
};

}  // namespace

std::unique_ptr<Task> make_language_model_task(const LanguageModelTaskConfig& config,
                                               const TaskParts& parts) {
  return std::make_unique<LanguageModelTask>(config, parts);
}

std::unique_ptr<Task> make_completion_task(const CompletionTaskConfig& config,
                                           const TaskParts& parts) {
  return std::make_unique<CompletionTask>(config, parts);
}

}  // namespace zoo
