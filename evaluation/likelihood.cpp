#include "evaluation/likelihood.h"

#include <algorithm>

#include "core/token_rows.h"

namespace zoo {

namespace {

/// ln p of the targets. @param logits (B, T, V)  @param targets (B, T)  @return (B, T) float64, CPU
Tensor chosen(const Tensor& logits, const Tensor& targets) {
  const Tensor wide = logits.to(torch::kFloat32);
  const Tensor picked = wide.gather(2, targets.unsqueeze(2)).squeeze(2);  // (B, T)
  return (picked - wide.logsumexp(2)).to(torch::kCPU, torch::kFloat64).contiguous();
}

void take_row(const Tensor& values, int64_t row, size_t count, std::vector<double>& out) {
  const double* first = values.const_data_ptr<double>() + row * values.size(1);
  out.assign(first, first + count);
}

}  // namespace

std::vector<std::vector<double>> target_log_probabilities(Seq2Seq& model,
                                                          const std::vector<LikelihoodPair>& pairs,
                                                          int64_t begin, int64_t batch_tokens) {
  const torch::InferenceMode inference;
  const torch::Device device = device_of(model);
  std::vector<int64_t> sizes;
  for (const LikelihoodPair& pair : pairs)
    sizes.push_back(static_cast<int64_t>(std::max(pair.source.size(), pair.target.size())));
  std::vector<std::vector<double>> scores(pairs.size());
  for (const std::vector<size_t>& rows : batches_of_like_length(sizes, batch_tokens)) {
    std::vector<std::span<const int64_t>> sources, targets;
    std::vector<int64_t> lengths;
    for (const size_t row : rows) {
      sources.emplace_back(pairs[row].source);
      targets.emplace_back(pairs[row].target);
      lengths.push_back(std::ssize(pairs[row].source));
    }
    const Tensor wanted = pad_rows(targets).to(device);  // (B, T)
    // The begin token, then the target without its last token; what padding reads is of no meaning.
    const Tensor inputs = wanted.roll(1, 1);
    inputs.select(1, 0).fill_(begin);
    const Tensor logits = model.forward(pad_rows(sources).to(device),
                                        torch::tensor(lengths).to(device), inputs);  // (B, T, V)
    const Tensor values = chosen(logits, wanted);
    for (size_t i = 0; i < rows.size(); ++i)
      take_row(values, static_cast<int64_t>(i), targets[i].size(), scores[rows[i]]);
  }
  return scores;
}

std::vector<std::vector<double>> token_log_probabilities(
    CausalLm& model, const std::vector<std::vector<int64_t>>& texts, int64_t batch_tokens) {
  const torch::InferenceMode inference;
  std::vector<int64_t> sizes;
  for (const auto& text : texts) sizes.push_back(std::ssize(text));
  std::vector<std::vector<double>> scores(texts.size());
  const torch::Device device = device_of(model);
  for (const std::vector<size_t>& rows : batches_of_like_length(sizes, batch_tokens)) {
    std::vector<std::span<const int64_t>> picked;
    for (const size_t row : rows) picked.emplace_back(texts[row]);
    const Tensor tokens = pad_rows(picked).to(device);  // (B, T + 1)
    const int64_t length = tokens.size(1) - 1;
    // Padding stands at the right, where no real token sees it.
    const Tensor values =
        chosen(model.forward(tokens.narrow(1, 0, length)), tokens.narrow(1, 1, length));
    for (size_t i = 0; i < rows.size(); ++i)
      take_row(values, static_cast<int64_t>(i), picked[i].size() - 1, scores[rows[i]]);
  }
  return scores;
}

}  // namespace zoo
