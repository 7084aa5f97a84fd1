#pragma once
// The task image_classification.

#include "training/tasks.h"

namespace zoo {

/// The names of the classes of task.train's pictures. @throws ConfigError if it names none,
/// DataError
std::vector<std::string> labels_of_pictures(const ImageClassificationTaskConfig& config);

std::unique_ptr<Task> make_image_classification_task(const ImageClassificationTaskConfig& config,
                                                     const TaskParts& parts);

}  // namespace zoo
