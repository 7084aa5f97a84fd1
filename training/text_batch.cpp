#include "training/text_batch.h"

#include <algorithm>

#include "evaluation/text_batches.h"

namespace zoo {

void fill_text_batch(Batch& batch, const std::vector<EncodedText>& texts,
                     const std::vector<std::vector<int64_t>>& targets, bool for_each_token) {
  std::vector<TextRow> rows;
  for (const EncodedText& text : texts) rows.push_back({text.ids, text.first_length});
  TextBatch padded = pad_texts(rows);
  batch.inputs = padded.tokens;
  batch.segments = padded.segments;
  batch.lengths = padded.lengths;
  batch.examples = std::ssize(texts);
  const int64_t length = for_each_token ? padded.tokens.size(1) : 1;
  batch.targets = torch::full({batch.examples, length}, kNoTarget, torch::kInt64);
  auto* target = batch.targets.mutable_data_ptr<int64_t>();
  for (const std::vector<int64_t>& row : targets) {
    std::copy(row.begin(), row.end(), target);
    target += length;
    batch.target_count += std::ssize(row) - std::count(row.begin(), row.end(), kNoTarget);
  }
  if (!for_each_token) batch.targets = batch.targets.squeeze(1);
  for (const EncodedText& text : texts) batch.token_count += std::ssize(text.ids);
}

}  // namespace zoo
