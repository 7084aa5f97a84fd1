#pragma once
// The list of tasks, and what they are made of.

#include <functional>
#include <memory>
#include <string>

#include "models/contracts.h"
#include "tokenizer/tokenizer.h"
#include "training/config.h"
#include "training/task.h"

namespace zoo {

struct TaskParts {
  std::shared_ptr<torch::nn::Module> model;           ///< of the kind that the task learns
  std::shared_ptr<const Tokenizer> tokenizer;         ///< of what the model writes
  std::shared_ptr<const Tokenizer> source_tokenizer;  ///< of what a Seq2Seq reads; null: the same
  const TrainingConfig* training = nullptr;           ///< must outlive the task
  torch::Device device = torch::kCPU;
  fs::path cache;  ///< folder for packed tokens, where the config names none
  std::function<void(const std::string&)> notice = [](const std::string&) {};
};

/// Reads and packs the data that `config` names.
/// @throws ConfigError: a model or tokenizer that does not fit the task, no files · DataError
std::unique_ptr<Task> make_task(const TaskConfig& config, const TaskParts& parts);

/// Fills what the data decide: labels of a head that names none become those of task.train.
/// @throws DataError: files or lines that cannot be read
void fit_to_data(ModelConfig& model, const TaskConfig& task);

/// Which texts a tokenizer is for.
enum class TextSide { both, source, target };

/// The text files that a new tokenizer for the task learns from: those of `train`; for `char`,
/// whose tokens are an alphabet and no statistics, those of `valid` too.
/// @param side source and target are those of a translation  @param scratch a folder for columns of
/// files that hold more than text
/// @throws ConfigError if there are none, they are packed already or have no sides; DataError if
/// one is missing
std::vector<fs::path> tokenizer_texts(const TaskConfig& task, const TokenizerConfig& tokenizer,
                                      TextSide side, const fs::path& scratch);

}  // namespace zoo
