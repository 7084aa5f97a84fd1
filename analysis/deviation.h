#pragma once
// How far two models are apart in what they say.

#include "core/files.h"

namespace zoo {

struct Deviation {
  double largest = 0;  ///< difference of two logits
  double scale = 0;    ///< the largest logit
};

/// Computes both models' logits (of models without them: vectors) in float32 for the same random
/// inputs, padding included. @param first, second folders, as load_model() opens them
/// @throws ConfigError if the models are of different kinds; and as load_model()
Deviation compare_logits(const fs::path& first, const fs::path& second, uint64_t seed);

}  // namespace zoo
