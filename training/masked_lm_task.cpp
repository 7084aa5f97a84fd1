#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/documents.h"
#include "data/length_batches.h"
#include "data/masking.h"
#include "models/zoo.h"
#include "training/text_batch.h"
#include "training/text_tasks.h"
#include "training/token_task.h"

namespace zoo {

namespace {

constexpr uint64_t kMaskStream = uint64_t{16} << 56, kValidMaskStream = uint64_t{17} << 56,
                   kEstimateStream = uint64_t{18} << 56;
constexpr int64_t kSamples = 3;

/// Sums over a batch.
struct Sums {
  double loss = 0, right = 0, follows_loss = 0, follows_right = 0;
  int64_t targets = 0, pairs = 0;
};

class MaskedLmTask final : public TokenTask {
 public:
  MaskedLmTask(const MaskedLmTaskConfig& config, const TaskParts& parts)
      : TokenTask(*parts.training, parts.device),
        model_(as_kind<TextEncoder>(parts.model, "model.type, for the task masked_lm")),
        tokenizer_(parts.tokenizer),
        document_end_(config.document_end),
        head_(require_head<MaskedLmHeadConfig>(*model_, config.kType)),
        encoding_(*tokenizer_, config.block_size == 0
                                   ? model_->max_length()
                                   : std::min(config.block_size, model_->max_length())),
        masking_(*tokenizer_, {config.mask_probability, config.mask_share, config.random_share,
                               config.whole_words}) {
    const fs::path cache = config.cache.empty() ? parts.cache : utf8_path(config.cache);
    train_.corpus = open(data_paths(config.train, "task.train"), cache);
    train_.last = train_.corpus->size();
    if (!config.valid.empty()) {
      valid_.corpus = open(data_paths(config.valid, "task.valid"), cache);
      valid_.last = valid_.corpus->size();
    } else {
      const auto held_out =
          static_cast<int64_t>(std::ceil(static_cast<double>(train_.last) * config.valid_fraction));
      if (held_out == 0 || held_out == train_.last)
        throw DataError(cat("task.train: has ", train_.last,
                            " passages, too few to hold some out for validation; name files in "
                            "task.valid"));
      valid_ = {train_.corpus, train_.last - held_out, train_.last};
      train_.last -= held_out;
    }
    train_batches_ = order(train_, batch_budget());
    valid_batches_ = order(valid_, BatchBudget{.tokens = evaluation_tokens(model_->vocab_size())});
  }

  torch::nn::Module& module() override { return *model_; }
  std::shared_ptr<torch::nn::Module> replica() const override {
    // The losses of both tasks are weighed by the whole batch.
    return head_.next_sentence ? nullptr : model_->replica();
  }
  int64_t epoch_size() const override { return train_.size(); }
  Batch batch(int64_t position) const override {
    // Counted from the start of training: each epoch draws other masks.
    return collate(train_, train_batches_->at(position), kMaskStream, position);
  }
  int64_t batch_examples(int64_t position) const override {
    return std::ssize(train_batches_->at(position));
  }

  /// With next sentences the mean loss is the sum of both tasks' means.
  Tensor loss_sum(torch::nn::Module& module, const Batch& batch) override {
    auto& model = static_cast<TextEncoder&>(module);
    const TextBatch texts = text_batch(batch);
    const Tensor hidden = model.encode(texts);  // (B, T, D)
    const Predictions found = predict_from(model, hidden, batch);
    const Tensor masked = at::cross_entropy_loss(
        found.logits, found.targets, {}, at::Reduction::Sum, kNoTarget, training_.label_smoothing);
    if (!batch.follows.defined()) return masked;
    const Tensor follows =
        at::cross_entropy_loss(model.next_sentence_logits(hidden, texts.lengths), batch.follows);
    return masked + follows * static_cast<double>(batch.target_count);
  }

  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names = {"loss", "accuracy"};
    if (head_.next_sentence) names.emplace_back("next_sentence_accuracy");
    return names;
  }

  Metrics evaluate(Precision precision) override {
    const torch::NoGradGuard no_grad;
    const Autocast autocast(precision, device_);
    Sums sums;
    for (int64_t position = 0; position < valid_.size();) {
      // The same masks at each evaluation.
      const Batch batch = collate(valid_, valid_batches_->at(position), kValidMaskStream, position);
      add(batch, sums);
      position += batch.examples;
    }
    return metrics(sums);
  }

  double estimate_loss(int64_t batches, uint64_t stream, Precision precision) override {
    const torch::NoGradGuard no_grad;
    const Autocast autocast(precision, device_);
    RandomStream random(seed(), kEstimateStream | stream);
    Sums sums;
    for (int64_t i = 0; i < batches; ++i) {
      const int64_t position = valid_batches_->random_start(random);
      add(collate(valid_, valid_batches_->at(position), kValidMaskStream, position), sums);
    }
    return metrics(sums)[0].second;
  }

  std::string sample() override {
    const torch::NoGradGuard no_grad;
    std::string text;
    for (int64_t i = 0; i < std::min(kSamples, valid_.size()); ++i) {
      const Batch batch = collate(valid_, {i}, kValidMaskStream, i);
      const Tensor best = predict(module(), batch).logits.argmax(-1).cpu();  // (R)
      const Tensor inputs = batch.inputs.cpu(), targets = batch.targets.cpu();
      const auto* input = inputs.const_data_ptr<int64_t>();
      const auto* target = targets.const_data_ptr<int64_t>();
      const std::vector<int64_t> ids(input, input + inputs.numel());
      text += cat(i == 0 ? "" : "\n", "read:   ", tokenizer_->decode(ids, {.skip_special = false}),
                  "\nfound: ");
      int64_t next = 0;
      for (int64_t place = 0; place < targets.numel(); ++place)
        if (target[place] != kNoTarget)
          text += cat(" ", tokenizer_->piece(best[next++].item<int64_t>()), " (",
                      tokenizer_->piece(target[place]), ")");
      text += "\n";
    }
    return text;
  }

