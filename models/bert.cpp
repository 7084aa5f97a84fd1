#include "models/bert.h"

#include "nn/feed_forward/feed_forward.h"
#include "nn/mask.h"
#include "nn/pooling.h"

namespace zoo {

Bert::Bert(const BertConfig& config) : config_(config) {
  const auto fail = [](const std::string& problem) {
    throw ConfigError(cat("model \"bert\": ", problem));
  };
  if (const std::string problem = config.check(); !problem.empty()) fail(problem);
  if (config.vocab_size == 0) fail("vocab_size is 0; set it, or give a tokenizer that decides it");
  const int64_t d_model = config.d_model, num_heads = config.block.attention.num_heads;
  const auto linear = [&](const char* name, int64_t out, bool with_bias = true) {
    return register_module(name, Linear(d_model, out, with_bias));
  };
  token_embedding = register_module("token_embedding", Embedding(config.vocab_size, d_model));
  if (config.segments > 0)
    segment_embedding = register_module("segment_embedding", Embedding(config.segments, d_model));
  position = register_module(
      "position",
      make_position(config.position, {config.max_length, d_model, num_heads, d_model / num_heads}));
  if (config.embedding_norm)
    embedding_norm = register_module("embedding_norm", make_norm(config.block.norm, d_model));
  blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    blocks->push_back(Block(config.block, d_model, config.dropout.residual));
  if (config.block.placement == NormPlacement::pre)
    final_norm = register_module("final_norm", make_norm(config.block.norm, d_model));
  if (config.pools() && config.pooler != Pooler::none) pooler = linear("pooler", d_model);

  if (const auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&config.head)) {
    transform = linear("transform", d_model);
    transform_norm = register_module("transform_norm", make_norm(config.block.norm, d_model));
    if (!masked_lm->tie_embeddings)
      output = linear("output", config.vocab_size, /*with_bias=*/false);
    output_bias = register_parameter("output_bias", torch::zeros({config.vocab_size}));
    if (masked_lm->next_sentence) next_sentence = linear("next_sentence", 2);
  }
  if (std::holds_alternative<ClassifierHeadConfig>(config.head) ||
      std::holds_alternative<TaggerHeadConfig>(config.head)) {
    const int64_t count = std::ssize(labels_of(config.head));
    if (count == 0) fail("head.labels is empty; name the classes, or give data that decide them");
    classifier = linear("classifier", count);
  }
}

Tensor Bert::drop(const Tensor& x, double rate) const {
  return is_training() && rate > 0 ? at::dropout(x, rate, true) : x;
}

Tensor Bert::encode(const TextBatch& batch, Tap* tap) {
  require_shape(batch.tokens, {-1, -1}, "tokens");
  const int64_t length = batch.tokens.size(1);
  require_shape(batch.lengths, {batch.tokens.size(0)}, "lengths");
  if (length > config_.max_length)
    throw ShapeError(
        cat("tokens: ", length, " of them exceed the model's max_length of ", config_.max_length));
  const PositionSpan span{.past = 0, .length = length, .left_pad = {}};
  AttentionScope scope;
  scope.position = position.get();
  scope.tables = position->prepare(span, token_embedding->weight);
  const Tensor real = real_tokens(batch.lengths, length);  // (B, T) or undefined
  scope.options = padding_mask(real, scope.tables.bias);
  scope.options.dropout = is_training() ? config_.dropout.attention : 0;
  scope.tap = tap;

  Tensor x = token_embedding->forward(batch.tokens);  // (B, T, D)
  if (segment_embedding)
    x = x + (batch.segments.defined() ? segment_embedding->forward(batch.segments)
                                      : segment_embedding->weight[0]);
  x = position->embed(x, span, scope.tables);
  // Padding must not even be large: infinity times a weight of 0 would be NaN.
  if (real.defined()) x = x.masked_fill(real.logical_not().unsqueeze(2), 0);
  if (embedding_norm) x = embedding_norm->forward(x);
  x = drop(x, config_.dropout.embedding);
  const auto show = [&] {
    if (tap != nullptr && tap->want_hidden) tap->hidden.push_back(x);
  };
  show();
  for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
    x = blocks->at<BlockImpl>(layer).forward(x, scope, layer);
    show();
  }
  return final_norm ? final_norm->forward(x) : x;
}

Tensor Bert::pool(const Tensor& hidden, const Tensor& lengths) {
  const Tensor pooled = pool_tokens(hidden, lengths, config_.pooling);  // (B, D)
  if (!pooler) return pooled;
  const Tensor projected = pooler->forward(pooled);
  return config_.pooler == Pooler::tanh ? projected.tanh() : projected.relu();
}

Tensor Bert::logits(const Tensor& hidden, const Tensor& lengths) {
  if (transform) {
    // The transform's activation is the feed-forward's.
    const Activation activation =
        std::visit([](const auto& f) { return f.activation; }, config_.block.feed_forward);
    const Tensor x = transform_norm->forward(activate(transform->forward(hidden), activation));
    return project(x, output ? output->weight : token_embedding->weight, output_bias);
  }
  if (classifier) {
    const bool is_tagger = std::holds_alternative<TaggerHeadConfig>(config_.head);
    const Tensor read = is_tagger ? hidden : pool(hidden, lengths);
    return classifier->forward(drop(read, dropout_of(config_.head)));
  }
  throw ConfigError(
      "model \"bert\": has no head, only vectors; train one, or open a checkpoint that has it");
}

Tensor Bert::next_sentence_logits(const Tensor& hidden, const Tensor& lengths) {
  if (!next_sentence)
    throw ConfigError("model \"bert\": head.next_sentence is off; turn it on before pre-training");
  return next_sentence->forward(pool(hidden, lengths));
}

std::shared_ptr<TextEncoder> Bert::replica() const {
  const DropoutConfig& dropout = config_.dropout;
  const bool draws = dropout.embedding > 0 || dropout.attention > 0 || dropout.residual > 0 ||
                     dropout_of(config_.head) > 0;
  return draws ? nullptr : std::make_shared<Bert>(config_);
}

}  // namespace zoo
