#pragma once
// Multi-head self-attention with shared key/value heads (Vaswani et al. 2017, section 3.2.2;
// Shazeer 2019; Ainslie et al. 2023).

#include "nn/attend.h"
#include "nn/cache.h"
#include "nn/config.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/position/position.h"
#include "nn/tap.h"

namespace zoo {

/// What all layers of one forward pass share.
struct AttentionScope {
  const PositionImpl* position = nullptr;
  PositionTables tables;
  AttendOptions options;     ///< mask, causal, dropout
  KvCache* cache = nullptr;  ///< read and extended when given
  Tap* tap = nullptr;
};

class AttentionImpl : public torch::nn::Module {
 public:
  /// @throws ConfigError if the heads do not divide the width
  AttentionImpl(const AttentionConfig& config, int64_t d_model);
  /// @param x (B, T, D)  @param layer its place in the cache  @return (B, T, D)
  Tensor forward(const Tensor& x, const AttentionScope& scope, int64_t layer);

  Linear qkv{nullptr};                    ///< D to (H + 2G) E: queries, then keys, then values
  Linear out{nullptr};                    ///< H E to D
  Norm q_norm{nullptr}, k_norm{nullptr};  ///< per head (E), null without qk_norm

 private:
  int64_t num_heads_, num_kv_heads_, head_dim_;
};
TORCH_MODULE(Attention);

}  // namespace zoo
