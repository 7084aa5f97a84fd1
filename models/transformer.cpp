#include "models/transformer.h"

#include <cmath>

#include "models/seq2seq_parts.h"
#include "nn/mask.h"

namespace zoo {

void TransformerState::reorder(const Tensor& kept) {
  cache.reorder(kept);
  const Tensor sources = rows.reorder(kept);
  if (!sources.defined()) return;
  const int64_t longest = rows.longest();
  for (SourceKeys& layer : source.layers)
    for (Tensor* part : {&layer.k, &layer.v})
      *part = part->narrow(2, 0, longest).index_select(0, sources);
  source.options = padding_mask(real_tokens(rows.lengths(), longest), {});
}

Transformer::Transformer(const TransformerConfig& config) : config_(config) {
  require_vocabularies(config);
  const int64_t d_model = config.d_model, num_heads = config.block.attention.num_heads;
  const auto positions = [&](int64_t max_length) {
    return make_position(config.position, {max_length, d_model, num_heads, d_model / num_heads});
  };
  const auto norm_at_end = [&](const char* name) -> Norm {
    if (config.block.placement == NormPlacement::post) return nullptr;
    return register_module(name, make_norm(config.block.norm, d_model));
  };
  if (config.tie_embeddings != EmbeddingTying::all)
    source_embedding =
        register_module("source_embedding", Embedding(config.source_vocab_size, d_model));
  target_embedding = register_module("target_embedding", Embedding(config.vocab_size, d_model));
  source_position = register_module("source_position", positions(config.max_source_length));
  target_position = register_module("target_position", positions(config.max_length));
  encoder_blocks = register_module("encoder_blocks", torch::nn::ModuleList());
  for (int64_t layer = 0; layer < config.encoder_layers; ++layer)
    encoder_blocks->push_back(Block(config.block, d_model, config.dropout.residual));
  encoder_norm = norm_at_end("encoder_norm");
  decoder_blocks = register_module("decoder_blocks", torch::nn::ModuleList());
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer)
    decoder_blocks->push_back(DecoderBlock(config.block, d_model, config.dropout.residual));
  decoder_norm = norm_at_end("decoder_norm");
  if (config.tie_embeddings == EmbeddingTying::none)
    output = register_module("output", Linear(d_model, config.vocab_size, /*with_bias=*/false));
  if (config.output_bias)
    output_bias = register_parameter("output_bias", torch::empty({config.vocab_size}));
}

/// What the layers share, apart from masks. The bias of a position is in the tables.
AttentionScope Transformer::scope_for(const PositionImpl& position,
                                      const PositionSpan& span) const {
  AttentionScope scope;
  scope.position = &position;
  scope.tables = position.prepare(span, target_embedding->weight);
  return scope;
}

/// @param tokens (B, T)  @return (B, T, D)
Tensor Transformer::embed(const Tensor& tokens, EmbeddingImpl& embedding, const PositionSpan& span,
                          const AttentionScope& scope) const {
  Tensor x = embedding.forward(tokens);
  if (config_.scale_embeddings) x = x * std::sqrt(static_cast<double>(config_.d_model));
  x = scope.position->embed(x, span, scope.tables);
  const double dropout = is_training() ? config_.dropout.embedding : 0;
  return dropout > 0 ? at::dropout(x, dropout, true) : x;
}

Encoded Transformer::encode(const Tensor& source, const Tensor& lengths, Tap* tap) {
  require_source(source, lengths, *this);
  const PositionSpan span{.past = 0, .length = source.size(1), .left_pad = {}};
  const Tensor real = real_tokens(lengths, span.length);  // (B, S) or undefined
  AttentionScope scope = scope_for(*source_position, span);
  scope.options = padding_mask(real, scope.tables.bias);
  scope.options.dropout = is_training() ? config_.dropout.attention : 0;
  scope.tap = tap;

  Tensor x = embed(source, *(source_embedding ? source_embedding : target_embedding), span, scope);
  // Padding must not even be large: infinity times a weight of 0 would be NaN.
  if (real.defined()) x = x.masked_fill(real.logical_not().unsqueeze(2), 0);
  const auto show = [&] {
    if (tap != nullptr && tap->want_hidden) tap->hidden.push_back(x);
  };
  show();
  for (int64_t layer = 0; layer < config_.encoder_layers; ++layer) {
    x = encoder_blocks->at<BlockImpl>(layer).forward(x, scope, layer);
    show();
  }
  return {.memory = encoder_norm ? encoder_norm->forward(x) : x, .lengths = lengths, .summary = {}};
}

