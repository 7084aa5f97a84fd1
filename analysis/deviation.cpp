#include "analysis/deviation.h"

#include "analysis/subject.h"
#include "checkpoint/checkpoint.h"

namespace zoo {

namespace {

/// All that the model says to random samples, padded where its kind has padding, as one row.
Tensor said_by(torch::nn::Module& model, const Tokenizer* tokenizer, uint64_t seed) {
  const auto subject = make_subject(model, tokenizer, /*begin=*/0, seed);
  Tables tables;
  try {
    tables = subject->together(Lengths::mixed);
  } catch (const NotApplicable&) {
    tables = subject->together(Lengths::equal);
  }
  for (Tensor& table : tables) table = table.flatten();
  return torch::cat(tables);
}

}  // namespace

Deviation compare_logits(const fs::path& first, const fs::path& second, uint64_t seed) {
  const LoadedModel one = load_model(first), other = load_model(second);
  if (one.config.index() != other.config.index())
    throw ConfigError(cat(utf8(first), " and ", utf8(second), " hold models of different kinds, ",
                          model_type(one.config), " and ", model_type(other.config),
                          "; compare two of one kind"));
  const torch::InferenceMode inference;
  // Of one tokenizer, so that the ids are the same ones.
  const Tensor a = said_by(*one.model, one.tokenizer.get(), seed);
  const Tensor b = said_by(*other.model, one.tokenizer.get(), seed);
  if (a.numel() != b.numel())
    throw ConfigError(cat(utf8(first), " and ", utf8(second), " give ", a.numel(), " and ",
                          b.numel(), " logits for the same inputs; compare two of one shape"));
  return {.largest = (a - b).abs().max().item<double>(), .scale = a.abs().max().item<double>()};
}

}  // namespace zoo
