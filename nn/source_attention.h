#pragma once
// Attention of a recurrent decoder to its source: Bahdanau et al. 2015; Luong et al. 2015, section
// 3.1. One head; the values are the encoder's vectors themselves.

#include "nn/attend.h"
#include "nn/config.h"
#include "nn/linear.h"
#include "nn/source_rows.h"
#include "nn/step_product.h"

namespace zoo {

/// The slot of the scores.
class SourceScoreImpl : public torch::nn::Module {
 public:
  /// What the scores need of the source, computed once. @param memory (B, S, M)  @return (B, S, A)
  virtual Tensor keys(const Tensor& memory) = 0;
  /// The scores of one source against keys(); made once, asked for each step.
  class Steps {
   public:
    virtual ~Steps() = default;
    virtual Tensor operator()(const Tensor& query) const = 0;  ///< (B, T, D) to (B, T, S)
  };
  /// @param keys (B, S, A)
  virtual std::unique_ptr<Steps> steps(const Tensor& keys) const = 0;
};
TORCH_MODULE(SourceScore);

struct SourceAttentionShape {
  int64_t d_query, d_memory;  ///< D of the decoder's state, M of the encoder's vectors
};

/// The variant that `config` names; null for none. @throws ConfigError if the widths do not suit it
SourceScore make_source_score(const SourceAttentionConfig& config,
                              const SourceAttentionShape& shape);

/// A source as the decoder's steps look at it.
class SourceView {
 public:
  SourceView() = default;
  /// @param memory (B, S, M)  @param lengths (B) int64
  SourceView(SourceScoreImpl& score, const Tensor& memory, const Tensor& lengths);

  /// softmax(scores) memory, over real tokens.
  /// @param query (B, T, D)  @return output (B, T, M), weights (B, T, S)
  Attended attend(const Tensor& query) const;
  /// Keeps the sources `kept` (P') int64 with the first `longest` of their tokens.
  void keep(const SourceScoreImpl& score, const Tensor& kept, int64_t longest);

 private:
  void prepare(const SourceScoreImpl& score);

  Tensor memory_, keys_, lengths_;
  Tensor padding_;  // (B, 1, S) bool, undefined where there is none
  std::shared_ptr<const SourceScoreImpl::Steps> scores_;
  StepProduct values_;
};

}  // namespace zoo
