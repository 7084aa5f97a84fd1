#include "evaluation/text_batches.h"

#include <algorithm>

#include "core/token_rows.h"
#include "nn/pooling.h"

namespace zoo {

namespace {

/// A row for each text. @param compute (batch) to (B, W)  @return (N, W), float32 on the CPU
Tensor rows_of_texts(TextEncoder& model, const std::vector<TextRow>& texts, int64_t batch_tokens,
                     const std::function<Tensor(const TextBatch&)>& compute) {
  const torch::InferenceMode inference;
  Tensor all;
  for_each_text_batch(texts, batch_tokens, device_of(model),
                      [&](const std::vector<size_t>& which, const TextBatch& batch) {
                        const Tensor rows = compute(batch).to(torch::kCPU, torch::kFloat32);
                        if (!all.defined())
                          all = torch::empty({std::ssize(texts), rows.size(1)}, torch::kFloat32);
                        const std::vector<int64_t> places(which.begin(), which.end());
                        all.index_copy_(0, torch::tensor(places), rows);
                      });
  return all;
}

}  // namespace

TextBatch pad_texts(const std::vector<TextRow>& rows) {
  std::vector<std::span<const int64_t>> ids;
  std::vector<int64_t> lengths, firsts;
  bool pairs = false;
  for (const TextRow& row : rows) {
    ids.push_back(row.ids);
    lengths.push_back(std::ssize(row.ids));
    firsts.push_back(row.first_length);
    pairs = pairs || row.first_length < std::ssize(row.ids);
  }
  TextBatch batch{pad_rows(ids), {}, torch::tensor(lengths, torch::kInt64)};
  if (pairs) {
    const Tensor places = torch::arange(batch.tokens.size(1));               // (T)
    const Tensor first = torch::tensor(firsts, torch::kInt64).unsqueeze(1);  // (B, 1)
    batch.segments = places.ge(first).to(torch::kInt64);                     // (B, T)
  }
  return batch;
}

void for_each_text_batch(
    const std::vector<TextRow>& texts, int64_t batch_tokens, torch::Device device,
    const std::function<void(const std::vector<size_t>& which, const TextBatch& batch)>& use) {
  std::vector<int64_t> lengths;
  for (const TextRow& text : texts) lengths.push_back(std::ssize(text.ids));
  for (const std::vector<size_t>& which : batches_of_like_length(lengths, batch_tokens)) {
    std::vector<TextRow> rows;
    for (const size_t row : which) rows.push_back(texts[row]);
    TextBatch batch = pad_texts(rows);
    batch.tokens = batch.tokens.to(device);
    batch.lengths = batch.lengths.to(device);
    if (batch.segments.defined()) batch.segments = batch.segments.to(device);
    use(which, batch);
  }
}

Tensor text_vectors(TextEncoder& model, const std::vector<TextRow>& texts,
                    std::optional<Pooling> pooling, int64_t batch_tokens) {
  return rows_of_texts(model, texts, batch_tokens, [&](const TextBatch& batch) {
    const Tensor hidden = model.encode(batch);  // (B, T, D)
    return pooling ? pool_tokens(hidden, batch.lengths, *pooling)
                   : model.pool(hidden, batch.lengths);
  });
}

Tensor class_logits(TextEncoder& model, const std::vector<TextRow>& texts, int64_t batch_tokens) {
  return rows_of_texts(model, texts, batch_tokens, [&](const TextBatch& batch) {
    return model.logits(model.encode(batch), batch.lengths);
  });
}

std::vector<Tensor> tag_logits(TextEncoder& model, const std::vector<TextRow>& texts,
                               int64_t batch_tokens) {
  const torch::InferenceMode inference;
  std::vector<Tensor> all(texts.size());
  for_each_text_batch(texts, batch_tokens, device_of(model),
                      [&](const std::vector<size_t>& which, const TextBatch& batch) {
                        const Tensor logits = model.logits(model.encode(batch), batch.lengths)
                                                  .to(torch::kCPU, torch::kFloat32);  // (B, T, C)
                        for (size_t row = 0; row < which.size(); ++row)
                          all[which[row]] = logits[static_cast<int64_t>(row)].narrow(
                              0, 0, std::ssize(texts[which[row]].ids));
                      });
  return all;
}

}  // namespace zoo
