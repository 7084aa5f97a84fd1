#pragma once
// The config of the recurrent encoder-decoder and its presets. No torch in this header.

#include <string>
#include <vector>

#include "nn/config.h"

namespace zoo {

/// When the decoder looks at the source.
enum class AttendOrder { before, after };
template <>
struct EnumNames<AttendOrder> {
  static constexpr std::array values{std::pair{AttendOrder::before, "before"},
                                     std::pair{AttendOrder::after, "after"}};
};

/// What the output projection reads.
enum class Readout { state, attentional, deep, maxout };
template <>
struct EnumNames<Readout> {
  static constexpr std::array values{
      std::pair{Readout::state, "state"}, std::pair{Readout::attentional, "attentional"},
      std::pair{Readout::deep, "deep"}, std::pair{Readout::maxout, "maxout"}};
};

/// How the decoder's first state comes from the encoder's last.
enum class Bridge { project, copy, zero };
template <>
struct EnumNames<Bridge> {
  static constexpr std::array values{std::pair{Bridge::project, "project"},
                                     std::pair{Bridge::copy, "copy"},
                                     std::pair{Bridge::zero, "zero"}};
};

/// Dropout rates (Zaremba et al. 2014: never on what goes from step to step of a layer).
struct RnnDropoutConfig {
  double embedding = 0, layers = 0, output = 0;
  void fields(auto&& visit) {
    visit("embedding", embedding, fraction(), "on the token embeddings of both sides");
    visit("layers", layers, fraction(), "between stacked layers");
    visit("output", output, fraction(), "on what the output projection reads");
  }
};

struct RnnSeq2SeqConfig {
  static constexpr std::string_view kType = "rnn-seq2seq";
  static constexpr std::string_view kAbout =
      "Recurrent encoder-decoder (Sutskever et al. 2014; Cho et al. 2014) with attention (Bahdanau "
      "et al. 2015; Luong et al. 2015)";
  int64_t source_vocab_size = 0, vocab_size = 0;
  int64_t max_source_length = 1024, max_length = 1024;
  RecurrentCell cell = RecurrentCell::gru;
  int64_t encoder_layers = 1, decoder_layers = 1;
  bool bidirectional = true;
  int64_t d_embedding = 256, d_encoder = 0, d_hidden = 256, d_readout = 0;
  SourceAttentionConfig attention;
  AttendOrder attend = AttendOrder::before;
  bool input_feeding = true;
  Readout readout = Readout::deep;
  Bridge bridge = Bridge::project;
  RnnDropoutConfig dropout;
  InitConfig init = XavierInitConfig{};
  bool orthogonal = true;
  double forget_bias = 1;
  EmbeddingTying tie_embeddings = EmbeddingTying::none;

  void fields(auto&& visit) {
    visit("source_vocab_size", source_vocab_size, non_negative(),
          "tokens in the source's vocabulary; 0: the tokenizer's");
    visit("vocab_size", vocab_size, non_negative(),
          "tokens in the target's vocabulary; 0: the tokenizer's");
    visit("max_source_length", max_source_length, at_least(1), "longest source, in tokens");
    visit("max_length", max_length, at_least(1), "longest target, in tokens");
    visit("cell", cell,
          "tanh (Elman 1990), lstm (Hochreiter & Schmidhuber 1997), gru (Cho et al. 2014)");
    visit("encoder_layers", encoder_layers, at_least(1), "stacked layers of the encoder");
    visit("decoder_layers", decoder_layers, at_least(1), "stacked layers of the decoder");
    visit("bidirectional", bidirectional,
          "the encoder reads in both directions (Schuster & Paliwal 1997)");
    visit("d_embedding", d_embedding, at_least(1), "width of the token embeddings");
    visit("d_encoder", d_encoder, non_negative(),
          "width of the encoder's state, of each direction; 0: d_hidden");
    visit("d_hidden", d_hidden, at_least(1), "width of the decoder's state");
    visit("d_readout", d_readout, non_negative(),
          "width of what the output projection reads, for readouts other than state; 0: d_hidden, "
          "or d_embedding where that projection is tied");
    visit("attention", attention, "how the decoder looks at the source");
    visit("attend", attend,
          "before: from the last state, for the next step (Bahdanau et al. 2015); after: from the "
          "state of this step (Luong et al. 2015)");
    visit("input_feeding", input_feeding,
          "each step also reads what was found in the source: the context (before; without "
          "attention the source's one vector, Cho et al. 2014), or the last readout (after; Luong "
          "et al. 2015, section 3.3)");
    visit("readout", readout,
          "what the output projection reads: state; attentional: tanh(W [state; context]) (Luong "
          "et al. 2015, equation 5); deep: the token read as well; maxout: as deep, with the "
          "larger of "
          "two products in place of a tanh (Goodfellow et al. 2013; Bahdanau et al. 2015, appendix "
          "A.2.2)");
    visit("bridge", bridge,
          "the decoder's first state: project: tanh(W (the encoder's last)); copy: the encoder's "
          "last; zero");
    visit("dropout", dropout, "dropout rates while training");
    visit("init", init, "how parameters are drawn");
    visit("orthogonal", orthogonal, "recurrent weights are drawn orthogonal (Saxe et al. 2014)");
    visit("forget_bias", forget_bias, any_number(),
          "first bias of the LSTM's forget gate (Jozefowicz et al. 2015, section 3.2)");
    visit("tie_embeddings", tie_embeddings,
          "none; target: output projection = target embedding (Press & Wolf 2017); all: the source "
          "embedding too, for one vocabulary of both sides");
  }
  std::string check() const;

  // Widths that follow from others.
  int64_t encoder_width() const { return d_encoder == 0 ? d_hidden : d_encoder; }
  int64_t memory_width() const { return (bidirectional ? 2 : 1) * encoder_width(); }  ///< M
  bool has_attention() const { return !std::holds_alternative<NoSourceAttentionConfig>(attention); }
  /// Of what the decoder has of the source: the context, or the source's one vector.
  int64_t context_width() const { return has_attention() ? memory_width() : d_hidden; }
  int64_t readout_width() const {
    if (readout == Readout::state) return d_hidden;
    if (d_readout > 0) return d_readout;
    return tie_embeddings == EmbeddingTying::none ? d_hidden : d_embedding;
  }
  /// Whether the readout reads the token's embedding.
  bool readout_reads_token() const {
    return readout == Readout::deep || readout == Readout::maxout;
  }
  /// Of what each step reads beside the token's embedding.
  int64_t fed_width() const {
    if (!input_feeding) return 0;
    return has_attention() && attend == AttendOrder::after ? readout_width() : context_width();
  }
  /// Whether no step reads what an earlier one found, so that the decoder reads all tokens at once.
  bool reads_at_once() const {
    return !has_attention() || (attend == AttendOrder::after && !input_feeding);
  }

  /// sutskever, cho, bahdanau, luong, compact
  static std::vector<std::string> preset_names();
  static RnnSeq2SeqConfig preset(const std::string& name);

  bool operator==(const RnnSeq2SeqConfig&) const = delete;  // compare config_to_json() instead
};

}  // namespace zoo
