#include "training/translation_task.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "data/length_batches.h"
#include "data/parallel.h"
#include "decoding/translate.h"
#include "evaluation/bleu.h"
#include "models/zoo.h"
#include "training/token_task.h"

namespace zoo {

namespace {

constexpr int64_t kSamples = 5;

ParallelFiles files_of(const ParallelTextConfig& config, const std::string& key) {
  if (config.source.empty() && config.tsv.empty())
    throw ConfigError(
        cat(key, ": names no file; name ", key, ".source and ", key, ".target, or ", key, ".tsv"));
  const auto paths = [&](const std::vector<std::string>& names, const char* side) {
    return names.empty() ? std::vector<fs::path>() : data_paths(names, key + side);
  };
  return {paths(config.source, ".source"), paths(config.target, ".target"),
          paths(config.tsv, ".tsv")};
}

/// A pair to translate while training: the source's tokens and the target as it is written.
struct Example {
  std::vector<int64_t> source;
  std::string source_text, reference;
};

class TranslationTask final : public ExampleTask {
 public:
  TranslationTask(const TranslationTaskConfig& config, const TaskParts& parts)
      : ExampleTask(*parts.training, parts.device),
        config_(config),
        model_(as_kind<Seq2Seq>(parts.model, "model.type, for the task translation")),
        tokenizer_(parts.tokenizer),
        source_tokenizer_(parts.source_tokenizer ? parts.source_tokenizer : parts.tokenizer) {
    const auto limit = [&](int64_t longest) {
      return config.max_length == 0 ? longest : std::min(config.max_length, longest);
    };
    max_source_length_ = limit(model_->max_source_length());
    max_length_ = limit(model_->max_length());
    const fs::path cache = config.cache.empty() ? parts.cache : utf8_path(config.cache);
    train_ = open(config.train, "task.train", cache, parts);
    valid_ = open(config.valid, "task.valid", cache, parts);
    end_ = tokenizer_->special_ids().eos.value();
    begin_ = begin_token(*tokenizer_);
    train_batches_ = order(train_, batch_budget());
    valid_batches_ = order(valid_, BatchBudget{.tokens = evaluation_tokens(model_->vocab_size())});
    examples_ = first_examples(std::max(config.bleu_pairs, kSamples));
  }

  torch::nn::Module& module() override { return *model_; }

  std::shared_ptr<torch::nn::Module> replica() const override {
    // Who reads the model's own tokens draws which.
    return always_forces(config_.teacher_forcing) ? model_->replica() : nullptr;
  }

  int64_t epoch_size() const override { return train_->size(); }

  Batch batch(int64_t position) const override {
    return collate(*train_, train_batches_->at(position));
  }

  int64_t batch_examples(int64_t position) const override {
    return static_cast<int64_t>(train_batches_->at(position).size());
  }

  void begin_step(int64_t step) override {
    teacher_forcing_ = teacher_forcing_at(config_.teacher_forcing, step);
  }

  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names = ExampleTask::metric_names();
    if (config_.bleu_pairs > 0) names.emplace_back("bleu");
    return names;
  }

  Metrics evaluate(Precision precision) override {
    Metrics metrics = ExampleTask::evaluate(precision);
    if (config_.bleu_pairs > 0) metrics.emplace_back("bleu", bleu(precision));
    return metrics;
  }

  std::string sample() override {
    const std::span examples(examples_.data(),
                             std::min<size_t>(examples_.size(), static_cast<size_t>(kSamples)));
    const std::vector<std::string> outputs = translate(examples);
    std::string text;
    for (size_t i = 0; i < examples.size(); ++i)
      text += cat(i == 0 ? "" : "\n", "source: ", examples[i].source_text, "\noutput: ", outputs[i],
                  "\nwanted: ", examples[i].reference, "\n");
    return text;
  }

