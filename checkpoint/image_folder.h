#pragma once
// preprocessor_config.json: how Hugging Face's folders say what a vision model's pictures must look
// like.

#include "core/files.h"
#include "models/model_config.h"

namespace zoo {

/// Numbers for each channel, as our configs say them: one where all are equal; and their mean for a
/// grey model, where it names those of colours.
std::vector<double> channel_values(const std::vector<double>& values, int64_t channels);

/// Sets a vision model's `input` as the folder says, if it does. @throws DataError for what we do
/// not have, FormatError
void read_image_input(const fs::path& folder, ModelConfig& config);

/// Writes it for a vision model.
void write_image_input(const fs::path& folder, const ModelConfig& config);

}  // namespace zoo
