#include "models/rnn_seq2seq_config.h"

#include "core/error.h"
#include "models/presets.h"

namespace zoo {

std::string RnnSeq2SeqConfig::check() const {
  if (tie_embeddings == EmbeddingTying::all && source_vocab_size != vocab_size)
    return cat("tie_embeddings \"all\" needs one vocabulary, but source_vocab_size is ",
               source_vocab_size, " and vocab_size ", vocab_size,
               "; make them equal, or tie the \"target\" only");
  if (tie_embeddings != EmbeddingTying::none && readout_width() != d_embedding)
    return cat("tie_embeddings needs a readout as wide as the embeddings, but it is ",
               readout_width(), " wide and d_embedding ", d_embedding,
               readout == Readout::state ? "; take another readout, or make d_hidden equal"
                                         : "; set d_readout to 0");
  const bool dot = std::holds_alternative<DotAttentionConfig>(attention) ||
                   std::holds_alternative<ScaledDotAttentionConfig>(attention);
  if (dot && memory_width() != d_hidden)
    return cat("attention by dot products needs vectors of one width, but the encoder's are ",
               memory_width(), " wide and d_hidden is ", d_hidden, "; set d_encoder to ",
               d_hidden / (bidirectional ? 2 : 1), ", or attention to \"general\"");
  if (has_attention() && attend == AttendOrder::before && !input_feeding &&
      readout == Readout::state)
    return "attention would have no effect: neither a step (input_feeding) nor the readout reads "
           "it; turn input_feeding on, or set readout to \"deep\"";
  if (has_attention() && attend == AttendOrder::after && readout == Readout::state)
    return "attention would have no effect: with attend \"after\" only the readout reads it; set "
           "readout to \"attentional\" or \"deep\"";
  if (bridge == Bridge::copy &&
      (bidirectional || encoder_layers != decoder_layers || encoder_width() != d_hidden))
    return "bridge \"copy\" needs an encoder of the decoder's layers and width that reads in one "
           "direction; set bridge to \"project\"";
  return "";
}

namespace {

/// Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", section 3.4.
RnnSeq2SeqConfig sutskever() {
  RnnSeq2SeqConfig config;
  config.cell = RecurrentCell::lstm;
  config.encoder_layers = config.decoder_layers = 4;
  config.bidirectional = false;
  config.d_embedding = config.d_hidden = 1000;
  config.attention = NoSourceAttentionConfig{};
  config.input_feeding = false;
  config.readout = Readout::state;
  config.bridge = Bridge::copy;
  config.init = UniformInitConfig{.scale = 0.08};
  config.orthogonal = false;
  config.forget_bias = 0;
  return config;
}

/// Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder", section 4.1.
RnnSeq2SeqConfig cho() {
  RnnSeq2SeqConfig config;
  config.bidirectional = false;
  config.d_embedding = 100;
  config.d_hidden = 1000;
  config.d_readout = 500;
  config.readout = Readout::maxout;
  config.attention = NoSourceAttentionConfig{};
  return config;
}

/// Bahdanau et al. 2015, appendix A.2.
RnnSeq2SeqConfig bahdanau() {
  RnnSeq2SeqConfig config;
  config.d_embedding = 620;
  config.d_hidden = 1000;
  config.d_readout = 500;
  config.readout = Readout::maxout;
  return config;
}

/// Luong et al. 2015, section 4.1.
RnnSeq2SeqConfig luong() {
  RnnSeq2SeqConfig config = sutskever();
  config.attention = GeneralAttentionConfig{};
  config.attend = AttendOrder::after;
  config.input_feeding = true;
  config.readout = Readout::attentional;
  config.dropout = {.embedding = 0.2, .layers = 0.2};
  config.init = UniformInitConfig{.scale = 0.1};
  return config;
}

/// For some 10^4 pairs of sentences.
RnnSeq2SeqConfig compact() {
  RnnSeq2SeqConfig config;
  config.dropout = {.embedding = 0.3, .output = 0.3};
  config.tie_embeddings = EmbeddingTying::target;
  return config;
}

const std::vector<Preset<RnnSeq2SeqConfig>>& presets() {
  static const std::vector<Preset<RnnSeq2SeqConfig>> all = {{"sutskever", sutskever()},
                                                            {"cho", cho()},
                                                            {"bahdanau", bahdanau()},
                                                            {"luong", luong()},
                                                            {"compact", compact()}};
  return all;
}

}  // namespace

std::vector<std::string> RnnSeq2SeqConfig::preset_names() { return names_of(presets()); }

RnnSeq2SeqConfig RnnSeq2SeqConfig::preset(const std::string& name) {
  return find_preset(presets(), name);
}

}  // namespace zoo
