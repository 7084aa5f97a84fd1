#include "models/cost.h"

#include <algorithm>

#include "core/error.h"

namespace zoo {

namespace {

/// The widths of a block.
struct Sizes {
  int64_t d_model, heads, kv_heads, head_dim, d_ff;
  bool gated;
};

Sizes sizes_of(const BlockConfig& block, int64_t d_model) {
  const AttentionConfig& attention = block.attention;
  const int64_t d_ff =
      std::visit([&](const auto& f) { return f.inner_width(d_model); }, block.feed_forward);
  return {d_model,
          attention.num_heads,
          attention.kv_heads(),
          d_model / attention.num_heads,
          d_ff,
          std::holds_alternative<GatedFeedForwardConfig>(block.feed_forward)};
}

int64_t gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 4 : cell == RecurrentCell::gru ? 3 : 1;
}

double real(int64_t number) { return static_cast<double>(number); }

/// Collects parameters as the modules register them.
class Collector {
 public:
  void add(const char* part, const std::string& name, const std::string& letters,
           std::vector<int64_t> shape) {
    found_.push_back({part, prefix_ + name, letters, std::move(shape), copies_});
  }
  void norm(const NormConfig& config, const std::string& name, const std::string& letter,
            int64_t size) {
    add("norm", name + ".weight", "(" + letter + ")", {size});
    const auto* layer = std::get_if<LayerNormConfig>(&config);
    if (layer != nullptr && layer->bias) add("norm", name + ".bias", "(" + letter + ")", {size});
  }
  void linear(const char* part, const std::string& name, const std::string& out,
              const std::string& in, int64_t out_size, int64_t in_size, bool bias) {
    add(part, name + ".weight", "(" + out + ", " + in + ")", {out_size, in_size});
    if (bias) add(part, name + ".bias", "(" + out + ")", {out_size});
  }
  void enter(const std::string& prefix, int64_t copies) {
    prefix_ = prefix;
    copies_ = copies;
  }
  std::vector<ParameterCost> take() { return std::move(found_); }

