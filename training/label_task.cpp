// The tasks text_classification and tagging.

#include <algorithm>

#include "data/labelled_texts.h"
#include "data/length_batches.h"
#include "data/token_file.h"
#include "models/zoo.h"
#include "training/class_task.h"
#include "training/text_batch.h"
#include "training/text_tasks.h"

namespace zoo {

namespace {

constexpr int64_t kSamples = 10, kSortTogether = 4096;

class LabelTask final : public ClassTask {
 public:
  template <class Config>
  LabelTask(const Config& config, LabelUnit unit, const TaskParts& parts,
            std::shared_ptr<TextEncoder> model)
      : ClassTask(*parts.training, parts.device, labels_of(model->head())),
        model_(std::move(model)),
        tokenizer_(parts.tokenizer),
        unit_(unit),
        encoding_(*tokenizer_, config.max_length == 0
                                   ? model_->max_length()
                                   : std::min(config.max_length, model_->max_length())),
        files_{config.train, config.valid} {
    if (unit == LabelUnit::text)
      require_head<ClassifierHeadConfig>(*model_, config.kType);
    else
      require_head<TaggerHeadConfig>(*model_, config.kType);
    train_ = open(config.train, "task.train", parts);
    valid_ = open(config.valid, "task.valid", parts);
    const bool counts_tokens = training_.batch_type == BatchType::tokens;
    train_batches_ = order(train_, batch_budget(),
                           training_.batch_size / (counts_tokens ? mean_length(train_) : 1));
    valid_batches_ = order(valid_, {.tokens = evaluation_tokens(1)}, kSortTogether);
  }

  torch::nn::Module& module() override { return *model_; }
  std::shared_ptr<torch::nn::Module> replica() const override { return model_->replica(); }
  int64_t epoch_size() const override { return std::ssize(train_.texts); }
  Batch batch(int64_t position) const override {
    return collate(train_, train_batches_->at(position));
  }
  int64_t batch_examples(int64_t position) const override {
    return std::ssize(train_batches_->at(position));
  }

  std::string sample() override {
    const torch::NoGradGuard no_grad;
    std::string text;
    for (int64_t i = 0; i < std::min(kSamples, validation_size()); ++i) {
      const Batch batch = collate(valid_, {i});
      const Tensor guess = predict(*model_, batch).logits.argmax(-1).cpu();  // (R)
      const LabelledText& example = valid_.texts[i];
      text += tokenizer_->decode(example.text.ids);
      for (size_t place = 0; place < example.labels.size(); ++place)
        if (example.labels[place] != kNoLabel)
          text += cat(unit_ == LabelUnit::text ? "\t" : " ",
                      labels_[guess[static_cast<int64_t>(place)].item<int64_t>()],
                      " (wanted: ", labels_[example.labels[place]], ")");
      text += "\n";
    }
    return text;
  }

  Json data_receipt() const override {
    const auto part = [](const std::vector<std::string>& names, const LabelledTexts& split) {
      return Json{{"files", names},
                  {"source_sha256", source_hash(data_paths(names, "task"))},
                  {"texts", split.texts.size()},
                  {"blank", split.blank},
                  {"cut", split.cut}};
    };
    return {{"train", part(files_[0], train_)}, {"valid", part(files_[1], valid_)}};
  }

 protected:
  Predictions predict(torch::nn::Module& module, const Batch& batch) override {
    auto& model = static_cast<TextEncoder&>(module);
    const TextBatch texts = text_batch(batch);
    const Tensor logits = model.logits(model.encode(texts), texts.lengths);  // (B, C), (B, T, C)
    return {logits.flatten(0, -2), batch.targets.flatten(), {}};
  }

  int64_t validation_size() const override { return std::ssize(valid_.texts); }
  Batch validation_batch(int64_t position) const override {
    return collate(valid_, valid_batches_->at(position));
  }
  Batch random_validation_batch(RandomStream& random) const override {
    return collate(valid_, valid_batches_->at(valid_batches_->random_start(random)));
  }

 private:
  LabelledTexts open(const std::vector<std::string>& names, const std::string& key,
                     const TaskParts& parts) const {
    LabelledTexts read = read_labelled_texts(data_paths(names, key), unit_, labels_, encoding_);
    const char* const what = unit_ == LabelUnit::text ? "texts" : "sentences";
    if (read.blank > 0) parts.notice(cat(key, ": ", read.blank, " blank ", what, " are left out"));
    if (read.cut > 0)
      parts.notice(cat(key, ": ", read.cut, " ", what, " are longer than ", encoding_.room(0) + 1,
                       " tokens, and their ends are cut off"));
    return read;
  }

  static int64_t mean_length(const LabelledTexts& split) {
    int64_t sum = 0;
    for (const LabelledText& text : split.texts) sum += std::ssize(text.text.ids);
    return sum / std::ssize(split.texts);
  }

  /// @param window texts that are sorted together. In training they are those of one batch: where
  /// classes differ in length, sorted batches would be of one class each, from which nothing is
  /// learnt.
  std::unique_ptr<const LengthBatches> order(const LabelledTexts& split, BatchBudget budget,
                                             int64_t window) const {
    const auto lengths = [&texts = split.texts](int64_t index) {
      const int64_t length = std::ssize(texts[index].text.ids);
      return PairLengths{length, length};
    };
    return std::make_unique<const LengthBatches>(std::ssize(split.texts), lengths, budget, seed(),
                                                 std::max<int64_t>(1, window));
  }

  Batch collate(const LabelledTexts& split, const std::vector<int64_t>& rows) const {
    std::vector<EncodedText> texts;
    std::vector<std::vector<int64_t>> targets;
    for (const int64_t row : rows) {
      texts.push_back(split.texts[row].text);
      targets.push_back(split.texts[row].labels);
    }
    Batch batch;
    fill_text_batch(batch, texts, targets, unit_ == LabelUnit::word);
    return on_device(std::move(batch));
  }

  static_assert(kNoLabel == kNoTarget);

  std::shared_ptr<TextEncoder> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  LabelUnit unit_;
  TextEncoding encoding_;
  std::vector<std::string> files_[2];
  LabelledTexts train_, valid_;
  std::unique_ptr<const LengthBatches> train_batches_, valid_batches_;
};

template <class Config>
std::unique_ptr<Task> make_label_task(const Config& config, LabelUnit unit,
                                      const TaskParts& parts) {
  return std::make_unique<LabelTask>(
      config, unit, parts,
      as_kind<TextEncoder>(parts.model, cat("model.type, for the task ", config.kType)));
}

}  // namespace

std::unique_ptr<Task> make_text_classification_task(const TextClassificationTaskConfig& config,
                                                    const TaskParts& parts) {
  return make_label_task(config, LabelUnit::text, parts);
}

std::unique_ptr<Task> make_tagging_task(const TaggingTaskConfig& config, const TaskParts& parts) {
  return make_label_task(config, LabelUnit::word, parts);
}

}  // namespace zoo
