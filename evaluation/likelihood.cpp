#include "evaluation/likelihood.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace zoo {

namespace {

torch::Device device_of(const torch::nn::Module& model) {
  const auto parameters = model.parameters();
  return parameters.empty() ? torch::Device(torch::kCPU) : parameters.front().device();
}

/// Calls use(rows) for batches of like lengths; each row number comes once.
void for_each_batch(const std::vector<int64_t>& lengths, int64_t batch_tokens,
                    const std::function<void(const std::vector<size_t>& rows)>& use) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lengths[a] < lengths[b]; });
  std::vector<size_t> rows;
  for (const size_t row : order) {
    if (!rows.empty() && (std::ssize(rows) + 1) * lengths[row] > batch_tokens) {
      use(rows);
      rows.clear();
    }
    rows.push_back(row);
  }
  if (!rows.empty()) use(rows);
}

/// Rows of ids, padded at the right with 0: (B, T) int64.
Tensor pad(const std::vector<std::vector<int64_t>>& rows) {
  int64_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, std::ssize(row));
  Tensor tokens = torch::zeros({std::ssize(rows), longest}, torch::kInt64);
  auto* next = tokens.mutable_data_ptr<int64_t>();
  for (const auto& row : rows) {
    std::copy(row.begin(), row.end(), next);
    next += longest;
  }
  return tokens;
}

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
  for_each_batch(sizes, batch_tokens, [&](const std::vector<size_t>& rows) {
    std::vector<std::vector<int64_t>> sources, inputs, targets;
    std::vector<int64_t> lengths;
    for (const size_t row : rows) {
      sources.push_back(pairs[row].source);
      targets.push_back(pairs[row].target);
      lengths.push_back(std::ssize(pairs[row].source));
      inputs.push_back({begin});
      inputs.back().insert(inputs.back().end(), targets.back().begin(), targets.back().end() - 1);
    }
    const Tensor logits = model.forward(pad(sources).to(device), torch::tensor(lengths).to(device),
                                        pad(inputs).to(device));  // (B, T, V)
    const Tensor values = chosen(logits, pad(targets).to(device));
    for (size_t i = 0; i < rows.size(); ++i)
      take_row(values, static_cast<int64_t>(i), targets[i].size(), scores[rows[i]]);
  });
  return scores;
}

std::vector<std::vector<double>> token_log_probabilities(
    CausalLm& model, const std::vector<std::vector<int64_t>>& texts, int64_t batch_tokens) {
  const torch::InferenceMode inference;
  std::vector<int64_t> sizes;
  for (const auto& text : texts) sizes.push_back(std::ssize(text));
  std::vector<std::vector<double>> scores(texts.size());
  for_each_batch(sizes, batch_tokens, [&](const std::vector<size_t>& rows) {
    std::vector<std::vector<int64_t>> picked;
    for (const size_t row : rows) picked.push_back(texts[row]);
    const Tensor tokens = pad(picked).to(device_of(model));  // (B, T + 1)
    const int64_t length = tokens.size(1) - 1;
    // Padding stands at the right, where no real token sees it.
    const Tensor values =
        chosen(model.forward(tokens.narrow(1, 0, length)), tokens.narrow(1, 1, length));
    for (size_t i = 0; i < rows.size(); ++i)
      take_row(values, static_cast<int64_t>(i), picked[i].size() - 1, scores[rows[i]]);
  });
  return scores;
}

}  // namespace zoo
