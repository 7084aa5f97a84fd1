#pragma once
// Many texts through an encoder, batch by batch.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "models/contracts.h"

namespace zoo {

/// A text or a pair of texts as ids.
struct TextRow {
  std::span<const int64_t> ids;
  int64_t first_length = 0;  ///< ids of the first text of a pair; all of them where there is one
};

/// Rows padded at the right, on the CPU; segments are defined where a row has a second text.
TextBatch pad_texts(const std::vector<TextRow>& rows);

/// Calls use(which, batch) for all texts, those of like length together, in batches of at most
/// `batch_tokens` tokens, padding included, or of a single text.
/// @param which numbers of the batch's texts  @param device where the batch lies
void for_each_text_batch(
    const std::vector<TextRow>& texts, int64_t batch_tokens, torch::Device device,
    const std::function<void(const std::vector<size_t>& which, const TextBatch& batch)>& use);

/// A vector for each text: (N, D) on the CPU, float32. Inference only.
/// @param pooling of the last hidden states; none: as the model pools
Tensor text_vectors(TextEncoder& model, const std::vector<TextRow>& texts,
                    std::optional<Pooling> pooling = std::nullopt, int64_t batch_tokens = 8192);

/// Logits of each text's classes: (N, C) on the CPU, float32. Inference only.
Tensor class_logits(TextEncoder& model, const std::vector<TextRow>& texts,
                    int64_t batch_tokens = 8192);

/// Logits of the tags at each text's tokens: N times (T, C) on the CPU, float32. Inference only.
std::vector<Tensor> tag_logits(TextEncoder& model, const std::vector<TextRow>& texts,
                               int64_t batch_tokens = 8192);

}  // namespace zoo
