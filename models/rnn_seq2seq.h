#pragma once
// Recurrent encoder-decoder: Sutskever et al. 2014; Cho et al. 2014; with attention Bahdanau et al.
// 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", and Luong et al.
// 2015, "Effective Approaches to Attention-based Neural Machine Translation". Letters of the
// shapes: core/shape.h; here D is the width of the readout, H that of the decoder's state.

#include "models/contracts.h"
#include "models/rnn_seq2seq_config.h"
#include "nn/embedding.h"
#include "nn/recurrent.h"
#include "nn/source_attention.h"

namespace zoo {

class RnnSeq2Seq final : public Seq2Seq {
 public:
  /// Allocates the parameters without drawing them (see nn/init.h).
  /// @throws ConfigError if a vocabulary's size is 0 or widths do not fit
  explicit RnnSeq2Seq(const RnnSeq2SeqConfig& config);

  using Seq2Seq::decode;
  using Seq2Seq::encode;
  using Seq2Seq::step;
  /// summary: the decoder's first state, (1, L, B, H), or (2, L, B, H) with an LSTM's cells.
  Encoded encode(const Tensor& source, const Tensor& lengths, Tap* tap) override;
  Tensor decode(const Encoded& encoded, const Tensor& inputs, const TeachArgs& args) override;
  Tensor logits(const Tensor& hidden) override;
  std::unique_ptr<DecodeState> start(const Encoded& encoded, int64_t capacity) override;
  Tensor step(const Tensor& tokens, DecodeState& state, Tap* tap) override;
  std::shared_ptr<Seq2Seq> replica() const override;
  int64_t source_vocab_size() const override { return config_.source_vocab_size; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_source_length() const override { return config_.max_source_length; }
  int64_t max_length() const override { return config_.max_length; }
  const RnnSeq2SeqConfig& config() const { return config_; }

  Embedding source_embedding{nullptr};  ///< null where it is the target's
  Embedding target_embedding{nullptr};
  Recurrent encoder{nullptr}, decoder{nullptr};
  Linear bridge{nullptr}, bridge_cell{nullptr};  ///< M to L H; null where nothing is projected
  SourceScore attention{nullptr};                ///< null without attention
  Linear readout{nullptr};                       ///< null where the state is read; to D, or 2 D
  Linear output{nullptr};                        ///< D to V, null where it is tied

 private:
  struct Decoding;  // what the steps of one target share and carry on
  struct Found;     // what one step finds
  class State;

  Tensor embed(const Tensor& tokens, EmbeddingImpl& embedding) const;
  Tensor known_inputs(const Tensor& embedded, const Tensor& vector) const;
  Tensor readout_input(const Tensor& hidden, const Tensor& context, const Tensor& embedded) const;
  Tensor bend(const Tensor& products) const;
  Tensor drop_output(const Tensor& read) const;
  Decoding begin(const Encoded& encoded);
  Found advance(Decoding& decoding, const Tensor& gates, const Tensor& embedded,
                bool want_read) const;
  Found decode_at_once(Decoding& decoding, const Tensor& inputs);
  Found decode_stepwise(Decoding& decoding, const Tensor& inputs, const Tensor& teacher);

  RnnSeq2SeqConfig config_;
};

}  // namespace zoo
