#pragma once
// Translation: an encoder–decoder learns p(target | source). One task for all of them, so that
// comparing them is fair.

#include "training/tasks.h"

namespace zoo {

/// Reads and packs the pairs. @throws as make_task()
std::unique_ptr<Task> make_translation_task(const TranslationTaskConfig& config,
                                            const TaskParts& parts);

/// As tokenizer_texts(). @param with_valid the validation split's texts too
std::vector<fs::path> translation_texts(const TranslationTaskConfig& config, TextSide side,
                                        bool with_valid, const fs::path& scratch);

}  // namespace zoo
