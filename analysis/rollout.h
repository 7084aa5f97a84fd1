#pragma once
// Attention rollout: what the tokens of the first layer contribute to those of the last one, if
// attention were all that mixes them (Abnar & Zuidema 2020, "Quantifying Attention Flow in
// Transformers", section 3.1).

#include "data/image.h"
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
/// The same of a rollout. @param rollout (B, T, T), T = R S or, with a class token, 1 + R S
Tensor patch_relevance(const Tensor& rollout, int64_t rows, int64_t columns);

/// A picture as the model saw it, in grey, under the colours of what each patch contributes, from
/// the least, black, by red and yellow to the most, white; at least 448 pixels on each side.
/// @param input (X, Y, Z) float32 on the CPU  @param relevance (R, S) float32 on the CPU
Image relevance_picture(const Tensor& input, const ImageInputConfig& config,
                        const Tensor& relevance);

}  // namespace zoo
