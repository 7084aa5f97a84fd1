#pragma once
// The tasks of text encoders: masked_lm, text_classification and tagging.

#include "training/tasks.h"

namespace zoo {

std::unique_ptr<Task> make_masked_lm_task(const MaskedLmTaskConfig& config, const TaskParts& parts);
std::unique_ptr<Task> make_text_classification_task(const TextClassificationTaskConfig& config,
                                                    const TaskParts& parts);
std::unique_ptr<Task> make_tagging_task(const TaggingTaskConfig& config, const TaskParts& parts);

}  // namespace zoo