  Json data_receipt() const override {
    const auto part = [](const Split& split) {
      const TokenFileInfo& info = split.corpus->info();
      return Json{{"source_sha256", info.source_hash},
                  {"tokenizer_sha256", info.tokenizer_hash},
                  {"tokens", info.count},
                  {"first_passage", split.first},
                  {"passages", split.size()}};
    };
    return {{"train", part(train_)}, {"valid", part(valid_)}};
  }

 protected:
  Predictions predict(torch::nn::Module& module, const Batch& batch) override {
    auto& model = static_cast<TextEncoder&>(module);
    return predict_from(model, model.encode(text_batch(batch)), batch);
  }

 private:
  struct Split {
    std::shared_ptr<const DocumentCorpus> corpus;
    int64_t first = 0, last = 0;  // passages
    int64_t size() const { return last - first; }
  };

  std::shared_ptr<const DocumentCorpus> open(const std::vector<fs::path>& texts,
                                             const fs::path& cache) const {
    return std::make_shared<const DocumentCorpus>(
        pack_documents_cached(texts, *tokenizer_, document_end_ == DocumentEnd::blank_line, cache),
        encoding_.room(head_.next_sentence ? 2 : 1));
  }

  std::unique_ptr<const LengthBatches> order(const Split& split, BatchBudget budget) const {
    const int64_t special = head_.next_sentence ? 3 : 2;
    const auto lengths = [corpus = split.corpus, first = split.first, special](int64_t passage) {
      const int64_t length = corpus->length(first + passage) + special;
      return PairLengths{length, length};
    };
    return std::make_unique<const LengthBatches>(split.size(), lengths, budget, seed());
  }

  /// The logits at masked places only: (R, V).
  static Predictions predict_from(TextEncoder& model, const Tensor& hidden, const Batch& batch) {
    const Tensor targets = batch.targets.flatten();                    // (B T)
    const Tensor places = targets.ne(kNoTarget).nonzero().squeeze(1);  // (R)
    return {model.logits(hidden.flatten(0, 1).index_select(0, places), {}),
            targets.index_select(0, places), places.floor_divide(batch.targets.size(1))};
  }

  /// @param position makes the masks, together with the passages' places in the batch
  Batch collate(const Split& split, const std::vector<int64_t>& passages, uint64_t stream,
                int64_t position) const {
    std::vector<EncodedText> texts;
    std::vector<std::vector<int64_t>> targets;
    std::vector<int64_t> follows;
    Batch batch;
    for (const int64_t passage : passages) {
      RandomStream random(seed(), stream | static_cast<uint64_t>(position++));
      if (head_.next_sentence) {
        SentencePair pair =
            split.corpus->pair(split.first + passage, {split.first, split.last}, random);
        texts.push_back(encoding_.frame(std::move(pair.a), std::move(pair.b)));
        follows.push_back(pair.follows ? 0 : 1);
      } else {
        texts.push_back(encoding_.frame(split.corpus->tokens(split.first + passage)));
      }
      targets.push_back(masking_.mask(texts.back().ids, kNoTarget, random));
    }
    fill_text_batch(batch, texts, targets, /*for_each_token=*/true);
    if (!follows.empty()) batch.follows = torch::tensor(follows, torch::kInt64);
    return on_device(std::move(batch));
  }

  void add(const Batch& batch, Sums& sums) {
    const TextBatch texts = text_batch(batch);
    const Tensor hidden = model_->encode(texts);
    const Predictions found = predict_from(*model_, hidden, batch);
    const auto count = [](const Tensor& logits, const Tensor& targets) {
      return std::pair(
          at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum).to(torch::kFloat64),
          logits.argmax(-1).eq(targets).sum().to(torch::kFloat64));
    };
    const auto [loss, right] = count(found.logits, found.targets);
    Tensor all = torch::stack({loss, right});
    if (batch.follows.defined()) {
      const auto [follows_loss, follows_right] =
          count(model_->next_sentence_logits(hidden, texts.lengths), batch.follows);
      all = torch::cat({all, torch::stack({follows_loss, follows_right})});
      sums.pairs += batch.examples;
    }
    all = all.cpu();  // the only wait for the device
    const auto* sum = all.const_data_ptr<double>();
    sums.loss += sum[0];
    sums.right += sum[1];
    sums.targets += batch.target_count;
    if (!batch.follows.defined()) return;
    sums.follows_loss += sum[2];
    sums.follows_right += sum[3];
  }

  Metrics metrics(const Sums& sums) const {
    const auto targets = static_cast<double>(sums.targets);
    const auto pairs = static_cast<double>(std::max<int64_t>(1, sums.pairs));
    Metrics metrics = {{"loss", sums.loss / targets + sums.follows_loss / pairs},
                       {"accuracy", sums.right / targets}};
    if (head_.next_sentence)
      metrics.emplace_back("next_sentence_accuracy", sums.follows_right / pairs);
    return metrics;
  }

  std::shared_ptr<TextEncoder> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  DocumentEnd document_end_;
  MaskedLmHeadConfig head_;
  TextEncoding encoding_;
  Masking masking_;
  Split train_, valid_;
  std::unique_ptr<const LengthBatches> train_batches_, valid_batches_;
};

}  // namespace

std::unique_ptr<Task> make_masked_lm_task(const MaskedLmTaskConfig& config,
                                          const TaskParts& parts) {
  return std::make_unique<MaskedLmTask>(config, parts);
}

}  // namespace zoo