  Json data_receipt() const override {
    const auto part = [](const ParallelCorpus& corpus) {
      const TokenFileInfo& info = corpus.info();
      return Json{{"source_sha256", info.source_hash},
                  {"tokenizer_sha256", info.tokenizer_hash},
                  {"pairs", corpus.size()},
                  {"tokens", info.count},
                  {"blank", info.blank},
                  {"too_long", info.too_long}};
    };
    return {{"train", part(*train_)}, {"valid", part(*valid_)}};
  }

 protected:
  Predictions predict(torch::nn::Module& module, const Batch& batch) override {
    auto& model = static_cast<Seq2Seq&>(module);
    const Encoded encoded = model.encode(batch.source, batch.source_lengths);
    const double forcing = model.is_training() ? teacher_forcing_ : 1;
    const Tensor hidden = model.decode(encoded, batch.inputs, {.teacher_forcing = forcing})
                              .flatten(0, 1);        // (B T, D)
    const Tensor targets = batch.targets.flatten();  // (B T)
    if (batch.target_count == targets.numel()) return {model.logits(hidden), targets, {}};
    // The output layer is a large part of a small model: padding does not go through it.
    const Tensor places = targets.ne(kNoTarget).nonzero().squeeze(1);  // (R)
    return {model.logits(hidden.index_select(0, places)), targets.index_select(0, places),
            places.floor_divide(batch.targets.size(1))};
  }

  int64_t validation_size() const override { return valid_->size(); }

  Batch validation_batch(int64_t position) const override {
    return collate(*valid_, valid_batches_->at(position));
  }

  Batch random_validation_batch(RandomStream& random) const override {
    return collate(*valid_, valid_batches_->at(valid_batches_->random_start(random)));
  }

 private:
  std::shared_ptr<const ParallelCorpus> open(const ParallelTextConfig& text, const std::string& key,
                                             const fs::path& cache, const TaskParts& parts) const {
    auto corpus = std::make_shared<const ParallelCorpus>(
        pack_parallel_cached(files_of(text, key), encoding(), cache));
    notice_left_out(parts.notice, key, corpus->info().blank, corpus->info().too_long,
                    cat(max_source_length_, " tokens (source) or ", max_length_, " (target)"));
    return corpus;
  }

  PairEncoding encoding() const {
    return {*source_tokenizer_, *tokenizer_, max_source_length_, max_length_};
  }

  std::unique_ptr<const LengthBatches> order(const std::shared_ptr<const ParallelCorpus>& corpus,
                                             BatchBudget budget) const {
    const auto lengths = [corpus](int64_t pair) {
      return PairLengths{corpus->source_length(pair), corpus->target_length(pair)};
    };
    return std::make_unique<const LengthBatches>(corpus->size(), lengths, budget, seed());
  }

  /// The first usable pairs of the validation split, with their texts: a reference never goes
  /// through the vocabulary.
  std::vector<Example> first_examples(int64_t count) const {
    std::vector<Example> examples;
    EncodedPair pair;
    for_each_pair(files_of(config_.valid, "task.valid"),
                  [&](std::string_view source, std::string_view target) {
                    if (static_cast<int64_t>(examples.size()) < count &&
                        encode_pair(source, target, encoding(), pair) == PairFate::kept)
                      examples.push_back({pair.source, std::string(source), std::string(target)});
                  });
    return examples;
  }

  /// Rows padded at the right with token 0. The decoder reads the begin token and the target
  /// without its end.
  Batch collate(const ParallelCorpus& corpus, const std::vector<int64_t>& pairs) const {
    const auto rows = static_cast<int64_t>(pairs.size());
    int64_t source_length = 0, length = 0;
    for (const int64_t pair : pairs) {
      source_length = std::max(source_length, corpus.source_length(pair));
      length = std::max(length, corpus.target_length(pair));
    }
    const Tensor source = torch::zeros({rows, source_length}, torch::kInt64);
    const Tensor lengths = torch::empty({rows}, torch::kInt64);
    const Tensor inputs = torch::zeros({rows, length}, torch::kInt64);
    const Tensor targets = torch::full({rows, length}, kNoTarget, torch::kInt64);
    Batch batch;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t pair = pairs[row], target_length = corpus.target_length(pair);
      corpus.read_source(pair, {source.mutable_data_ptr<int64_t>() + row * source_length,
                                static_cast<size_t>(source_length)});
      lengths.mutable_data_ptr<int64_t>()[row] = corpus.source_length(pair);
      auto* target = targets.mutable_data_ptr<int64_t>() + row * length;
      auto* input = inputs.mutable_data_ptr<int64_t>() + row * length;
      corpus.read_target(pair, {target, static_cast<size_t>(length)});
      input[0] = begin_;
      std::copy_n(target, target_length - 1, input + 1);
      batch.target_count += target_length;
      batch.token_count += corpus.source_length(pair) + target_length;
    }
    batch.source = source;
    batch.source_lengths = lengths;
    batch.inputs = inputs;
    batch.targets = targets;
    batch.examples = rows;
    return on_device(std::move(batch));
  }

