#pragma once
// The position slot: three hooks with do-nothing defaults. The model calls them and never asks
// which variant it has.

#include "core/shape.h"
#include "nn/config.h"

namespace zoo {

/// Where the tokens of one forward pass stand.
struct PositionSpan {
  int64_t past = 0;    ///< tokens before them, padding included
  int64_t length = 0;  ///< T
  Tensor left_pad;  ///< (B) int64 or undefined: position 0 is a row's first token after its padding
};

/// What a variant computes once for all layers of a forward pass.
struct PositionTables {
  Tensor ids;       ///< (B, T) int64 positions, defined only with left padding
  Tensor cos, sin;  ///< rotary: (T, E/2), or (B, 1, T, E/2) with left padding
  Tensor bias;      ///< (1, H, T, K) added to the scores
};

class PositionImpl : public torch::nn::Module {
 public:
  /// @param like gives device and dtype
  virtual PositionTables prepare(const PositionSpan& span, const Tensor& like) const;
  /// Adds position vectors. @param x (B, T, D)  @return (B, T, D)
  virtual Tensor embed(const Tensor& x, const PositionSpan&, const PositionTables&) const {
    return x;
  }
  /// Turns queries or keys. @param heads (B, H or G, T, E)  @return the same shape
  virtual Tensor rotate(const Tensor& heads, const PositionTables&) const { return heads; }
};
TORCH_MODULE(Position);

struct PositionShape {
  int64_t max_length, d_model, num_heads, head_dim;
};

/// The variant that `config` names. @throws ConfigError if the widths do not suit it
Position make_position(const PositionConfig& config, const PositionShape& shape);

}  // namespace zoo
