#pragma once
// SentencePiece's tokenizers in the form of Hugging Face's tokenizer.json, read as the .model file
// that says the same.

#include <nlohmann/json.hpp>
#include <string>

#include "core/files.h"

namespace zoo {

/// Whether a tokenizer.json writes blanks as "▁", as SentencePiece does.
bool marks_blanks(const nlohmann::json& json);

/// @param json a tokenizer.json with a Unigram model, or a BPE model that marks_blanks()
/// @param path names it in messages; the special tokens' roles are those of its folder
/// @return the content of a .model file with the same ids. One difference is left: where blanks are
/// kept, a text that begins with one gets a mark before it from SentencePiece, but not from
/// Metaspace
/// @throws FormatError, DataError for a step that SentencePiece does not have
std::string sentencepiece_model_from_json(const nlohmann::json& json, const fs::path& path);

}  // namespace zoo