  /// Greedy translations, in the order of the examples.
  std::vector<std::string> translate(std::span<const Example> examples) const {
    std::vector<std::vector<int64_t>> sources;
    for (const Example& example : examples) sources.push_back(example.source);
    TranslateArgs args{.search = {.tokenizer = tokenizer_.get(), .eos = end_}, .begin = begin_};
    std::vector<std::string> outputs;
    for (const auto& found : zoo::translate(*model_, sources, {}, args))
      outputs.push_back(found[0].text);
    return outputs;
  }

  double bleu(Precision precision) const {
    const Autocast autocast(precision, device_);
    const std::span examples(
        examples_.data(),
        std::min<size_t>(examples_.size(), static_cast<size_t>(config_.bleu_pairs)));
    const std::vector<std::string> outputs = translate(examples);
    BleuOptions options;
    options.tokenization = config_.bleu_tokenize;
    options.lowercase = config_.bleu_lowercase;
    Bleu metric(options);
    MetricTotal total(metric);
    for (size_t i = 0; i < outputs.size(); ++i) total.add(outputs[i], examples[i].reference);
    return total.score().score;
  }

  TranslationTaskConfig config_;
  std::shared_ptr<Seq2Seq> model_;
  std::shared_ptr<const Tokenizer> tokenizer_, source_tokenizer_;
  int64_t max_source_length_ = 0, max_length_ = 0;
  int64_t begin_ = 0, end_ = 0;
  std::shared_ptr<const ParallelCorpus> train_, valid_;
  std::unique_ptr<const LengthBatches> train_batches_, valid_batches_;
  std::vector<Example> examples_;
  double teacher_forcing_ = 1;
};

}  // namespace

std::unique_ptr<Task> make_translation_task(const TranslationTaskConfig& config,
                                            const TaskParts& parts) {
  return std::make_unique<TranslationTask>(config, parts);
}

std::vector<fs::path> translation_texts(const TranslationTaskConfig& config, TextSide side,
                                        bool with_valid, const fs::path& scratch) {
  std::vector<fs::path> texts;
  const auto add = [&](const ParallelTextConfig& text, const std::string& key) {
    const ParallelFiles files = files_of(text, key);
    if (side != TextSide::target)
      texts.insert(texts.end(), files.source.begin(), files.source.end());
    if (side != TextSide::source)
      texts.insert(texts.end(), files.target.begin(), files.target.end());
    if (files.tsv.empty()) return;
    // A tokenizer learns from text, in which a tab would be a sign like others.
    const fs::path columns = scratch / (key +
                                        (side == TextSide::source   ? ".source"
                                         : side == TextSide::target ? ".target"
                                                                    : "") +
                                        ".txt");
    write_file(columns, [&](std::ostream& out) {
      for_each_pair({.source = {}, .target = {}, .tsv = files.tsv},
                    [&](std::string_view source, std::string_view target) {
                      if (side != TextSide::target) out << source << '\n';
                      if (side != TextSide::source) out << target << '\n';
                    });
    });
    texts.push_back(columns);
  };
  add(config.train, "task.train");
  if (with_valid) add(config.valid, "task.valid");
  return texts;
}

}  // namespace zoo
