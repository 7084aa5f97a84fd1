#pragma once
// The config of the BERT family, its heads and its presets. No torch in this header.

#include <string>
#include <variant>
#include <vector>

#include "nn/config.h"

namespace zoo {

// ---- heads -----------------------------------------------------------------------------------

struct MaskedLmHeadConfig {
  static constexpr std::string_view kType = "masked_lm";
  static constexpr std::string_view kAbout =
      "The tokens behind [MASK], and whether two texts follow each other (Devlin et al. 2019, "
      "section 3.1)";
  bool tie_embeddings = true;
  bool next_sentence = false;
  void fields(auto&& visit) {
    visit("tie_embeddings", tie_embeddings,
          "output projection = token embedding (Press & Wolf 2017)");
    visit("next_sentence", next_sentence, "also tell whether the second text follows the first");
  }
};

struct ClassifierHeadConfig {
  static constexpr std::string_view kType = "classifier";
  static constexpr std::string_view kAbout =
      "One of several classes for each text, or pair of texts (Devlin et al. 2019, section 4.1)";
  std::vector<std::string> labels;
  double dropout = 0.1;
  void fields(auto&& visit) {
    visit("labels", labels, "names of the classes; none: those of the training data");
    visit("dropout", dropout, fraction(), "on the pooled vector");
  }
};

struct TaggerHeadConfig {
  static constexpr std::string_view kType = "tagger";
  static constexpr std::string_view kAbout =
      "One of several tags for each token (Devlin et al. 2019, section 5.3)";
  std::vector<std::string> labels;
  double dropout = 0.1;
  void fields(auto&& visit) {
    visit("labels", labels, "names of the tags; none: those of the training data");
    visit("dropout", dropout, fraction(), "on each token's vector");
  }
};

struct NoHeadConfig {
  static constexpr std::string_view kType = "none";
  static constexpr std::string_view kAbout = "vectors only";
  void fields(auto&&) {}
};

using TextHeadConfig =
    std::variant<MaskedLmHeadConfig, ClassifierHeadConfig, TaggerHeadConfig, NoHeadConfig>;

/// The names of a head's classes or tags; none of other heads.
std::vector<std::string> labels_of(const TextHeadConfig& head);
/// The dropout rate of a classifier or a tagger; 0 of other heads.
double dropout_of(const TextHeadConfig& head);

// ---- the model -------------------------------------------------------------------------------

struct BertConfig {
  static constexpr std::string_view kType = "bert";
  static constexpr std::string_view kAbout =
      "Encoder that reads both ways (Devlin et al. 2019, \"BERT: Pre-training of Deep "
      "Bidirectional "
      "Transformers\", section 3), with every part chosen by config";
  int64_t vocab_size = 0;
  int64_t max_length = 512;
  int64_t segments = 2;
  int64_t num_layers = 12;
  int64_t d_model = 768;
  PositionConfig position = LearnedPositionConfig{};
  bool embedding_norm = true;
  BlockConfig block{.norm = LayerNormConfig{.eps = 1e-12},
                    .placement = NormPlacement::post,
                    .attention = {.num_heads = 12},
                    .feed_forward = MlpConfig{}};
  DropoutConfig dropout{.embedding = 0.1, .attention = 0, .residual = 0.1};
  InitConfig init;
  Pooling pooling = Pooling::cls;
  Pooler pooler = Pooler::tanh;
  TextHeadConfig head;

  void fields(auto&& visit) {
    visit("vocab_size", vocab_size, non_negative(), "tokens in the vocabulary; 0: the tokenizer's");
    visit("max_length", max_length, at_least(1), "longest text or pair, in tokens");
    visit("segments", segments, non_negative(),
          "vectors that tell the texts of a pair apart; 0: none (DistilBERT)");
    visit("num_layers", num_layers, at_least(1), "blocks");
    visit("d_model", d_model, at_least(1), "width of the residual stream");
    visit("position", position, "how order enters the model");
    visit("embedding_norm", embedding_norm, "a norm on the sum of the embeddings");
    visit("block", block, "every block's parts");
    visit("dropout", dropout, "dropout rates while training");
    visit("init", init, "how parameters are drawn");
    visit("pooling", pooling,
          "one vector for a text: that of the first token, [CLS], or the mean or the maximum over "
          "its tokens");
    visit("pooler", pooler,
          "a projection of that vector with this activation: tanh is BERT's, relu DistilBERT's "
          "classifier's");
    visit("head", head, "what the model tells");
  }
  std::string check() const;

  /// Whether anything reads the pooled vector.
  bool pools() const;

  /// bert-tiny, bert-mini, bert-small, bert-medium, bert-base, bert-large, distilbert, minilm
  static std::vector<std::string> preset_names();
  static BertConfig preset(const std::string& name);

  bool operator==(const BertConfig&) const = delete;  // compare config_to_json() instead
};

}  // namespace zoo