 private:
  std::string prefix_;
  int64_t copies_ = 1;
  std::vector<ParameterCost> found_;
};

// ---- parameters ------------------------------------------------------------------------------

void add_heads(Collector& parameters, const AttentionConfig& attention, const Sizes& s,
               const std::string& name) {
  parameters.linear("attention", name + ".out", "D", "H E", s.d_model, s.heads * s.head_dim,
                    attention.bias);
  if (!attention.qk_norm) return;
  parameters.norm(RmsNormConfig{}, name + ".q_norm", "E", s.head_dim);
  parameters.norm(RmsNormConfig{}, name + ".k_norm", "E", s.head_dim);
}

void add_attention(Collector& parameters, const AttentionConfig& attention, const Sizes& s) {
  parameters.linear("attention", "attention.qkv", "(H + 2G) E", "D",
                    (s.heads + 2 * s.kv_heads) * s.head_dim, s.d_model, attention.bias);
  add_heads(parameters, attention, s, "attention");
}

void add_cross_attention(Collector& parameters, const AttentionConfig& attention, const Sizes& s) {
  parameters.linear("attention", "cross_attention.q", "H E", "D", s.heads * s.head_dim, s.d_model,
                    attention.bias);
  parameters.linear("attention", "cross_attention.kv", "2G E", "D", 2 * s.kv_heads * s.head_dim,
                    s.d_model, attention.bias);
  add_heads(parameters, attention, s, "cross_attention");
}

void add_feed_forward(Collector& parameters, const FeedForwardConfig& config, const Sizes& s) {
  const bool bias = std::visit([](const auto& f) { return f.bias; }, config);
  if (s.gated)
    parameters.linear("feed_forward", "feed_forward.gate_up", "2F", "D", 2 * s.d_ff, s.d_model,
                      bias);
  else
    parameters.linear("feed_forward", "feed_forward.up", "F", "D", s.d_ff, s.d_model, bias);
  parameters.linear("feed_forward", "feed_forward.down", "D", "F", s.d_model, s.d_ff, bias);
}

/// A block without attention to a source.
void add_block(Collector& parameters, const BlockConfig& block, const Sizes& s) {
  parameters.norm(block.norm, "norm1", "D", s.d_model);
  add_attention(parameters, block.attention, s);
  parameters.norm(block.norm, "norm2", "D", s.d_model);
  add_feed_forward(parameters, block.feed_forward, s);
}

std::vector<ParameterCost> costs(const GptConfig& config) {
  const BlockConfig& block = config.block;
  const Sizes s = sizes_of(block, config.d_model);
  Collector parameters;
  parameters.add("embedding", "token_embedding.weight", "(V, D)", {config.vocab_size, s.d_model});
  if (std::holds_alternative<LearnedPositionConfig>(config.position))
    parameters.add("position", "position.weight", "(N, D)", {config.max_length, s.d_model});

  parameters.enter("blocks.*.", config.num_layers);
  add_block(parameters, block, s);

  parameters.enter("", 1);
  if (block.placement == NormPlacement::pre)
    parameters.norm(block.norm, "final_norm", "D", s.d_model);
  if (!config.tie_embeddings)
    parameters.linear("output", "output", "V", "D", config.vocab_size, s.d_model, false);
  return parameters.take();
}

std::vector<ParameterCost> costs(const TransformerConfig& config) {
  const BlockConfig& block = config.block;
  const Sizes s = sizes_of(block, config.d_model);
  const bool pre = block.placement == NormPlacement::pre;
  Collector parameters;
  if (config.tie_embeddings != EmbeddingTying::all)
    parameters.add("embedding", "source_embedding.weight", "(U, D)",
                   {config.source_vocab_size, s.d_model});
  parameters.add("embedding", "target_embedding.weight", "(V, D)", {config.vocab_size, s.d_model});
  if (std::holds_alternative<LearnedPositionConfig>(config.position)) {
    parameters.add("position", "source_position.weight", "(M, D)",
                   {config.max_source_length, s.d_model});
    parameters.add("position", "target_position.weight", "(N, D)", {config.max_length, s.d_model});
  }

  parameters.enter("encoder_blocks.*.", config.encoder_layers);
  add_block(parameters, block, s);
  parameters.enter("", 1);
  if (pre) parameters.norm(block.norm, "encoder_norm", "D", s.d_model);

  parameters.enter("decoder_blocks.*.", config.decoder_layers);
  parameters.norm(block.norm, "norm1", "D", s.d_model);
  add_attention(parameters, block.attention, s);
  parameters.norm(block.norm, "norm2", "D", s.d_model);
  add_cross_attention(parameters, block.attention, s);
  parameters.norm(block.norm, "norm3", "D", s.d_model);
  add_feed_forward(parameters, block.feed_forward, s);
  parameters.enter("", 1);
  if (pre) parameters.norm(block.norm, "decoder_norm", "D", s.d_model);
  if (config.tie_embeddings == EmbeddingTying::none)
    parameters.linear("output", "output", "V", "D", config.vocab_size, s.d_model, false);
  if (config.output_bias) parameters.add("output", "output_bias", "(V)", {config.vocab_size});
  return parameters.take();
}

std::vector<ParameterCost> costs(const BertConfig& config) {
  const BlockConfig& block = config.block;
  const Sizes s = sizes_of(block, config.d_model);
  Collector parameters;
  parameters.add("embedding", "token_embedding.weight", "(V, D)", {config.vocab_size, s.d_model});
  if (config.segments > 0)
    parameters.add("embedding", "segment_embedding.weight", "(S, D)", {config.segments, s.d_model});
  if (std::holds_alternative<LearnedPositionConfig>(config.position))
    parameters.add("position", "position.weight", "(N, D)", {config.max_length, s.d_model});
  if (config.embedding_norm) parameters.norm(block.norm, "embedding_norm", "D", s.d_model);

  parameters.enter("blocks.*.", config.num_layers);
  add_block(parameters, block, s);

  parameters.enter("", 1);
  if (block.placement == NormPlacement::pre)
    parameters.norm(block.norm, "final_norm", "D", s.d_model);
  const auto head = [&](const char* name, const std::string& letter, int64_t out) {
    parameters.linear("output", name, letter, "D", out, s.d_model, true);
  };
  if (config.pools() && config.pooler != Pooler::none) head("pooler", "D", s.d_model);
  if (const auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&config.head)) {
    head("transform", "D", s.d_model);
    parameters.norm(block.norm, "transform_norm", "D", s.d_model);
    if (!masked_lm->tie_embeddings)
      parameters.linear("output", "output", "V", "D", config.vocab_size, s.d_model, false);
    parameters.add("output", "output_bias", "(V)", {config.vocab_size});
    if (masked_lm->next_sentence) head("next_sentence", "2", 2);
  }
  if (const int64_t labels = std::ssize(labels_of(config.head)); labels > 0)
    head("classifier", "C", labels);
  return parameters.take();
}

