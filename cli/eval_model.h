#pragma once
// What the modes of transformer-cli eval that measure a model share.

#include "checkpoint/checkpoint.h"
#include "cli/eval.h"

namespace zoo::cli {

/// What is evaluated: texts or one packed file, of which a share at the end may be meant.
struct EvalData {
  std::vector<fs::path> files;
  double tail = 1;  ///< share of the text, at the end
  bool completion = false;
};

/// The files that --data names: itself, or "valid" and "test", which the model's own task knows.
/// @throws DataError, ConfigError if there are none
EvalData find_eval_data(const EvalFlags& flags, const LoadedModel& loaded, bool completion);

/// Whether a model is given that has this kind of config.
template <class Config>
bool evaluates(const EvalFlags& flags) {
  return !flags.model.empty() &&
         std::holds_alternative<Config>(load_config(utf8_path(flags.model)));
}

/// The model and the files, the head of a result in JSON.
Json describe_eval(const EvalFlags& flags, const EvalData& data);

/// The metrics of --metrics, all `known` ones without it. @param aliases other names of some
/// @throws ConfigError for another name
std::vector<std::string> chosen_metrics(
    const EvalFlags& flags, const std::vector<std::string>& known,
    const std::vector<std::pair<std::string, std::string>>& aliases = {});

/// The exit code, for --min-score. @throws NumericError if `value` is worse than the gate
int pass_gate(const EvalFlags& flags, const std::string& metric, double value,
              bool small_is_better);

}  // namespace zoo::cli
