#pragma once
// A language model whose logits are a function of the tokens it sees: decoding can be tested
// exactly, without weights and without rounding.

#include <functional>
#include <utility>

#include "core/error.h"
#include "models/contracts.h"
#include "tests/support/model_a.h"

namespace zoo::testing {

using Ids = std::vector<int64_t>;

class FunctionState final : public DecodeState {
 public:
  FunctionState(int64_t batch, int64_t capacity)
      : rows(static_cast<size_t>(batch)), max(capacity) {}
  int64_t length() const override { return std::ssize(rows.front()); }
  int64_t capacity() const override { return max; }
  int64_t batch() const override { return std::ssize(rows); }
  void reorder(const Tensor& indices) override {
    std::vector<Ids> new_rows;
    Ids new_pads;
    for (int64_t i = 0; i < indices.size(0); ++i) {
      new_rows.push_back(rows.at(static_cast<size_t>(indices[i].item<int64_t>())));
      new_pads.push_back(left_pad.at(static_cast<size_t>(indices[i].item<int64_t>())));
    }
    rows = std::move(new_rows);
    left_pad = std::move(new_pads);
  }

  std::vector<Ids> rows;  // padding included
  Ids left_pad;
  int64_t max;
};

class FunctionLm final : public CausalLm {
 public:
  /// The V logits after the tokens seen, padding left out.
  using Function = std::function<std::vector<float>(std::span<const int64_t>)>;

  FunctionLm(int64_t vocab_size, int64_t max_length, Function function)
      : vocab_size_(vocab_size), max_length_(max_length), function_(std::move(function)) {}

  Tensor forward(const Tensor& tokens, const DecodeArgs& args) override {
    FunctionState fresh(tokens.size(0), max_length_);
    FunctionState& state = args.state ? dynamic_cast<FunctionState&>(*args.state) : fresh;
    if (state.length() == 0) {
      state.left_pad.assign(state.rows.size(), 0);
      if (args.left_pad.defined())
        for (size_t i = 0; i < state.rows.size(); ++i)
          state.left_pad[i] = args.left_pad[static_cast<int64_t>(i)].item<int64_t>();
    }
    if (!args.last_only || state.batch() != tokens.size(0) ||
        state.length() + tokens.size(1) > state.max)
      throw ShapeError("FunctionLm: a call that decoding should not make");
    Tensor logits = torch::empty({tokens.size(0), 1, vocab_size_});
    for (int64_t i = 0; i < tokens.size(0); ++i) {
      Ids& row = state.rows[static_cast<size_t>(i)];
      for (int64_t t = 0; t < tokens.size(1); ++t) row.push_back(tokens[i][t].item<int64_t>());
      const auto seen = std::span<const int64_t>(row).subspan(
          static_cast<size_t>(state.left_pad[static_cast<size_t>(i)]));
      logits[i][0] = torch::tensor(function_(seen));
    }
    ++calls;
    rows_read += tokens.size(0);
    tokens_read += tokens.numel();
    return logits;
  }

  std::unique_ptr<DecodeState> start(int64_t batch, int64_t capacity) const override {
    ++states;
    return std::make_unique<FunctionState>(batch, capacity);
  }

  int64_t vocab_size() const override { return vocab_size_; }
  int64_t max_length() const override { return max_length_; }

  mutable int64_t states = 0;
  int64_t calls = 0, rows_read = 0, tokens_read = 0;

 private:
  int64_t vocab_size_, max_length_;
  Function function_;
};

/// Logits that depend on every token seen and its place, spread like those of a trained model.
inline FunctionLm::Function hashed_logits(int64_t vocab_size) {
  return [vocab_size](std::span<const int64_t> seen) {
    uint64_t hash = 14695981039346656037u;
    for (const int64_t id : seen) hash = (hash ^ static_cast<uint64_t>(id + 1)) * 1099511628211u;
    std::vector<float> logits;
    for (int64_t id = 0; id < vocab_size; ++id) {
      hash = (hash ^ static_cast<uint64_t>(id)) * 1099511628211u;
      logits.push_back(static_cast<float>(hash >> 40) / static_cast<float>(1 << 22));  // [0, 4)
    }
    return logits;
  };
}

/// Model A (tests/support/model_a.h) as a function: the same distribution, with no weights.
inline FunctionLm::Function model_a_logits() {
  return [](std::span<const int64_t> seen) {
    std::vector<float> logits;
    for (int64_t next = 0; next < 4; ++next)
      logits.push_back(static_cast<float>(model_a_log_probability(seen.back(), next)));
    return logits;
  };
}

}  // namespace zoo::testing