std::vector<ParameterCost> costs(const VitConfig& config) {
  const BlockConfig& block = config.block;
  const Sizes s = sizes_of(block, config.d_model);
  Collector parameters;
  // Channels are D over a power of two.
  const int64_t stem = config.stem_layers();
  const auto channels = [&](int64_t layer) {
    return layer == 0 ? std::string("X") : cat("D/", int64_t{1} << (stem - layer + 1));
  };
  for (int64_t layer = 1; layer <= stem; ++layer)
    parameters.linear("embedding", cat("stem.", layer - 1), channels(layer),
                      "9 " + channels(layer - 1), config.stem_channels(layer),
                      9 * config.stem_channels(layer - 1), true);
  parameters.linear("embedding", "patch_embedding", "D", stem == 0 ? "X P P" : channels(stem),
                    s.d_model, config.patch_inputs(), true);
  if (config.has_class_token())
    parameters.add("embedding", "class_token.weight", "(1, D)", {1, s.d_model});
  if (config.position == PatchPosition::learned)
    parameters.add("position", "position.weight", "(T, D)", {config.tokens(), s.d_model});

  parameters.enter("blocks.*.", config.num_layers);
  add_block(parameters, block, s);

  parameters.enter("", 1);
  if (block.placement == NormPlacement::pre)
    parameters.norm(block.norm, "final_norm", "D", s.d_model);
  if (const int64_t labels = std::ssize(config.labels); labels > 0)
    parameters.linear("output", "classifier", "C", "D", labels, s.d_model, true);
  return parameters.take();
}

/// Inputs of layer `layer` of the encoder.
int64_t encoder_input(const RnnSeq2SeqConfig& config, int64_t layer) {
  return layer == 0 ? config.d_embedding : config.memory_width();
}
int64_t decoder_input(const RnnSeq2SeqConfig& config, int64_t layer) {
  return layer == 0 ? config.d_embedding + config.fed_width() : config.d_hidden;
}
int64_t readout_input(const RnnSeq2SeqConfig& config) {
  return config.d_hidden + config.context_width() +
         (config.readout_reads_token() ? config.d_embedding : 0);
}
/// What the readout's projection computes: maxout units take the larger of two.
int64_t readout_products(const RnnSeq2SeqConfig& config) {
  return config.readout_width() * (config.readout == Readout::maxout ? 2 : 1);
}

