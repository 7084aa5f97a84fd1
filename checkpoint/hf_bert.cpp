// BERT (Devlin et al. 2019) and DistilBERT (Sanh et al. 2019) as Hugging Face's `transformers`
// stores them. The class that config.json names decides the head.

#include "checkpoint/hugging_face.h"
#include "checkpoint/known_keys.h"

namespace zoo {

namespace {

// ---- what both have in common ----------------------------------------------------------------

/// The class behind the family's name: "ForMaskedLM", "Model", …
std::string class_of(const Json& json, const std::string& family, const std::string& where) {
  if (!json.contains("architectures") || !json["architectures"].is_array() ||
      json["architectures"].empty() || !json["architectures"][0].is_string())
    return "Model";
  const auto name = json["architectures"][0].get<std::string>();
  if (!name.starts_with(family))
    throw DataError(cat(where, "/architectures: found \"", name, "\"; allowed are ", family,
                        "Model, ", family, "ForMaskedLM, ", family,
                        "ForSequenceClassification and ", family, "ForTokenClassification"));
  return name.substr(family.size());
}

/// The head of that class. @param dropout of classifiers
TextHeadConfig head_of(const std::string& class_name, const Json& json, double dropout,
                       bool tie_embeddings, const std::string& where) {
  if (class_name == "Model") return NoHeadConfig{};
  if (class_name == "ForMaskedLM" || class_name == "ForPreTraining")
    return MaskedLmHeadConfig{.tie_embeddings = tie_embeddings,
                              .next_sentence = class_name == "ForPreTraining"};
  if (class_name == "ForSequenceClassification")
    return ClassifierHeadConfig{.labels = labels_from_hf(json, where), .dropout = dropout};
  if (class_name == "ForTokenClassification")
    return TaggerHeadConfig{.labels = labels_from_hf(json, where), .dropout = dropout};
  throw DataError(cat(where, "/architectures: the class …", class_name,
                      " is not supported; allowed are …Model, …ForMaskedLM, …ForPreTraining, "
                      "…ForSequenceClassification and …ForTokenClassification"));
}

/// The class that has our head.
std::string class_for(const TextHeadConfig& head) {
  if (const auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&head))
    return masked_lm->next_sentence ? "ForPreTraining" : "ForMaskedLM";
  if (std::holds_alternative<ClassifierHeadConfig>(head)) return "ForSequenceClassification";
  if (std::holds_alternative<TaggerHeadConfig>(head)) return "ForTokenClassification";
  return "Model";
}

/// Whether the embeddings and blocks are BERT's, whatever their sizes.
bool has_berts_blocks(const BertConfig& config) {
  return is_plain_block(config.block, NormPlacement::post) && config.embedding_norm &&
         std::holds_alternative<LearnedPositionConfig>(config.position);
}

const BertConfig* bert_of(const ModelConfig& config) { return std::get_if<BertConfig>(&config); }

const MaskedLmHeadConfig* masked_lm_of(const BertConfig& config) {
  return std::get_if<MaskedLmHeadConfig>(&config.head);
}

/// The table's rows for the parts that the model has.
std::vector<HfWeight> expand(std::vector<HfRow> table, const BertConfig& config) {
  std::erase_if(table, [&](const HfRow& row) {
    const auto* masked_lm = masked_lm_of(config);
    const auto is = [&](std::string_view name) { return row.ours.starts_with(name); };
    if (is("pooler.")) return !config.pools() || config.pooler == Pooler::none;
    if (is("transform") || is("output_bias")) return masked_lm == nullptr;
    if (is("output.")) return masked_lm == nullptr || masked_lm->tie_embeddings;
    if (is("next_sentence.")) return masked_lm == nullptr || !masked_lm->next_sentence;
    if (is("classifier."))
      return masked_lm != nullptr || std::holds_alternative<NoHeadConfig>(config.head);
    return false;
  });
  std::vector<HfWeight> all = expand_table(table, config.num_layers);
  divide_rows(all, config.d_model);
  return all;
}

// ---- BERT ------------------------------------------------------------------------------------

/// The keys of config.json that decide the model, with BertConfig's defaults.
struct HfBertConfig {
  int64_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12;
  int64_t intermediate_size = 3072, max_position_embeddings = 512, type_vocab_size = 2;
  std::string hidden_act = "gelu", position_embedding_type = "absolute";
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1;
  std::optional<double> classifier_dropout;
  double initializer_range = 0.02, layer_norm_eps = 1e-12;
  bool tie_word_embeddings = true, is_decoder = false, add_cross_attention = false;

