#pragma once
// Encoder that reads both ways: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional
// Transformers for Language Understanding". Every part is chosen by config. Letters of the shapes:
// core/shape.h; C is the number of classes.

#include "models/bert_config.h"
#include "models/contracts.h"
#include "nn/block.h"
#include "nn/embedding.h"

namespace zoo {

class Bert final : public TextEncoder {
 public:
  /// Allocates the parameters without drawing them (see nn/init.h).
  /// @throws ConfigError if vocab_size is 0, a head has no labels or widths do not fit
  explicit Bert(const BertConfig& config);

  using TextEncoder::encode;
  Tensor encode(const TextBatch& batch, Tap* tap) override;
  Tensor pool(const Tensor& hidden, const Tensor& lengths) override;
  Tensor logits(const Tensor& hidden, const Tensor& lengths) override;
  Tensor next_sentence_logits(const Tensor& hidden, const Tensor& lengths) override;
  std::shared_ptr<TextEncoder> replica() const override;
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_length() const override { return config_.max_length; }
  const TextHeadConfig& head() const override { return config_.head; }
  const BertConfig& config() const { return config_; }

  Embedding token_embedding{nullptr};    ///< (V, D)
  Embedding segment_embedding{nullptr};  ///< null without segments
  Position position{nullptr};
  Norm embedding_norm{nullptr};  ///< null if the config says so
  torch::nn::ModuleList blocks;  ///< L times BlockImpl
  Norm final_norm{nullptr};      ///< null with post-norm, whose last block ends in one
  Linear pooler{nullptr};        ///< D to D, null where nothing reads it
  Linear transform{nullptr};     ///< D to D, before the output: of a masked language model
  Norm transform_norm{nullptr};
  Linear output{nullptr};         ///< D to V, null with tied embeddings
  Tensor output_bias;             ///< (V)
  Linear next_sentence{nullptr};  ///< D to 2
  Linear classifier{nullptr};     ///< D to C: of a classifier or a tagger

 private:
  Tensor drop(const Tensor& x, double rate) const;

  BertConfig config_;
};

}  // namespace zoo
