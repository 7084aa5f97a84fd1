#include "models/gpt.h"

#include <cmath>

#include "nn/mask.h"

namespace zoo {

void GptState::reorder(const Tensor& rows) {
  cache.reorder(rows);
  if (left_pad.defined()) left_pad = left_pad.index_select(0, rows);
}

Gpt::Gpt(const GptConfig& config) : config_(config) {
  if (const std::string problem = config.check(); !problem.empty())
    throw ConfigError("model \"gpt\": " + problem);
  if (config.vocab_size == 0)
    throw ConfigError(
        "model \"gpt\": vocab_size is 0; set it, or give a tokenizer that decides it");
  const int64_t d_model = config.d_model, num_heads = config.block.attention.num_heads;
  token_embedding = register_module("token_embedding", Embedding(config.vocab_size, d_model));
  position = register_module(
      "position",
      make_position(config.position, {config.max_length, d_model, num_heads, d_model / num_heads}));
  blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    blocks->push_back(Block(config.block, d_model, config.dropout.residual));
  if (config.block.placement == NormPlacement::pre)
    final_norm = register_module("final_norm", make_norm(config.block.norm, d_model));
  if (!config.tie_embeddings)
    output = register_module("output", Linear(d_model, config.vocab_size, /*with_bias=*/false));
}

Tensor Gpt::forward(const Tensor& tokens, const DecodeArgs& args) {
  require_shape(tokens, {-1, -1}, "tokens");
  const int64_t length = tokens.size(1);
  auto* state = static_cast<GptState*>(args.state);
  const int64_t past = state == nullptr ? 0 : state->length();
  if (past + length > config_.max_length)
    throw ShapeError(cat("tokens: ", past + length, " of them exceed the model's max_length of ",
                         config_.max_length));
  if (state != nullptr && args.left_pad.defined()) state->left_pad = args.left_pad;
  const Tensor& left_pad = state == nullptr ? args.left_pad : state->left_pad;

  Tensor x = token_embedding->forward(tokens);  // (B, T, D)
  if (config_.scale_embeddings) x = x * std::sqrt(static_cast<double>(config_.d_model));
  const PositionSpan span{past, length, left_pad};
  AttentionScope scope;
  scope.position = position.get();
  scope.tables = position->prepare(span, x);
  scope.options = causal_mask(past, length, left_pad, scope.tables.bias, tokens.device());
  scope.options.dropout = is_training() ? config_.dropout.attention : 0;
  scope.cache = state == nullptr ? nullptr : &state->cache;
  scope.tap = args.tap;

  x = position->embed(x, span, scope.tables);
  if (is_training() && config_.dropout.embedding > 0)
    x = at::dropout(x, config_.dropout.embedding, true);
  if (past == 0 && left_pad.defined()) {
    // Padding must not even be large: infinity times a weight of 0 would be NaN.
    const Tensor columns = torch::arange(length, left_pad.options());
    x = x.masked_fill((columns < left_pad.unsqueeze(1)).unsqueeze(2), 0);
  }
  const bool want_hidden = args.tap != nullptr && args.tap->want_hidden;
  if (want_hidden) args.tap->hidden.push_back(x);
  for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
    x = blocks->at<BlockImpl>(layer).forward(x, scope, layer);
    if (want_hidden) args.tap->hidden.push_back(x);
  }
  if (state != nullptr) state->cache.advance(length);

  if (args.last_only) x = x.narrow(1, length - 1, 1);
  if (final_norm) x = final_norm->forward(x);
  return output ? output->forward(x) : project(x, token_embedding->weight, {});  // (B, T or 1, V)
}

std::shared_ptr<CausalLm> Gpt::replica() const {
  const DropoutConfig& dropout = config_.dropout;
  const bool draws = dropout.embedding > 0 || dropout.attention > 0 || dropout.residual > 0;
  return draws ? nullptr : std::make_shared<Gpt>(config_);
}

std::unique_ptr<DecodeState> Gpt::start(int64_t batch, int64_t capacity) const {
  const AttentionConfig& attention = config_.block.attention;
  const KvCacheShape shape{config_.num_layers, batch, attention.kv_heads(), capacity,
                           config_.d_model / attention.num_heads};
  return std::make_unique<GptState>(
      KvCache(shape, token_embedding->weight.options().requires_grad(false)));
}

}  // namespace zoo