std::vector<ParameterCost> costs(const RnnSeq2SeqConfig& config) {
  const int64_t gates = gates_of(config.cell), d_hidden = config.d_hidden;
  const int64_t memory = config.memory_width();
  Collector parameters;
  const auto layer = [&](const std::string& name, const std::string& suffix,
                         const std::string& width, int64_t hidden, int64_t input) {
    const std::string rows = cat(gates, width), all = "(" + rows + ")";
    const auto part = [&](const char* kind, const std::string& letters,
                          std::vector<int64_t> shape) {
      parameters.add("recurrent", cat(name, ".", kind, suffix), letters, std::move(shape));
    };
    part("weight_ih", "(" + rows + ", I)", {gates * hidden, input});
    part("weight_hh", "(" + rows + ", " + width + ")", {gates * hidden, hidden});
    part("bias_ih", all, {gates * hidden});
    part("bias_hh", all, {gates * hidden});
  };
  if (config.tie_embeddings != EmbeddingTying::all)
    parameters.add("embedding", "source_embedding.weight", "(U, E)",
                   {config.source_vocab_size, config.d_embedding});
  parameters.add("embedding", "target_embedding.weight", "(V, E)",
                 {config.vocab_size, config.d_embedding});
  for (int64_t l = 0; l < config.encoder_layers; ++l)
    for (const char* direction : {"", "_reverse"})
      if (*direction == '\0' || config.bidirectional)
        layer("encoder", cat("_l", l, direction), "C", config.encoder_width(),
              encoder_input(config, l));
  if (config.bridge == Bridge::project) {
    const int64_t states = config.decoder_layers * d_hidden;
    parameters.linear("recurrent", "bridge", "L H", "M", states, memory, true);
    if (config.cell == RecurrentCell::lstm)
      parameters.linear("recurrent", "bridge_cell", "L H", "M", states, memory, true);
  }
  for (int64_t l = 0; l < config.decoder_layers; ++l)
    layer("decoder", cat("_l", l), "H", d_hidden, decoder_input(config, l));
  if (const auto* additive = std::get_if<BahdanauAttentionConfig>(&config.attention)) {
    const int64_t width = additive->width(d_hidden);
    parameters.linear("attention", "attention.query", "A", "H", width, d_hidden, false);
    parameters.linear("attention", "attention.key", "A", "M", width, memory, false);
    parameters.linear("attention", "attention.score", "1", "A", 1, width, false);
  }
  if (std::holds_alternative<GeneralAttentionConfig>(config.attention))
    parameters.linear("attention", "attention.key", "H", "M", d_hidden, memory, false);
  if (config.readout != Readout::state)
    parameters.linear("output", "readout", config.readout == Readout::maxout ? "2 D" : "D", "I",
                      readout_products(config), readout_input(config), true);
  if (config.tie_embeddings == EmbeddingTying::none)
    parameters.linear("output", "output", "V", "D", config.vocab_size, config.readout_width(),
                      true);
  return parameters.take();
}

// ---- letters ---------------------------------------------------------------------------------

using Letters = std::vector<std::pair<std::string, int64_t>>;

Letters letters(const GptConfig& config) {
  const Sizes s = sizes_of(config.block, config.d_model);
  return {{"V", config.vocab_size}, {"N", config.max_length},
          {"L", config.num_layers}, {"D", s.d_model},
          {"H", s.heads},           {"G", s.kv_heads},
          {"E", s.head_dim},        {"F", s.d_ff}};
}

Letters letters(const TransformerConfig& config) {
  const Sizes s = sizes_of(config.block, config.d_model);
  return {{"U", config.source_vocab_size},
          {"V", config.vocab_size},
          {"M", config.max_source_length},
          {"N", config.max_length},
          {"D", s.d_model},
          {"H", s.heads},
          {"G", s.kv_heads},
          {"E", s.head_dim},
          {"F", s.d_ff}};
}

Letters letters(const BertConfig& config) {
  const Sizes s = sizes_of(config.block, config.d_model);
  Letters all = {{"V", config.vocab_size}, {"N", config.max_length}, {"S", config.segments},
                 {"L", config.num_layers}, {"D", s.d_model},         {"H", s.heads},
                 {"G", s.kv_heads},        {"E", s.head_dim},        {"F", s.d_ff}};
  if (const int64_t labels = std::ssize(labels_of(config.head)); labels > 0)
    all.emplace_back("C", labels);
  return all;
}

Letters letters(const VitConfig& config) {
  const Sizes s = sizes_of(config.block, config.d_model);
  Letters all = {{"X", config.channels},   {"P", config.patch_size}, {"T", config.tokens()},
                 {"L", config.num_layers}, {"D", s.d_model},         {"H", s.heads},
                 {"G", s.kv_heads},        {"E", s.head_dim},        {"F", s.d_ff}};
  if (!config.labels.empty()) all.emplace_back("C", std::ssize(config.labels));
  return all;
}

Letters letters(const RnnSeq2SeqConfig& config) {
  Letters all = {{"U", config.source_vocab_size}, {"V", config.vocab_size},
                 {"E", config.d_embedding},       {"C", config.encoder_width()},
                 {"M", config.memory_width()},    {"L", config.decoder_layers},
                 {"H", config.d_hidden},          {"D", config.readout_width()}};
  if (const auto* additive = std::get_if<BahdanauAttentionConfig>(&config.attention))
    all.emplace_back("A", additive->width(config.d_hidden));
  return all;
}

// ---- arithmetic ------------------------------------------------------------------------------