/// Keys and values of every layer, and the mask.
SourceScope Transformer::read_source(const Encoded& encoded) {
  SourceScope source;
  for (int64_t layer = 0; layer < config_.decoder_layers; ++layer)
    source.layers.push_back(
        decoder_blocks->at<DecoderBlockImpl>(layer).cross_attention->read(encoded.memory));
  source.options = padding_mask(real_tokens(encoded.lengths, encoded.memory.size(1)), {});
  source.options.dropout = is_training() ? config_.dropout.attention : 0;
  return source;
}

/// @param inputs (B, T)  @param cache of the tokens before them, or null
/// @param self_tap for the attention to the target itself, or null  @return (B, T, D)
Tensor Transformer::run_decoder(const Tensor& inputs, KvCache* cache, const SourceScope& source,
                                Tap* self_tap) {
  const PositionSpan span{
      .past = cache == nullptr ? 0 : cache->length(), .length = inputs.size(1), .left_pad = {}};
  require_target_length(span.past + span.length, *this);
  AttentionScope scope = scope_for(*target_position, span);
  scope.options = causal_mask(span.past, span.length, {}, scope.tables.bias, inputs.device());
  scope.options.dropout = is_training() ? config_.dropout.attention : 0;
  scope.cache = cache;
  scope.tap = self_tap;

  Tensor x = embed(inputs, *target_embedding, span, scope);
  const auto show = [&] {
    if (source.tap != nullptr && source.tap->want_hidden) source.tap->hidden.push_back(x);
  };
  show();
  for (int64_t layer = 0; layer < config_.decoder_layers; ++layer) {
    x = decoder_blocks->at<DecoderBlockImpl>(layer).forward(x, scope, source, layer);
    show();
  }
  if (cache != nullptr) cache->advance(span.length);
  return decoder_norm ? decoder_norm->forward(x) : x;
}

Tensor Transformer::decode(const Encoded& encoded, const Tensor& inputs, const TeachArgs& args) {
  require_shape(inputs, {encoded.memory.size(0), -1}, "inputs");
  SourceScope source = read_source(encoded);
  Tensor read = inputs;
  if (args.teacher_forcing < 1) {
    const torch::NoGradGuard no_grad;
    const Tensor own = logits(run_decoder(inputs, nullptr, source, nullptr)).argmax(-1);  // (B, T)
    read = mix_in(inputs, own, draw_teacher(inputs, args.teacher_forcing));
  }
  source.tap = args.tap;
  return run_decoder(read, nullptr, source, args.self_tap);
}

Tensor Transformer::logits(const Tensor& hidden) {
  return project(hidden, output ? output->weight : target_embedding->weight, output_bias);
}

std::unique_ptr<DecodeState> Transformer::start(const Encoded& encoded, int64_t capacity) {
  require_target_length(capacity, *this);
  const AttentionConfig& attention = config_.block.attention;
  const KvCacheShape shape{config_.decoder_layers, encoded.memory.size(0), attention.kv_heads(),
                           capacity, config_.d_model / attention.num_heads};
  auto state = std::make_unique<TransformerState>(
      KvCache(shape, encoded.memory.options().requires_grad(false)), SourceRows(encoded.lengths));
  state->source = read_source(encoded);
  for (SourceKeys& layer : state->source.layers)
    layer = {layer.k.contiguous(), layer.v.contiguous()};
  return state;
}

Tensor Transformer::step(const Tensor& tokens, DecodeState& state, Tap* tap) {
  auto& own = static_cast<TransformerState&>(state);
  require_shape(tokens, {own.batch()}, "tokens");
  own.source.rows = &own.rows;
  own.source.tap = tap;
  return logits(run_decoder(tokens.unsqueeze(1), &own.cache, own.source, nullptr).squeeze(1));
}

std::shared_ptr<Seq2Seq> Transformer::replica() const {
  const DropoutConfig& dropout = config_.dropout;
  const bool draws = dropout.embedding > 0 || dropout.attention > 0 || dropout.residual > 0;
  return draws ? nullptr : std::make_shared<Transformer>(config_);
}

}  // namespace zoo
