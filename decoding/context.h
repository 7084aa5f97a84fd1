#pragma once
// Rows of tokens that grow, and the model's logits for what comes next. The searches and samplers
// know no more of a model than this.

#include <memory>
#include <span>
#include <vector>

#include "models/contracts.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

/// Where the window of a row of `length` tokens starts: at 0 while the row fits into `max_length`;
/// when it does not, the older half is dropped at once, so that a cached state serves the next
/// max_length / 2 tokens. A pure function of the row's own length: the same with and without cache,
/// alone and in a batch. Positions count from the window's start.
int64_t window_start(int64_t length, int64_t max_length);

/// Sets a module to evaluation (no dropout), and back at the end of the scope.
class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& module);
  ~EvaluationMode();
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& module_;
  bool was_training_;
};

/// The ids that can be chosen: those below the size of both vocabularies. Embeddings are often
/// padded to a round size; the ids above have no text.
/// @param vocab_size the model's
int64_t known_vocabulary(int64_t vocab_size, const Tokenizer* tokenizer);

/// B rows of tokens and what the model has read of them.
class DecodeContext {
 public:
  /// @param rows B rows, each with at least one token
  explicit DecodeContext(std::vector<std::vector<int64_t>> rows) : rows_(std::move(rows)) {}
  virtual ~DecodeContext() = default;

  /// Logits of each row's next token: (B, V), on the model's device, valid until the next call.
  /// With a cache only the tokens added since the last call are read.
  virtual Tensor next_logits() = 0;

  /// Adds one token to each row. Call next_logits() between two additions.
  void append(std::span<const int64_t> tokens);

  /// Keeps the rows `rows` in that order, repeats allowed: drops finished rows, follows beams.
  void keep(const std::vector<int64_t>& rows);

  int64_t batch() const { return static_cast<int64_t>(rows_.size()); }
  std::span<const int64_t> row(int64_t index) const { return rows_[static_cast<size_t>(index)]; }

 protected:
  /// Moves what was remembered of the rows. @param rows as in keep(), not empty
  virtual void reorder(const std::vector<int64_t>& rows) = 0;
  const std::vector<std::vector<int64_t>>& rows() const { return rows_; }

 private:
  std::vector<std::vector<int64_t>> rows_;
};

/// The tokens of the longest row when row i has grown by limits[i].
int64_t longest_row(const std::vector<std::vector<int64_t>>& rows,
                    const std::vector<int64_t>& limits);

struct ContextOptions {
  int64_t longest = 0;     ///< longest_row()
  int64_t vocabulary = 0;  ///< V, known_vocabulary(): the logits of ids above are left out
  bool use_cache = true;   ///< false: read each row's whole window at every step
};

/// Rows that a decoder-only model continues, with a cache or without one, in a window that slides
/// when a row outgrows the model.
class CausalContext final : public DecodeContext {
 public:
  CausalContext(CausalLm& model, std::vector<std::vector<int64_t>> rows,
                const ContextOptions& options);
  Tensor next_logits() override;

 private:
  void reorder(const std::vector<int64_t>& rows) override;
  Tensor read(const Tensor& tokens, const Tensor& left_pad);
  Tensor read_windows();
  Tensor read_last_tokens();

  CausalLm& model_;
  torch::Device device_;
  ContextOptions options_;
  std::unique_ptr<DecodeState> state_;  // null before the first read and without a cache
  Tensor last_tokens_;                  // (B, 1) int64 on the CPU, reused at each step
};

}  // namespace zoo