/// Adds the multiply-adds of one token in `layers` layers of attention.
void add_attention_products(ForwardFlops& products, const Sizes& s, int64_t layers, int64_t keys) {
  products.projections +=
      real(layers) * real(s.d_model) * real((2 * s.heads + 2 * s.kv_heads) * s.head_dim);
  products.attention += real(layers) * 2 * real(keys) * real(s.heads * s.head_dim);
}

/// The same of `layers` blocks without attention to a source.
void add_block_products(ForwardFlops& products, const Sizes& s, int64_t layers, int64_t keys) {
  add_attention_products(products, s, layers, keys);
  products.feed_forward += real(layers) * real(s.d_model) * real(s.d_ff) * (s.gated ? 3 : 2);
}

ForwardFlops multiply_adds(const GptConfig& config, int64_t keys) {
  ForwardFlops products;
  add_block_products(products, sizes_of(config.block, config.d_model), config.num_layers, keys);
  products.output = real(config.d_model) * real(config.vocab_size);
  return products;
}

ForwardFlops multiply_adds(const TransformerConfig& config, int64_t keys) {
  const Sizes s = sizes_of(config.block, config.d_model);
  ForwardFlops products;
  add_block_products(products, s, config.encoder_layers + config.decoder_layers, keys);
  // Attention to the source, whose keys and values are those of one source token.
  add_attention_products(products, s, config.decoder_layers, keys);
  products.output = real(s.d_model) * real(config.vocab_size);
  return products;
}

/// Logits of how many tokens out of one are computed: those behind [MASK] (Devlin et al. 2019,
/// section 3.1).
double predicted_share(const BertConfig& config) {
  return std::holds_alternative<MaskedLmHeadConfig>(config.head) ? 0.15 : 0;
}
double predicted_share(const auto&) { return 1; }

/// Of one token of `keys` that a picture has; the classes are told from all of them together.
ForwardFlops multiply_adds(const VitConfig& config, int64_t keys) {
  ForwardFlops products;
  add_block_products(products, sizes_of(config.block, config.d_model), config.num_layers, keys);
  products.embedding = real(config.patch_inputs()) * real(config.d_model);
  double outputs = 1;  // of the last convolution in a patch; four times as many of the one before
  for (int64_t layer = config.stem_layers(); layer >= 1; --layer, outputs *= 4)
    products.embedding +=
        outputs * 9 * real(config.stem_channels(layer - 1)) * real(config.stem_channels(layer));
  products.output = real(config.d_model) * real(std::ssize(config.labels)) / real(keys);
  return products;
}

ForwardFlops multiply_adds(const BertConfig& config, int64_t keys) {
  ForwardFlops products;
  add_block_products(products, sizes_of(config.block, config.d_model), config.num_layers, keys);
  products.output =
      predicted_share(config) * real(config.d_model) * real(config.d_model + config.vocab_size);
  return products;
}

ForwardFlops multiply_adds(const RnnSeq2SeqConfig& config, int64_t keys) {
  const double gates = real(gates_of(config.cell));
  const double d_hidden = real(config.d_hidden), memory = real(config.memory_width());
  ForwardFlops products;
  for (int64_t l = 0; l < config.encoder_layers; ++l)
    products.recurrent += gates * memory * real(encoder_input(config, l) + config.encoder_width());
  for (int64_t l = 0; l < config.decoder_layers; ++l)
    products.recurrent += gates * d_hidden * (real(decoder_input(config, l)) + d_hidden);
  if (config.bridge == Bridge::project)  // once for a source
    products.recurrent += real(config.decoder_layers) * d_hidden * memory *
                          (config.cell == RecurrentCell::lstm ? 2 : 1) / real(keys);
  if (config.has_attention()) {
    const auto* additive = std::get_if<BahdanauAttentionConfig>(&config.attention);
    const double width = additive == nullptr ? d_hidden : real(additive->width(config.d_hidden));
    if (additive != nullptr) products.projections += width * d_hidden;
    if (additive != nullptr || std::holds_alternative<GeneralAttentionConfig>(config.attention))
      products.projections += width * memory;  // the keys
    products.attention += real(keys) * (width + memory);
  }
  if (config.readout != Readout::state)
    products.output += real(readout_input(config)) * real(readout_products(config));
  products.output += real(config.readout_width()) * real(config.vocab_size);
  return products;
}