  void fields(auto&& visit) {
    visit("vocab_size", vocab_size, at_least(1), "");
    visit("hidden_size", hidden_size, at_least(1), "");
    visit("num_hidden_layers", num_hidden_layers, at_least(1), "");
    visit("num_attention_heads", num_attention_heads, at_least(1), "");
    visit("intermediate_size", intermediate_size, at_least(1), "");
    visit("max_position_embeddings", max_position_embeddings, at_least(1), "");
    visit("type_vocab_size", type_vocab_size, at_least(1), "");
    visit("hidden_act", hidden_act, "");
    visit("position_embedding_type", position_embedding_type, "");
    visit("hidden_dropout_prob", hidden_dropout_prob, fraction(), "");
    visit("attention_probs_dropout_prob", attention_probs_dropout_prob, fraction(), "");
    visit("classifier_dropout", classifier_dropout, fraction(), "null: hidden_dropout_prob");
    visit("initializer_range", initializer_range, positive(), "");
    visit("layer_norm_eps", layer_norm_eps, positive(), "");
    visit("tie_word_embeddings", tie_word_embeddings, "");
    visit("is_decoder", is_decoder, "");
    visit("add_cross_attention", add_cross_attention, "");
  }
};

ModelConfig read_bert(const Json& json, const std::string& where) {
  HfBertConfig theirs;
  read_known_keys(json, theirs, where);
  refuse_unless(theirs.position_embedding_type == "absolute", where, "position_embedding_type",
                "\"absolute\"");
  refuse_unless(!theirs.is_decoder, where, "is_decoder", "false");
  refuse_unless(!theirs.add_cross_attention, where, "add_cross_attention", "false");
  refuse_quantised(json, where);

  BertConfig ours;
  ours.vocab_size = theirs.vocab_size;
  ours.max_length = theirs.max_position_embeddings;
  ours.segments = theirs.type_vocab_size;
  ours.num_layers = theirs.num_hidden_layers;
  ours.d_model = theirs.hidden_size;
  ours.block.norm = LayerNormConfig{.eps = theirs.layer_norm_eps};
  ours.block.attention = {.num_heads = theirs.num_attention_heads};
  ours.block.feed_forward =
      MlpConfig{.d_ff = theirs.intermediate_size,
                .activation = activation_from_hf(theirs.hidden_act, where + "/hidden_act")};
  ours.dropout = {theirs.hidden_dropout_prob, theirs.attention_probs_dropout_prob,
                  theirs.hidden_dropout_prob};
  ours.init = Gpt2InitConfig{.std = theirs.initializer_range};
  ours.head = head_of(class_of(json, "Bert", where), json,
                      theirs.classifier_dropout.value_or(theirs.hidden_dropout_prob),
                      theirs.tie_word_embeddings, where);
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

std::optional<Json> write_bert(const ModelConfig& config) {
  const BertConfig* ours = bert_of(config);
  if (ours == nullptr || !has_berts_blocks(*ours) || ours->segments == 0) return std::nullopt;
  // A bare encoder's pooling stands beside config.json (checkpoint/sentence_folder.h).
  const bool bare = std::holds_alternative<NoHeadConfig>(ours->head);
  const bool as_theirs = ours->pooling == Pooling::cls && ours->pooler == Pooler::tanh;
  if (ours->pools() && !as_theirs && !(bare && ours->pooler == Pooler::none)) return std::nullopt;
  const auto& mlp = std::get<MlpConfig>(ours->block.feed_forward);
  HfBertConfig theirs;
  theirs.vocab_size = ours->vocab_size;
  theirs.hidden_size = ours->d_model;
  theirs.num_hidden_layers = ours->num_layers;
  theirs.num_attention_heads = ours->block.attention.num_heads;
  theirs.intermediate_size = mlp.inner_width(ours->d_model);
  theirs.max_position_embeddings = ours->max_length;
  theirs.type_vocab_size = ours->segments;
  theirs.hidden_act = activation_to_hf(mlp.activation);
  theirs.hidden_dropout_prob = ours->dropout.residual;
  theirs.attention_probs_dropout_prob = ours->dropout.attention;
  theirs.classifier_dropout =
      labels_of(ours->head).empty() ? ours->dropout.residual : dropout_of(ours->head);
  theirs.layer_norm_eps = std::get<LayerNormConfig>(ours->block.norm).eps;
  if (const auto* init = std::get_if<Gpt2InitConfig>(&ours->init))
    theirs.initializer_range = init->std;
  const auto* masked_lm = masked_lm_of(*ours);
  theirs.tie_word_embeddings = masked_lm == nullptr || masked_lm->tie_embeddings;
  Json json = config_to_json(theirs);
  json["architectures"] = Json::array({"Bert" + class_for(ours->head)});
  labels_to_hf(labels_of(ours->head), json);
  return json;
}

std::vector<HfWeight> bert_weights(const ModelConfig& config) {
  const auto* masked_lm = masked_lm_of(*bert_of(config));
  // Its classes have two biases of the output, which are one where the embeddings are tied; the
  // decoder's is the one that is added.
  const bool tied = masked_lm == nullptr || masked_lm->tie_embeddings;
  const char* const output_bias = tied ? "cls.predictions.bias" : "cls.predictions.decoder.bias";
  return expand(
      {
          {"token_embedding.weight", {"bert.embeddings.word_embeddings.weight"}},
          {"segment_embedding.weight", {"bert.embeddings.token_type_embeddings.weight"}},
          {"position.weight", {"bert.embeddings.position_embeddings.weight"}},
          {"embedding_norm.weight", {"bert.embeddings.LayerNorm.weight"}},
          {"embedding_norm.bias", {"bert.embeddings.LayerNorm.bias"}},
          {"blocks.*.attention.qkv.weight",
           {"bert.encoder.layer.*.attention.self.query.weight",
            "bert.encoder.layer.*.attention.self.key.weight",
            "bert.encoder.layer.*.attention.self.value.weight"}},
          {"blocks.*.attention.qkv.bias",
           {"bert.encoder.layer.*.attention.self.query.bias",
            "bert.encoder.layer.*.attention.self.key.bias",
            "bert.encoder.layer.*.attention.self.value.bias"}},
          {"blocks.*.attention.out.weight", {"bert.encoder.layer.*.attention.output.dense.weight"}},
          {"blocks.*.attention.out.bias", {"bert.encoder.layer.*.attention.output.dense.bias"}},
          {"blocks.*.norm1.weight", {"bert.encoder.layer.*.attention.output.LayerNorm.weight"}},
          {"blocks.*.norm1.bias", {"bert.encoder.layer.*.attention.output.LayerNorm.bias"}},
          {"blocks.*.feed_forward.up.weight", {"bert.encoder.layer.*.intermediate.dense.weight"}},
          {"blocks.*.feed_forward.up.bias", {"bert.encoder.layer.*.intermediate.dense.bias"}},
          {"blocks.*.feed_forward.down.weight", {"bert.encoder.layer.*.output.dense.weight"}},
          {"blocks.*.feed_forward.down.bias", {"bert.encoder.layer.*.output.dense.bias"}},
          {"blocks.*.norm2.weight", {"bert.encoder.layer.*.output.LayerNorm.weight"}},
          {"blocks.*.norm2.bias", {"bert.encoder.layer.*.output.LayerNorm.bias"}},
          {"pooler.weight", {"bert.pooler.dense.weight"}},
          {"pooler.bias", {"bert.pooler.dense.bias"}},
          {"transform.weight", {"cls.predictions.transform.dense.weight"}},
          {"transform.bias", {"cls.predictions.transform.dense.bias"}},
          {"transform_norm.weight", {"cls.predictions.transform.LayerNorm.weight"}},
          {"transform_norm.bias", {"cls.predictions.transform.LayerNorm.bias"}},
          {"output.weight", {"cls.predictions.decoder.weight"}},
          {"output_bias", {output_bias}},
          {"next_sentence.weight", {"cls.seq_relationship.weight"}},
          {"next_sentence.bias", {"cls.seq_relationship.bias"}},
          {"classifier.weight", {"classifier.weight"}},
          {"classifier.bias", {"classifier.bias"}},
      },
      *bert_of(config));
}

// ---- DistilBERT ------------------------------------------------------------------------------

struct HfDistilBertConfig {
  int64_t vocab_size = 30522, dim = 768, n_layers = 6, n_heads = 12, hidden_dim = 3072;
  int64_t max_position_embeddings = 512;
  std::string activation = "gelu";
  double dropout = 0.1, attention_dropout = 0.1, seq_classif_dropout = 0.2;
  double initializer_range = 0.02;
  bool tie_word_embeddings = true;

  void fields(auto&& visit) {
    visit("vocab_size", vocab_size, at_least(1), "");
    visit("dim", dim, at_least(1), "");
    visit("n_layers", n_layers, at_least(1), "");
    visit("n_heads", n_heads, at_least(1), "");
    visit("hidden_dim", hidden_dim, at_least(1), "");
    visit("max_position_embeddings", max_position_embeddings, at_least(1), "");
    visit("activation", activation, "");
    visit("dropout", dropout, fraction(), "");
    visit("attention_dropout", attention_dropout, fraction(), "");
    visit("seq_classif_dropout", seq_classif_dropout, fraction(), "");
    visit("initializer_range", initializer_range, positive(), "");
    visit("tie_word_embeddings", tie_word_embeddings, "");
  }
};

ModelConfig read_distilbert(const Json& json, const std::string& where) {
  HfDistilBertConfig theirs;
  read_known_keys(json, theirs, where);
  refuse_quantised(json, where);
  const std::string class_name = class_of(json, "DistilBert", where);

  BertConfig ours;
  ours.vocab_size = theirs.vocab_size;
  ours.max_length = theirs.max_position_embeddings;
  ours.segments = 0;
  ours.num_layers = theirs.n_layers;
  ours.d_model = theirs.dim;
  ours.block.norm = LayerNormConfig{.eps = 1e-12};
  ours.block.attention = {.num_heads = theirs.n_heads};
  ours.block.feed_forward =
      MlpConfig{.d_ff = theirs.hidden_dim,
                .activation = activation_from_hf(theirs.activation, where + "/activation")};
  ours.dropout = {theirs.dropout, theirs.attention_dropout, theirs.dropout};
  ours.init = Gpt2InitConfig{.std = theirs.initializer_range};
  // Only its text classifier projects the pooled vector.
  ours.pooler = class_name == "ForSequenceClassification" ? Pooler::relu : Pooler::none;
  ours.head =
      head_of(class_name, json,
              class_name == "ForTokenClassification" ? theirs.dropout : theirs.seq_classif_dropout,
              theirs.tie_word_embeddings, where);
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

std::optional<Json> write_distilbert(const ModelConfig& config) {
  const BertConfig* ours = bert_of(config);
  if (ours == nullptr || !has_berts_blocks(*ours) || ours->segments > 0) return std::nullopt;
  const bool classifies = std::holds_alternative<ClassifierHeadConfig>(ours->head);
  if (std::get<LayerNormConfig>(ours->block.norm).eps != 1e-12 ||
      (ours->pools() && (ours->pooler != (classifies ? Pooler::relu : Pooler::none) ||
                         (classifies && ours->pooling != Pooling::cls))))
    return std::nullopt;
  const auto& mlp = std::get<MlpConfig>(ours->block.feed_forward);
  if (mlp.activation != Activation::gelu && mlp.activation != Activation::relu) return std::nullopt;
  HfDistilBertConfig theirs;
  theirs.vocab_size = ours->vocab_size;
  theirs.dim = ours->d_model;
  theirs.n_layers = ours->num_layers;
  theirs.n_heads = ours->block.attention.num_heads;
  theirs.hidden_dim = mlp.inner_width(ours->d_model);
  theirs.max_position_embeddings = ours->max_length;
  theirs.activation = activation_to_hf(mlp.activation);
  theirs.dropout = ours->dropout.residual;
  theirs.attention_dropout = ours->dropout.attention;
  if (classifies) theirs.seq_classif_dropout = dropout_of(ours->head);
  if (const auto* init = std::get_if<Gpt2InitConfig>(&ours->init))
    theirs.initializer_range = init->std;
  const auto* masked_lm = masked_lm_of(*ours);
  theirs.tie_word_embeddings = masked_lm == nullptr || masked_lm->tie_embeddings;
  Json json = config_to_json(theirs);
  json["architectures"] = Json::array({"DistilBert" + class_for(ours->head)});
  labels_to_hf(labels_of(ours->head), json);
  return json;
}

std::vector<HfWeight> distilbert_weights(const ModelConfig& config) {
  return expand(
      {
          {"token_embedding.weight", {"distilbert.embeddings.word_embeddings.weight"}},
          {"position.weight", {"distilbert.embeddings.position_embeddings.weight"}},
          {"embedding_norm.weight", {"distilbert.embeddings.LayerNorm.weight"}},
          {"embedding_norm.bias", {"distilbert.embeddings.LayerNorm.bias"}},
          {"blocks.*.attention.qkv.weight",
           {"distilbert.transformer.layer.*.attention.q_lin.weight",
            "distilbert.transformer.layer.*.attention.k_lin.weight",
            "distilbert.transformer.layer.*.attention.v_lin.weight"}},
          {"blocks.*.attention.qkv.bias",
           {"distilbert.transformer.layer.*.attention.q_lin.bias",
            "distilbert.transformer.layer.*.attention.k_lin.bias",
            "distilbert.transformer.layer.*.attention.v_lin.bias"}},
          {"blocks.*.attention.out.weight",
           {"distilbert.transformer.layer.*.attention.out_lin.weight"}},
          {"blocks.*.attention.out.bias",
           {"distilbert.transformer.layer.*.attention.out_lin.bias"}},
          {"blocks.*.norm1.weight", {"distilbert.transformer.layer.*.sa_layer_norm.weight"}},
          {"blocks.*.norm1.bias", {"distilbert.transformer.layer.*.sa_layer_norm.bias"}},
          {"blocks.*.feed_forward.up.weight", {"distilbert.transformer.layer.*.ffn.lin1.weight"}},
          {"blocks.*.feed_forward.up.bias", {"distilbert.transformer.layer.*.ffn.lin1.bias"}},
          {"blocks.*.feed_forward.down.weight", {"distilbert.transformer.layer.*.ffn.lin2.weight"}},
          {"blocks.*.feed_forward.down.bias", {"distilbert.transformer.layer.*.ffn.lin2.bias"}},
          {"blocks.*.norm2.weight", {"distilbert.transformer.layer.*.output_layer_norm.weight"}},
          {"blocks.*.norm2.bias", {"distilbert.transformer.layer.*.output_layer_norm.bias"}},
          {"pooler.weight", {"pre_classifier.weight"}},
          {"pooler.bias", {"pre_classifier.bias"}},
          {"transform.weight", {"vocab_transform.weight"}},
          {"transform.bias", {"vocab_transform.bias"}},
          {"transform_norm.weight", {"vocab_layer_norm.weight"}},
          {"transform_norm.bias", {"vocab_layer_norm.bias"}},
          {"output.weight", {"vocab_projector.weight"}},
          {"output_bias", {"vocab_projector.bias"}},
          {"classifier.weight", {"classifier.weight"}},
          {"classifier.bias", {"classifier.bias"}},
      },
      *bert_of(config));
}

}  // namespace

const HfFamily& hf_bert() {
  static const HfFamily family = {
      .model_type = "bert",
      .architecture = "BertForPreTraining",
      .prefix = "bert.",
      .embedding = "bert.embeddings.word_embeddings.weight",
      .output = "cls.predictions.decoder.weight",
      // Position ids, a second name of the output's bias, and heads of pre-training that a file may
      // keep beside the one in use.
      .buffers = {"embeddings.position_ids", "cls.predictions.decoder.bias", "cls.predictions.bias",
                  "pooler.dense.weight", "pooler.dense.bias", "cls.seq_relationship.weight",
                  "cls.seq_relationship.bias"},
      .read_config = read_bert,
      .write_config = write_bert,
      .weights = bert_weights,
      // TensorFlow's names, which the first files have.
      .old_endings = {{"LayerNorm.weight", "LayerNorm.gamma"},
                      {"LayerNorm.bias", "LayerNorm.beta"}},
  };
  return family;
}

const HfFamily& hf_distilbert() {
  static const HfFamily family = {
      .model_type = "distilbert",
      .architecture = "DistilBertForMaskedLM",
      .prefix = "distilbert.",
      .embedding = "distilbert.embeddings.word_embeddings.weight",
      .output = "vocab_projector.weight",
      .buffers = {"embeddings.position_ids"},
      .read_config = read_distilbert,
      .write_config = write_distilbert,
      .weights = distilbert_weights,
  };
  return family;
}

}  // namespace zoo
