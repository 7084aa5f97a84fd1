#include "nn/config.h"

#include "core/error.h"

namespace zoo {

std::string check_widths(const BlockConfig& block, const PositionConfig& position,
                         int64_t d_model) {
  const AttentionConfig& attention = block.attention;
  if (d_model % attention.num_heads != 0)
    return cat("num_heads ", attention.num_heads, " does not divide d_model ", d_model);
  if (attention.num_heads % attention.kv_heads() != 0)
    return cat("num_kv_heads ", attention.kv_heads(), " does not divide num_heads ",
               attention.num_heads);
  if (std::holds_alternative<RopePositionConfig>(position) &&
      d_model / attention.num_heads % 2 != 0)
    return cat("position \"rope\" turns pairs, but a head is d_model / num_heads = ",
               d_model / attention.num_heads, " wide; choose widths that make it even");
  return "";
}

}  // namespace zoo