// ---- memory ----------------------------------------------------------------------------------

/// Numbers that autograd keeps of one token beside a norm's input and output: mean and deviation;
/// of RMSNorm, the normalised vector and its scale.
double kept_in_norm(const NormConfig& norm, double width) {
  return std::holds_alternative<RmsNormConfig>(norm) ? width + 1 : 2;
}

/// The same of an attention sub-layer with its norm.
double kept_in_attention(const Sizes& s, const BlockConfig& block, const DropoutConfig& dropout,
                         bool rotates, int64_t tokens) {
  const double d_model = real(s.d_model);
  const double queries = real(s.heads * s.head_dim), keys = real(s.kv_heads * s.head_dim);
  double kept = 2 * d_model + kept_in_norm(block.norm, d_model);
  kept += queries + 2 * keys;  // q, k, v: one product
  kept += queries;             // attended values
  if (block.attention.qk_norm) {
    kept += queries + keys + real(s.heads + s.kv_heads);
    if (!rotates) kept += queries + keys;
  }
  // Turned queries and keys; the values are then joined from another order of the memory.
  if (rotates) kept += 2 * queries + keys;
  if (dropout.residual > 0) kept += d_model;
  // The fused kernel keeps the logarithm of each sum. With attention dropout the weights themselves
  // are kept: softmax, noise, product.
  kept += dropout.attention > 0 ? 3 * real(s.heads) * real(tokens) : real(s.heads);
  return kept;
}

/// The same of a feed-forward sub-layer: input and output of the activation, which are one for
/// ReLU; of a gated one both products, the activation and what the gate lets through.
double kept_in_feed_forward(const Sizes& s, const BlockConfig& block,
                            const DropoutConfig& dropout) {
  const double d_model = real(s.d_model);
  const bool relu = std::visit([](const auto& f) { return f.activation == Activation::relu; },
                               block.feed_forward);
  double kept = 2 * d_model + kept_in_norm(block.norm, d_model);
  kept += real(s.d_ff) * (s.gated ? 4 : relu ? 1 : 2);
  if (dropout.residual > 0) kept += d_model;
  return kept;
}

/// The same of `layers` blocks without attention to a source, and of the embeddings' dropout.
double kept_in_blocks(const Sizes& s, const auto& config, bool rotates, int64_t layers,
                      int64_t tokens) {
  const double block = kept_in_attention(s, config.block, config.dropout, rotates, tokens) +
                       kept_in_feed_forward(s, config.block, config.dropout);
  return real(layers) * block + (config.dropout.embedding > 0 ? real(s.d_model) : 0);
}

/// The same of the norm behind pre-norm blocks, its output left out.
double kept_at_end(const BlockConfig& block, double d_model) {
  return block.placement == NormPlacement::pre ? d_model + kept_in_norm(block.norm, d_model) : 0;
}

bool rotates(const PositionConfig& position) {
  return std::holds_alternative<RopePositionConfig>(position);
}

double kept_of_token(const GptConfig& config, int64_t tokens) {
  const Sizes s = sizes_of(config.block, config.d_model);
  const double d_model = real(s.d_model);
  return kept_in_blocks(s, config, rotates(config.position), config.num_layers, tokens) +
         kept_at_end(config.block, d_model) + d_model;
}

double kept_of_token(const TransformerConfig& config, int64_t tokens) {
  const Sizes s = sizes_of(config.block, config.d_model);
  const double d_model = real(s.d_model);
  const bool turns = rotates(config.position);
  const double encoder = kept_in_blocks(s, config, turns, config.encoder_layers, tokens);
  const double decoder = kept_in_blocks(s, config, turns, config.decoder_layers, tokens);
  // Attention to the source does not turn; all layers read one memory.
  const double cross = kept_in_attention(s, config.block, config.dropout, false, tokens);
  return encoder + decoder + real(config.decoder_layers) * cross +
         2 * (kept_at_end(config.block, d_model) + d_model);
}

