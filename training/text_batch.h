#pragma once
// What the tasks of text encoders have in common.

#include "models/contracts.h"
#include "tokenizer/text_input.h"
#include "training/task.h"

namespace zoo {

/// The texts of a batch, as the model reads them.
inline TextBatch text_batch(const Batch& batch) {
  return {batch.inputs, batch.segments, batch.lengths};
}

/// Sets inputs, segments, lengths, targets and the counts of a batch, on the CPU.
/// @param targets of each text: one for the whole text, for targets of shape (B), or one for each
/// token, for (B, T)
void fill_text_batch(Batch& batch, const std::vector<EncodedText>& texts,
                     const std::vector<std::vector<int64_t>>& targets, bool for_each_token);

/// The model's head as the task needs it. @throws ConfigError if it is another one
template <class Head>
const Head& require_head(const TextEncoder& model, std::string_view task) {
  if (const auto* head = std::get_if<Head>(&model.head())) return *head;
  throw ConfigError(cat("model.head: is of type \"",
                        std::visit([](const auto& head) { return head.kType; }, model.head()),
                        "\", but the task ", task, " needs \"", Head::kType,
                        "\"; set model.head.type to that"));
}

}  // namespace zoo
