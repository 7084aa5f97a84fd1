#pragma once
// A text encoder opened for a command, with what reads texts for it.

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "evaluation/text_batches.h"
#include "tokenizer/text_input.h"

namespace zoo::cli {

struct TextModel {
  LoadedModel loaded;
  std::shared_ptr<TextEncoder> model;
  std::optional<TextEncoding> encoding;  ///< always set
};

/// @param command in messages: "classify"  @throws ConfigError without a path or for another kind
/// of model, DataError without a tokenizer
TextModel load_text_model(const std::string& command, const std::string& path,
                          const GlobalOptions& globals);

/// The two texts of a line with one tab between. @throws DataError, naming `where`, otherwise
std::pair<std::string_view, std::string_view> split_pair(std::string_view line,
                                                         const std::string& where);

/// A line for the model: a text, or with `pair` two that a tab separates.
/// @throws DataError with `pair`, naming `where`, for a line without exactly one tab
EncodedText encode_line(const TextEncoding& encoding, const std::string& line, bool pair,
                        const std::string& where);

inline TextRow row_of(const EncodedText& text) { return {text.ids, text.first_length}; }

}  // namespace zoo::cli