double kept_of_token(const BertConfig& config, int64_t tokens) {
  const Sizes s = sizes_of(config.block, config.d_model);
  const double d_model = real(s.d_model), norm = kept_in_norm(config.block.norm, d_model);
  double kept = kept_in_blocks(s, config, rotates(config.position), config.num_layers, tokens) +
                kept_at_end(config.block, d_model);
  if (config.embedding_norm) kept += d_model + norm;
  if (!std::holds_alternative<NoHeadConfig>(config.head)) kept += d_model;
  // What the head makes of a masked place: its projection, activation and norm.
  return kept + predicted_share(config) * (3 * d_model + norm);
}

double kept_of_token(const VitConfig& config, int64_t tokens) {
  const Sizes s = sizes_of(config.block, config.d_model);
  double patch = real(config.patch_inputs()), outputs = 1;
  for (int64_t layer = config.stem_layers(); layer >= 1; --layer, outputs *= 4)  // windows, ReLU
    patch += outputs * real(9 * config.stem_channels(layer - 1) + config.stem_channels(layer));
  // The class token's place is a view of all vectors; a mean of them needs none.
  const double read = config.has_class_token() && !config.labels.empty() ? real(s.d_model) : 0;
  return read + kept_in_blocks(s, config, false, config.num_layers, tokens) +
         kept_at_end(config.block, real(s.d_model)) + patch;
}

double kept_of_token(const RnnSeq2SeqConfig& config, int64_t tokens) {
  const double gates = real(gates_of(config.cell)) + 2;  // with the states
  double kept = 2 * real(config.d_embedding);
  kept += real(config.encoder_layers) * gates * real(config.memory_width());
  kept += real(config.decoder_layers) * gates * real(config.d_hidden);
  kept += real(config.context_width()) + real(readout_input(config) + readout_products(config));
  if (const auto* additive = std::get_if<BahdanauAttentionConfig>(&config.attention))
    kept += real(tokens) * real(additive->width(config.d_hidden));  // the tanh of every pair
  if (config.has_attention()) kept += 2 * real(tokens);
  return kept;
}

/// Logits that a training step makes of each token, on average.
double logits_of_token(const auto& config) {
  return predicted_share(config) * real(config.vocab_size);
}
double logits_of_token(const VitConfig&) { return 0; }

void add_activations(TrainingMemory& memory, const auto& config, const TrainingShape& shape) {
  const double tokens = real(shape.batch) * real(shape.tokens);
  const double bytes = shape.half_precision ? 2 : 4;
  const double logits = logits_of_token(config);
  // Logits, their log-softmax and their gradient; the last two are float32 in any case.
  memory.kept = tokens * (bytes * kept_of_token(config, shape.tokens) + 4 * logits);
  memory.activations = memory.kept + tokens * (bytes + 4) * logits;
}

/// Numbers that a decoder keeps of each token.
double cached_numbers(const GptConfig& config) {
  const Sizes s = sizes_of(config.block, config.d_model);
  return 2 * real(config.num_layers * s.kv_heads * s.head_dim);
}
double cached_numbers(const TransformerConfig& config) {
  const Sizes s = sizes_of(config.block, config.d_model);
  return 4 * real(config.decoder_layers * s.kv_heads * s.head_dim);
}
double cached_numbers(const BertConfig&) { return 0; }
double cached_numbers(const VitConfig&) { return 0; }
double cached_numbers(const RnnSeq2SeqConfig& config) {
  if (!config.has_attention()) return 0;
  int64_t numbers = config.memory_width();
  if (const auto* additive = std::get_if<BahdanauAttentionConfig>(&config.attention))
    numbers += additive->width(config.d_hidden);
  if (std::holds_alternative<GeneralAttentionConfig>(config.attention)) numbers += config.d_hidden;
  return real(numbers);
}

/// Layers whose attention weights could be held, and their query heads.
struct ScoredLayers {
  int64_t layers, heads;
};
ScoredLayers scored_layers(const TransformerConfig& config) {
  return {config.encoder_layers + 2 * config.decoder_layers, config.block.attention.num_heads};
}
ScoredLayers scored_layers(const RnnSeq2SeqConfig& config) {
  return {config.has_attention() ? 1 : 0, 1};
}
ScoredLayers scored_layers(const auto& config) {
  return {config.num_layers, config.block.attention.num_heads};
}

}  // namespace

int64_t ParameterCost::count() const {
  int64_t product = copies;
  for (const int64_t size : shape) product *= size;
  return product;
}

