#pragma once
// The tasks of decoder-only language models.

#include "training/tasks.h"

namespace zoo {

/// @throws as make_task()
std::unique_ptr<Task> make_language_model_task(const LanguageModelTaskConfig& config,
                                               const TaskParts& parts);
std::unique_ptr<Task> make_completion_task(const CompletionTaskConfig& config,
                                           const TaskParts& parts);

}  // namespace zoo
