#pragma once
// How sentence-transformers' folders say that a text's vector is pooled: 1_Pooling/config.json
// beside a bare encoder.

#include "core/files.h"
#include "models/model_config.h"

namespace zoo {

/// Sets pooling and pooler of a bare encoder as the folder says, if it does.
/// @throws DataError for a way of pooling that we do not have
void read_sentence_pooling(const fs::path& folder, ModelConfig& config);

/// Writes it for a bare encoder whose vector has no pooler.
void write_sentence_pooling(const fs::path& folder, const ModelConfig& config);

}  // namespace zoo
