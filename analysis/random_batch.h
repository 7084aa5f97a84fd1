#pragma once
// A batch of random tokens or pixels for any model, to measure what training on it costs.

#include "models/zoo.h"

namespace zoo {

class RandomBatch {
 public:
  /// Draws from torch's default generator.
  /// @param model of `config`, which must outlive this  @param batch sequences or pictures
  /// @param tokens of each; of an encoder-decoder, of the source and of the target; pictures have
  /// as many as their patches make
  /// @throws ConfigError for a model of no contract
  RandomBatch(torch::nn::Module& model, const ModelConfig& config, int64_t batch, int64_t tokens);

  /// The sum of the losses of all targets, as training takes it: the next token, the token behind
  /// each [MASK] (15 % of the places), the class. Of a model without a head, the sum of its
  /// vectors.
  /// @return scalar with gradient
  Tensor loss() const;
  /// Tokens that the model reads, of one side.
  int64_t tokens() const { return batch_ * tokens_; }

 private:
  Tensor loss_of(CausalLm& model) const;
  Tensor loss_of(Seq2Seq& model) const;
  Tensor loss_of(TextEncoder& model) const;
  Tensor loss_of(ImageEncoder& model) const;

  torch::nn::Module& model_;
  int64_t batch_, tokens_;
  Tensor inputs_;   // (B, T) int64, or (B, X, Y, Z)
  Tensor source_;   // (B, T) int64
  Tensor lengths_;  // (B) int64, all T
  Tensor targets_;  // int64, one for each row of logits
};

}  // namespace zoo
