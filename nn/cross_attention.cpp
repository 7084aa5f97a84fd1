#include "nn/cross_attention.h"

namespace zoo {

CrossAttentionImpl::CrossAttentionImpl(const AttentionConfig& config, int64_t d_model)
    : head_dim_(d_model / config.num_heads) {
  q = register_module("q", Linear(d_model, config.num_heads * head_dim_, config.bias));
  kv = register_module("kv", Linear(d_model, 2 * config.kv_heads() * head_dim_, config.bias));
  out = register_module("out", Linear(config.num_heads * head_dim_, d_model, config.bias));
  out->writes_to_residual = true;
  if (config.qk_norm) {
    q_norm = register_module("q_norm", make_norm(RmsNormConfig{}, head_dim_));
    k_norm = register_module("k_norm", make_norm(RmsNormConfig{}, head_dim_));
  }
}

SourceKeys CrossAttentionImpl::read(const Tensor& memory) {
  const Tensor heads = kv->forward(memory).unflatten(-1, {-1, head_dim_}).transpose(1, 2);
  const auto parts = heads.chunk(2, 1);  // (B, G, S, E) each
  return {k_norm ? k_norm->forward(parts[0]) : parts[0], parts[1]};
}

Tensor CrossAttentionImpl::forward(const Tensor& x, const SourceScope& scope, int64_t layer) {
  const SourceKeys& source = scope.layers[static_cast<size_t>(layer)];
  Tensor queries = q->forward(x).unflatten(-1, {-1, head_dim_});     // (B, T, H, E)
  if (scope.rows != nullptr) queries = scope.rows->spread(queries);  // (P, W, H, E)
  queries = queries.transpose(1, 2);
  if (q_norm) queries = q_norm->forward(queries);

  AttendOptions options = scope.options;
  options.want_weights = scope.tap != nullptr && scope.tap->want_attention;
  const Attended attended = attend(queries, source.k, source.v, options);
  // Back to an order in which rows come first: (B or P, T or W, H, E or S).
  const auto by_row = [&](const Tensor& heads) {
    const Tensor rows = heads.transpose(1, 2);
    return scope.rows == nullptr ? rows : scope.rows->gather(rows);
  };
  if (options.want_weights)
    scope.tap->attention.push_back(by_row(attended.weights).transpose(1, 2));
  return out->forward(by_row(attended.output).flatten(2));
}

}  // namespace zoo
