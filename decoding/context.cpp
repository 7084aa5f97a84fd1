#include "decoding/context.h"

#include <algorithm>

namespace zoo {

int64_t window_start(int64_t length, int64_t max_length) {
  if (length <= max_length) return 0;
  const int64_t stride = std::max<int64_t>(1, max_length / 2);
  return (length - max_length + stride - 1) / stride * stride;
}

int64_t known_vocabulary(int64_t vocab_size, const Tokenizer* tokenizer) {
  return tokenizer ? std::min(vocab_size, tokenizer->vocab_size()) : vocab_size;
}

int64_t longest_row(const std::vector<std::vector<int64_t>>& rows,
                    const std::vector<int64_t>& limits) {
  int64_t longest = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    longest = std::max(longest, std::ssize(rows[i]) + limits[i]);
  return longest;
}

EvaluationMode::EvaluationMode(torch::nn::Module& module)
    : module_(module), was_training_(module.is_training()) {
  if (was_training_) module_.eval();
}

EvaluationMode::~EvaluationMode() {
  if (was_training_) module_.train();
}

void DecodeContext::append(std::span<const int64_t> tokens) {
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].push_back(tokens[i]);
}

void DecodeContext::keep(const std::vector<int64_t>& rows) {
  bool identity = std::ssize(rows) == batch();
  for (size_t i = 0; i < rows.size(); ++i) identity &= rows[i] == static_cast<int64_t>(i);
  if (identity) return;
  std::vector<std::vector<int64_t>> kept;
  kept.reserve(rows.size());
  for (const int64_t index : rows) kept.push_back(rows_[static_cast<size_t>(index)]);
  rows_ = std::move(kept);
  if (!rows_.empty()) reorder(rows);
}

CausalContext::CausalContext(CausalLm& model, std::vector<std::vector<int64_t>> rows,
                             const ContextOptions& options)
    : DecodeContext(std::move(rows)),
      model_(model),
      device_(device_of(model)),
      options_(options),
      last_tokens_(torch::zeros({batch(), 1}, torch::kInt64)) {}

Tensor CausalContext::next_logits() {
  // A state that is full belongs to a row whose window slides now, or to padding of rows that are
  // gone: both are read anew, each row in its own window.
  return state_ && state_->length() < state_->capacity() ? read_last_tokens() : read_windows();
}

/// @param tokens (B, T)  @param left_pad (B), or undefined  @return (B, V)
Tensor CausalContext::read(const Tensor& tokens, const Tensor& left_pad) {
  const DecodeArgs args{.state = state_.get(), .left_pad = left_pad, .last_only = true};
  return model_.forward(tokens.to(device_), args).select(1, 0).narrow(1, 0, options_.vocabulary);
}

Tensor CausalContext::read_last_tokens() {
  auto* next = last_tokens_.data_ptr<int64_t>();
  for (const std::vector<int64_t>& row : rows()) *next++ = row.back();
  return read(last_tokens_.narrow(0, 0, batch()), {});
}

Tensor CausalContext::read_windows() {
  const int64_t max_length = model_.max_length();
  int64_t longest = 0;
  for (const std::vector<int64_t>& row : rows())
    longest = std::max(longest, std::ssize(row) - window_start(std::ssize(row), max_length));

  Tensor tokens = torch::zeros({batch(), longest}, torch::kInt64);  // (B, T), padded at the left
  Tensor left_pad = torch::zeros({batch()}, torch::kInt64);         // (B)
  bool padded = false;
  for (int64_t i = 0; i < batch(); ++i) {
    const std::span<const int64_t> window =
        row(i).subspan(static_cast<size_t>(window_start(std::ssize(row(i)), max_length)));
    const int64_t padding = longest - std::ssize(window);
    std::copy(window.begin(), window.end(), tokens.data_ptr<int64_t>() + i * longest + padding);
    left_pad.data_ptr<int64_t>()[i] = padding;
    padded |= padding > 0;
  }

  state_.reset();  // frees the old one before the new one is allocated
  if (options_.use_cache) state_ = model_.start(batch(), std::min(options_.longest, max_length));
  return read(tokens, padded ? left_pad.to(device_) : Tensor());
}

void CausalContext::reorder(const std::vector<int64_t>& rows) {
  if (last_tokens_.size(0) < batch()) last_tokens_ = torch::zeros({batch(), 1}, torch::kInt64);
  if (state_) state_->reorder(torch::tensor(rows, torch::kInt64).to(device_));
}

}  // namespace zoo
