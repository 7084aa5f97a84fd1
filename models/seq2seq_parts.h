#pragma once
// What the sequence-to-sequence models share: their checks of what comes in, and scheduled
// sampling.

#include "models/contracts.h"

namespace zoo {

/// @throws ConfigError if a size of `config` is not set yet, or its check() fails
template <class Config>
void require_vocabularies(const Config& config) {
  const auto fail = [](const std::string& problem) {
    throw ConfigError(cat("model \"", Config::kType, "\": ", problem));
  };
  if (const std::string problem = config.check(); !problem.empty()) fail(problem);
  for (const auto& [name, size] : {std::pair{"source_vocab_size", config.source_vocab_size},
                                   std::pair{"vocab_size", config.vocab_size}})
    if (size == 0) fail(cat(name, " is 0; set it, or give a tokenizer that decides it"));
}

/// @param source (B, S)  @param lengths (B)  @throws ShapeError
void require_source(const Tensor& source, const Tensor& lengths, const Seq2Seq& model);

/// @throws ShapeError if `length` tokens are more than the model's targets may have
void require_target_length(int64_t length, const Seq2Seq& model);

/// For each row and step, whether the true token is read: with probability `teacher_forcing`.
/// @param inputs (B, T)  @return (B, T) bool, from torch's default generator
Tensor draw_teacher(const Tensor& inputs, double teacher_forcing);

/// The inputs with the model's own predictions where there is no teacher.
/// @param inputs (B, T)  @param own (B, T), what the model predicts to follow each input
/// @param teacher (B, T) bool; of the first place, the begin token, it is not asked
Tensor mix_in(const Tensor& inputs, const Tensor& own, const Tensor& teacher);

}  // namespace zoo
