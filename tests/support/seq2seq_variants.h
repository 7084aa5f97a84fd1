#pragma once
// Tiny encoder-decoders in all their variants. No torch in this header.

#include <string>
#include <vector>

#include "models/model_config.h"

namespace zoo::testing {

constexpr int64_t kTinyVocab = 23, kTinySourceVocab = 19;

inline TransformerConfig tiny_transformer() {
  TransformerConfig config = TransformerConfig::preset("tiny");
  config.source_vocab_size = kTinySourceVocab;
  config.vocab_size = kTinyVocab;
  config.tie_embeddings = EmbeddingTying::target;
  config.max_source_length = config.max_length = 16;
  config.encoder_layers = config.decoder_layers = 2;
  config.d_model = 16;
  config.dropout = {};
  return config;
}

inline RnnSeq2SeqConfig tiny_rnn() {
  RnnSeq2SeqConfig config;
  config.source_vocab_size = kTinySourceVocab;
  config.vocab_size = kTinyVocab;
  config.max_source_length = config.max_length = 16;
  config.d_embedding = 10;
  config.d_encoder = 6;
  config.d_hidden = 12;
  return config;
}

/// A config and a name for it.
struct Seq2SeqVariant {
  std::string name;
  ModelConfig config;
};

/// Every part of both models at least once.
inline std::vector<Seq2SeqVariant> seq2seq_variants() {
  std::vector<Seq2SeqVariant> all;
  const auto transformer = [&](const std::string& name, auto change) {
    TransformerConfig config = tiny_transformer();
    change(config);
    all.push_back({"transformer_" + name, config});
  };
  transformer("pre", [](auto&) {});
  transformer("post", [](auto& c) { c.block.placement = NormPlacement::post; });
  transformer("learned", [](auto& c) { c.position = LearnedPositionConfig{}; });
  transformer("rope", [](auto& c) { c.position = RopePositionConfig{}; });
  transformer("alibi", [](auto& c) { c.position = AlibiPositionConfig{}; });
  transformer("untied", [](auto& c) { c.tie_embeddings = EmbeddingTying::none; });
  transformer("all_tied", [](auto& c) {
    c.tie_embeddings = EmbeddingTying::all;
    c.source_vocab_size = c.vocab_size;
  });
  transformer("marian", [](auto& c) {
    c.block.placement = NormPlacement::post;
    c.position = SinusoidalPositionConfig{.layout = SinusoidalLayout::halves};
    c.output_bias = true;
  });
  transformer("modern", [](auto& c) {
    c.block.norm = RmsNormConfig{};
    c.block.attention = {.num_heads = 4, .num_kv_heads = 2, .bias = true, .qk_norm = true};
    c.block.feed_forward = GatedFeedForwardConfig{};
  });
  const auto rnn = [&](const std::string& name, auto change) {
    RnnSeq2SeqConfig config = tiny_rnn();
    change(config);
    all.push_back({"rnn_" + name, config});
  };
  for (const RecurrentCell cell : {RecurrentCell::tanh, RecurrentCell::lstm, RecurrentCell::gru})
    rnn("bahdanau_" + std::string(enum_name(cell)), [&](auto& c) {
      c.cell = cell;
      c.encoder_layers = c.decoder_layers = 2;
    });
  const auto after = [](SourceAttentionConfig attention, bool feeding) {
    return [=](RnnSeq2SeqConfig& c) {
      c.attention = attention;
      c.attend = AttendOrder::after;
      c.input_feeding = feeding;
      c.readout = Readout::attentional;
    };
  };
  rnn("dot_fed", after(DotAttentionConfig{}, true));
  rnn("dot", after(DotAttentionConfig{}, false));
  rnn("general_fed", after(GeneralAttentionConfig{}, true));
  rnn("scaled_dot", after(ScaledDotAttentionConfig{}, false));
  rnn("bahdanau_after", after(BahdanauAttentionConfig{.d_attention = 5}, false));
  rnn("before_state", [](auto& c) { c.readout = Readout::state; });
  rnn("before_unfed", [](auto& c) { c.input_feeding = false; });
  rnn("cho", [](auto& c) {
    c.attention = NoSourceAttentionConfig{};
    c.tie_embeddings = EmbeddingTying::target;
  });
  rnn("sutskever", [](auto& c) {
    c.attention = NoSourceAttentionConfig{};
    c.cell = RecurrentCell::lstm;
    c.bidirectional = false;
    c.d_encoder = 0;
    c.encoder_layers = c.decoder_layers = 2;
    c.input_feeding = false;
    c.readout = Readout::state;
    c.bridge = Bridge::copy;
  });
  rnn("maxout", [](auto& c) { c.readout = Readout::maxout; });
  rnn("zero", [](auto& c) { c.bridge = Bridge::zero; });
  return all;
}

}  // namespace zoo::testing