std::vector<ParameterCost> parameter_costs(const ModelConfig& config) {
  return std::visit([](const auto& model) { return costs(model); }, config);
}

int64_t parameter_count(const ModelConfig& config) {
  int64_t total = 0;
  for (const ParameterCost& parameter : parameter_costs(config)) total += parameter.count();
  return total;
}

ForwardFlops forward_flops_by_part(const ModelConfig& config, int64_t keys) {
  ForwardFlops found =
      std::visit([&](const auto& model) { return multiply_adds(model, keys); }, config);
  for (double* part : {&found.embedding, &found.projections, &found.attention, &found.feed_forward,
                       &found.recurrent, &found.output})
    *part *= 2;
  return found;
}

double forward_flops(const ModelConfig& config, int64_t keys) {
  return forward_flops_by_part(config, keys).total();
}

GenerationFlops generation_flops(const GptConfig& config, int64_t tokens) {
  const ForwardFlops one = forward_flops_by_part(config, 1);
  const double n = real(tokens), rest = one.projections + one.feed_forward;
  const double first = n * (n + 1) / 2, second = n * (n + 1) * (2 * n + 1) / 6;  // sums of k, k^2
  return {n * (rest + one.output) + first * one.attention,
          n * one.output + first * rest + second * one.attention};
}

TrainingMemory training_memory(const ModelConfig& config, const TrainingShape& shape) {
  const double parameters = static_cast<double>(parameter_count(config));
  TrainingMemory memory;
  memory.weights = memory.gradients = 4 * parameters;
  memory.optimizer = 4 * parameters * static_cast<double>(shape.optimizer_states);
  std::visit([&](const auto& model) { add_activations(memory, model, shape); }, config);
  return memory;
}

double kv_cache_bytes(const ModelConfig& config, int64_t batch, int64_t tokens,
                      int64_t bytes_per_number) {
  return std::visit([](const auto& model) { return cached_numbers(model); }, config) * real(batch) *
         real(tokens) * real(bytes_per_number);
}

std::vector<KvCacheForm> kv_cache_forms(const ModelConfig& config, int64_t batch, int64_t tokens,
                                        int64_t bytes_per_number) {
  std::vector<KvCacheForm> forms;
  std::visit(
      [&](auto model) {
        if constexpr (requires { model.block.attention; }) {
          if (cached_numbers(model) == 0) return;
          AttentionConfig& attention = model.block.attention;
          const int64_t heads = attention.num_heads, own = attention.kv_heads();
          const auto add = [&](const char* name, int64_t kv_heads) {
            attention.num_kv_heads = kv_heads;
            forms.push_back({name, kv_heads, kv_cache_bytes(model, batch, tokens, bytes_per_number),
                             kv_heads == own});
          };
          add("MHA", heads);
          if (own != heads && own != 1) add("GQA", own);
          if (heads != 1) add("MQA", 1);
        }
      },
      config);
  return forms;
}

ScoreBytes attention_score_bytes(const ModelConfig& config, int64_t batch, int64_t tokens,
                                 int64_t bytes_per_number) {
  const ScoredLayers scored =
      std::visit([](const auto& model) { return scored_layers(model); }, config);
  const double layer =
      real(batch) * real(scored.heads) * real(tokens) * real(tokens) * real(bytes_per_number);
  return {scored.layers > 0 ? layer : 0, layer * real(scored.layers)};
}

ZeroMemory zero_memory(double parameters, int64_t ranks, const StateBytes& bytes) {
  const double n = real(ranks);
  return {parameters * bytes.total(),
          parameters * (bytes.weight + bytes.gradient + bytes.optimizer / n),
          parameters * (bytes.weight + (bytes.gradient + bytes.optimizer) / n),
          parameters * bytes.total() / n};
}

std::vector<std::pair<std::string, int64_t>> letter_sizes(const ModelConfig& config) {
  return std::visit([](const auto& model) { return letters(model); }, config);
}

int64_t longest_context(const ModelConfig& config) {
  return std::visit(
      [](const auto& model) {
        if constexpr (requires { model.max_source_length; })
          return std::max(model.max_length, model.max_source_length);
        else if constexpr (requires { model.max_length; })
          return model.max_length;
        else
          return model.tokens();
      },
      config);
}

}  // namespace zoo
