#pragma once
// Attention rollout: what the tokens of the first layer contribute to those of the last one, if
// attention were all that mixes them (Abnar & Zuidema 2020, "Quantifying Attention Flow in
// Transformers", section 3.1).

#include "models/contracts.h"

namespace zoo {

/// @param attention of each layer, (B, H, T, T), rows sum to 1
/// @return (B, T, T): the product of the layers' mean over heads, each averaged with the identity
/// for the residual connection; rows sum to 1
Tensor attention_rollout(const std::vector<Tensor>& attention);

/// What each patch of pictures contributes to the class: the rollout to the class token, or the
/// mean over patches where those are averaged; scaled so that a picture's patches sum to 1.
/// @param images (B, X, Y, Z)  @return (B, R, S) for R rows and S columns of patches
Tensor patch_relevance(ImageEncoder& model, const Tensor& images);

}  // namespace zoo
