#pragma once
// Attention maps as heat maps side by side.

#include "analysis/attention_maps.h"
#include "analysis/plot_grid.h"

namespace zoo {

/// A row of maps for each layer; of a single layer up to four heads in a row. Texts: queries
/// downwards, keys to the right. A picture: what its class token looks at, or without one what all
/// patches look at on average, where the patches lie.
HeatMapGrid attention_grid(const ModelAttention& attention);

/// The rollout of each attention that has one, and of a picture what each patch contributes.
/// @throws ConfigError if none has
HeatMapGrid rollout_grid(const ModelAttention& attention);

}  // namespace zoo
