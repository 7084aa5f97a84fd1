#pragma once
// Attention from the target to the source (Vaswani et al. 2017, section 3.2.3).

#include <vector>

#include "nn/attend.h"
#include "nn/config.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/source_rows.h"
#include "nn/tap.h"

namespace zoo {

/// The keys and values that one layer makes of a source.
struct SourceKeys {
  Tensor k, v;  ///< (B or P, G, S, E)
};

/// What a decoder's layers see of the source.
struct SourceScope {
  std::vector<SourceKeys> layers;
  AttendOptions options;             ///< mask of the source's padding
  const SourceRows* rows = nullptr;  ///< which source a row reads; null: row i reads source i
  Tap* tap = nullptr;
};

class CrossAttentionImpl : public torch::nn::Module {
 public:
  /// The widths suit each other: see check_widths().
  CrossAttentionImpl(const AttentionConfig& config, int64_t d_model);
  /// Keys and values, computed once for each source. @param memory (B, S, D)
  SourceKeys read(const Tensor& memory);
  /// @param x (B, T, D), T = 1 with scope.rows  @return (B, T, D)
  Tensor forward(const Tensor& x, const SourceScope& scope, int64_t layer);

  Linear q{nullptr};                      ///< D to H E
  Linear kv{nullptr};                     ///< D to 2 G E: keys, then values
  Linear out{nullptr};                    ///< H E to D
  Norm q_norm{nullptr}, k_norm{nullptr};  ///< per head (E), null without qk_norm

 private:
  int64_t head_dim_;
};
TORCH_MODULE(CrossAttention);

}  // namespace zoo
