#pragma once
// What `eval` prints of a model that tells classes.

#include <string>
#include <vector>

#include "cli/eval_model.h"
#include "core/json.h"
#include "evaluation/confusion.h"

namespace zoo::cli {

/// accuracy, F1s, Matthews, the table of classes and the confusion matrix: the ones that --metrics
/// names, as text or added to `result` and printed as JSON.
/// @param things "texts", "words", "pictures": what was counted
/// @return the exit code, by --min-score
int report_classes(const EvalFlags& flags, bool json, const Confusion& confusion,
                   const std::vector<std::string>& labels, const std::string& things, Json result);

}  // namespace zoo::cli
