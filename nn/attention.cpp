#include "nn/attention.h"

namespace zoo {

AttentionImpl::AttentionImpl(const AttentionConfig& config, int64_t d_model)
    : num_heads_(config.num_heads),
      num_kv_heads_(config.kv_heads()),
      head_dim_(d_model / config.num_heads) {
  if (d_model % num_heads_ != 0)
    throw ConfigError(cat("num_heads ", num_heads_, " does not divide d_model ", d_model));
  if (num_heads_ % num_kv_heads_ != 0)
    throw ConfigError(
        cat("num_kv_heads ", num_kv_heads_, " does not divide num_heads ", num_heads_));
  qkv = register_module("qkv",
                        Linear(d_model, (num_heads_ + 2 * num_kv_heads_) * head_dim_, config.bias));
  out = register_module("out", Linear(num_heads_ * head_dim_, d_model, config.bias));
  out->writes_to_residual = true;
  if (config.qk_norm) {
    q_norm = register_module("q_norm", make_norm(RmsNormConfig{}, head_dim_));
    k_norm = register_module("k_norm", make_norm(RmsNormConfig{}, head_dim_));
  }
}

Tensor AttentionImpl::forward(const Tensor& x, const AttentionScope& scope, int64_t layer) {
  const int64_t batch = x.size(0), tokens = x.size(1);
  const Tensor heads =
      qkv->forward(x).view({batch, tokens, -1, head_dim_}).transpose(1, 2);  // (B, H + 2G, T, E)
  // One split, whose gradient is one concatenation; three slices would each pad theirs with zeros.
  const auto parts = heads.split_with_sizes({num_heads_, num_kv_heads_, num_kv_heads_}, 1);
  Tensor q = parts[0], k = parts[1], v = parts[2];  // (B, H, T, E), (B, G, T, E) twice
  if (q_norm) {
    q = q_norm->forward(q);
    k = k_norm->forward(k);
  }
  q = scope.position->rotate(q, scope.tables);
  k = scope.position->rotate(k, scope.tables);
  if (scope.cache != nullptr) std::tie(k, v) = scope.cache->append(layer, k, v);

  AttendOptions options = scope.options;
  options.want_weights = scope.tap != nullptr && scope.tap->want_attention;
  const Attended attended = attend(q, k, v, options);
  if (options.want_weights) scope.tap->attention.push_back(attended.weights);
  return out->forward(attended.output.transpose(1, 2).flatten(2));
}

}  // namespace zoo
