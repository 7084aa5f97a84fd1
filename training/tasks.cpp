#include "training/tasks.h"

#include "core/error.h"
#include "core/text.h"
#include "data/labelled_texts.h"
#include "training/causal_lm_task.h"
#include "training/image_task.h"
#include "training/text_tasks.h"
#include "training/token_task.h"
#include "training/translation_task.h"

namespace zoo {

namespace {

constexpr LabelUnit unit_of(const TextClassificationTaskConfig&) { return LabelUnit::text; }
constexpr LabelUnit unit_of(const TaggingTaskConfig&) { return LabelUnit::word; }

template <class Config>
concept Labelled = requires(const Config& config) {
  unit_of(config);
};

std::vector<fs::path> texts_of(std::vector<std::string> train,
                               const std::vector<std::string>& valid, bool with_valid) {
  if (with_valid) train.insert(train.end(), valid.begin(), valid.end());
  for (const std::string& name : train)
    if (utf8_path(name).extension() == ".tokens")
      throw ConfigError(cat("tokenizer.file: names no tokenizer, but ", name,
                            " is packed; name the tokenizer it was packed with"));
  return data_paths(train, "task.train");
}

/// The texts of labelled files without their labels.
std::vector<fs::path> without_labels(const std::vector<fs::path>& files, LabelUnit unit,
                                     const fs::path& scratch) {
  const fs::path path = scratch / "texts.txt";
  write_file(path, [&](std::ostream& out) {
    for (const fs::path& file : files)
      for_each_line(read_file(file), [&](std::string_view line) {
        const bool is_text = unit == LabelUnit::text;
        const size_t end = is_text ? line.find('\t') : line.find_first_of(" \t");
        if (end == std::string_view::npos) return;
        if (!is_text) {
          out << line.substr(0, end) << '\n';
          return;
        }
        for (const std::string& text : split(line.substr(end + 1), '\t')) out << text << '\n';
      });
  });
  return {path};
}

}  // namespace

std::unique_ptr<Task> make_task(const TaskConfig& config, const TaskParts& parts) {
  if (const auto* task = std::get_if<LanguageModelTaskConfig>(&config))
    return make_language_model_task(*task, parts);
  if (const auto* task = std::get_if<CompletionTaskConfig>(&config))
    return make_completion_task(*task, parts);
  if (const auto* task = std::get_if<MaskedLmTaskConfig>(&config))
    return make_masked_lm_task(*task, parts);
  if (const auto* task = std::get_if<TextClassificationTaskConfig>(&config))
    return make_text_classification_task(*task, parts);
  if (const auto* task = std::get_if<TaggingTaskConfig>(&config))
    return make_tagging_task(*task, parts);
  if (const auto* task = std::get_if<ImageClassificationTaskConfig>(&config))
    return make_image_classification_task(*task, parts);
  return make_translation_task(std::get<TranslationTaskConfig>(config), parts);
}

void fit_to_data(ModelConfig& model, const TaskConfig& task) {
  std::vector<std::string>* const labels = class_names(model);
  if (labels == nullptr || !labels->empty()) return;
  std::visit(
      [&]<class Config>(const Config& config) {
        if constexpr (Labelled<Config>)
          *labels = labels_in(data_paths(config.train, "task.train"), unit_of(config));
        else if constexpr (std::is_same_v<Config, ImageClassificationTaskConfig>)
          *labels = labels_of_pictures(config);
      },
      task);
}

std::vector<fs::path> tokenizer_texts(const TaskConfig& task, const TokenizerConfig& tokenizer,
                                      TextSide side, const fs::path& scratch) {
  const bool with_valid = std::holds_alternative<CharTokenizerConfig>(tokenizer);
  if (const auto* translation = std::get_if<TranslationTaskConfig>(&task))
    return translation_texts(*translation, side, with_valid, scratch);
  if (side != TextSide::both)
    throw ConfigError(
        "tokenizer.type: separate tokenizers are for the task translation, whose text has two "
        "sides; use one of char, bpe, sentencepiece");
  return std::visit(
      [&]<class Config>(const Config& t) -> std::vector<fs::path> {
        if constexpr (Labelled<Config>)
          return without_labels(texts_of(t.train, t.valid, with_valid), unit_of(t), scratch);
        else if constexpr (std::is_same_v<Config, ImageClassificationTaskConfig>)
          throw ConfigError(
              "task.type: image_classification has no text, but the model reads text; set "
              "model.type to vit");
        else if constexpr (!std::is_same_v<Config, TranslationTaskConfig>)
          return texts_of(t.train, t.valid, with_valid);
        else
          return {};
      },
      task);
}

}  // namespace zoo
