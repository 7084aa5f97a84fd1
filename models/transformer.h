#pragma once
// Encoder-decoder Transformer: Vaswani et al. 2017, "Attention Is All You Need", section 3. Every
// part is chosen by config. Letters of the shapes: core/shape.h.

#include "models/contracts.h"
#include "models/transformer_config.h"
#include "nn/block.h"
#include "nn/decoder_block.h"
#include "nn/embedding.h"

namespace zoo {

/// What a Transformer remembers of its source and of the target so far.
struct TransformerState final : DecodeState {
  TransformerState(KvCache kv, SourceRows source_rows)
      : cache(std::move(kv)), rows(std::move(source_rows)) {}
  int64_t length() const override { return cache.length(); }
  int64_t capacity() const override { return cache.capacity(); }
  int64_t batch() const override { return rows.rows(); }
  void reorder(const Tensor& kept) override;

  KvCache cache;  ///< of the target
  SourceRows rows;
  SourceScope source;  ///< keys and values of the sources
};

class Transformer final : public Seq2Seq {
 public:
  /// Allocates the parameters without drawing them (see nn/init.h).
  /// @throws ConfigError if a vocabulary's size is 0 or widths do not fit
  explicit Transformer(const TransformerConfig& config);

  using Seq2Seq::decode;
  using Seq2Seq::encode;
  using Seq2Seq::step;
  Encoded encode(const Tensor& source, const Tensor& lengths, Tap* tap) override;
  /// With teacher forcing below 1 the inputs are mixed with what a first pass over the true ones
  /// predicts, since a Transformer reads all places at once (Mihaylova & Martins 2019, "Scheduled
  /// Sampling for Transformers", section 3).
  Tensor decode(const Encoded& encoded, const Tensor& inputs, const TeachArgs& args) override;
  Tensor logits(const Tensor& hidden) override;
  std::unique_ptr<DecodeState> start(const Encoded& encoded, int64_t capacity) override;
  Tensor step(const Tensor& tokens, DecodeState& state, Tap* tap) override;
  std::shared_ptr<Seq2Seq> replica() const override;
  int64_t source_vocab_size() const override { return config_.source_vocab_size; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_source_length() const override { return config_.max_source_length; }
  int64_t max_length() const override { return config_.max_length; }
  const TransformerConfig& config() const { return config_; }

  Embedding source_embedding{nullptr};  ///< null where it is the target's
  Embedding target_embedding{nullptr};  ///< (V, D)
  Position source_position{nullptr}, target_position{nullptr};
  torch::nn::ModuleList encoder_blocks, decoder_blocks;  ///< BlockImpl, DecoderBlockImpl
  Norm encoder_norm{nullptr}, decoder_norm{nullptr};     ///< null with post-norm
  Linear output{nullptr};                                ///< D to V, null where it is tied
  Tensor output_bias;                                    ///< (V), undefined without

 private:
  AttentionScope scope_for(const PositionImpl& position, const PositionSpan& span) const;
  Tensor embed(const Tensor& tokens, EmbeddingImpl& embedding, const PositionSpan& span,
               const AttentionScope& scope) const;
  SourceScope read_source(const Encoded& encoded);
  Tensor run_decoder(const Tensor& inputs, KvCache* cache, const SourceScope& source,
                     Tap* self_tap);

  TransformerConfig config_;
};

}  // namespace zoo
