#include "models/bert_config.h"

#include "models/presets.h"

namespace zoo {

std::vector<std::string> labels_of(const TextHeadConfig& head) {
  if (const auto* classifier = std::get_if<ClassifierHeadConfig>(&head)) return classifier->labels;
  if (const auto* tagger = std::get_if<TaggerHeadConfig>(&head)) return tagger->labels;
  return {};
}

double dropout_of(const TextHeadConfig& head) {
  if (const auto* classifier = std::get_if<ClassifierHeadConfig>(&head)) return classifier->dropout;
  if (const auto* tagger = std::get_if<TaggerHeadConfig>(&head)) return tagger->dropout;
  return 0;
}

std::string BertConfig::check() const {
  const auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&head);
  if (masked_lm != nullptr && masked_lm->next_sentence && segments < 2)
    return "next_sentence needs two segments, but segments is " + std::to_string(segments);
  return check_widths(block, position, d_model);
}

bool BertConfig::pools() const {
  const auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&head);
  if (masked_lm != nullptr) return masked_lm->next_sentence;
  return !std::holds_alternative<TaggerHeadConfig>(head);
}

namespace {

/// Turc et al. 2019, "Well-Read Students Learn Better", and Devlin et al. 2019: heads are 64 wide.
BertConfig bert(int64_t num_layers, int64_t d_model) {
  BertConfig config;
  config.num_layers = num_layers;
  config.d_model = d_model;
  config.block.attention.num_heads = d_model / 64;
  return config;
}

/// Sanh et al. 2019, "DistilBERT", section 3.
BertConfig distilbert() {
  BertConfig config = bert(6, 768);
  config.segments = 0;
  config.pooler = Pooler::relu;
  return config;
}

/// Wang et al. 2020, "MiniLM", as sentence embeddings use it.
BertConfig minilm() {
  BertConfig config = bert(6, 384);
  config.block.attention.num_heads = 12;
  config.pooling = Pooling::mean;
  config.pooler = Pooler::none;
  config.head = NoHeadConfig{};
  return config;
}

const std::vector<Preset<BertConfig>>& presets() {
  static const std::vector<Preset<BertConfig>> all = {
      {"bert-tiny", bert(2, 128)},   {"bert-mini", bert(4, 256)},  {"bert-small", bert(4, 512)},
      {"bert-medium", bert(8, 512)}, {"bert-base", bert(12, 768)}, {"bert-large", bert(24, 1024)},
      {"distilbert", distilbert()},  {"minilm", minilm()}};
  return all;
}

}  // namespace

std::vector<std::string> BertConfig::preset_names() { return names_of(presets()); }

BertConfig BertConfig::preset(const std::string& name) { return find_preset(presets(), name); }

}  // namespace zoo
