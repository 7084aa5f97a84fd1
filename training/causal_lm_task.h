#pragma once
// The tasks of decoder-only language models.

#include <functional>

#include "models/contracts.h"
#include "tokenizer/tokenizer.h"
#include "training/config.h"
#include "training/task.h"

namespace zoo {

struct CausalLmTaskOptions {
  std::shared_ptr<CausalLm> model;
  std::shared_ptr<const Tokenizer> tokenizer;
  const TrainingConfig* training = nullptr;  ///< must outlive the task
  torch::Device device = torch::kCPU;
  fs::path cache;  ///< folder for packed tokens, where the config names none
  std::function<void(const std::string&)> notice = [](const std::string&) {};
};

/// Reads and packs the data that `config` names.
/// @throws ConfigError, DataError
std::unique_ptr<Task> make_task(const TaskConfig& config, const CausalLmTaskOptions& options);

/// The text files that a new tokenizer for the task learns from: those of `train`; for `char`,
/// whose tokens are an alphabet and no statistics, those of `valid` too.
/// @throws ConfigError if there are none or they are packed already, DataError if one is missing
std::vector<fs::path> tokenizer_texts(const TaskConfig& task, const TokenizerConfig& tokenizer);

}  // namespace zoo
