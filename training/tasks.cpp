#include "training/tasks.h"

#include "core/error.h"
#include "training/causal_lm_task.h"
#include "training/token_task.h"
#include "training/translation_task.h"

namespace zoo {

namespace {

std::vector<fs::path> texts_of(std::vector<std::string> train,
                               const std::vector<std::string>& valid, bool with_valid) {
  if (with_valid) train.insert(train.end(), valid.begin(), valid.end());
  for (const std::string& name : train)
    if (utf8_path(name).extension() == ".tokens")
      throw ConfigError(cat("tokenizer.file: names no tokenizer, but ", name,
                            " is packed; name the tokenizer it was packed with"));
  return data_paths(train, "task.train");
}

}  // namespace

std::unique_ptr<Task> make_task(const TaskConfig& config, const TaskParts& parts) {
  if (const auto* task = std::get_if<LanguageModelTaskConfig>(&config))
    return make_language_model_task(*task, parts);
  if (const auto* task = std::get_if<CompletionTaskConfig>(&config))
    return make_completion_task(*task, parts);
  return make_translation_task(std::get<TranslationTaskConfig>(config), parts);
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
      [&](const auto& t) -> std::vector<fs::path> {
        if constexpr (!std::is_same_v<std::decay_t<decltype(t)>, TranslationTaskConfig>)
          return texts_of(t.train, t.valid, with_valid);
        return {};
      },
      task);
}

}  // namespace zoo
