#pragma once
// What the files of a WordPiece tokenizer hold, and the files.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bert_text.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

struct WordPieceModel {
  std::vector<std::string> pieces;  ///< by id; "" where no token has the id
  std::vector<AddedToken> added;
  SpecialIds roles;  ///< unk is there
  BertTextOptions text;
  std::string prefix = "##";     ///< of pieces that go on with a word
  int64_t max_characters = 100;  ///< words of more are the unknown token
};

/// BERT's vocab.txt: a piece a line. How text is read stands in tokenizer_config.json beside it
/// (do_lower_case, strip_accents, tokenize_chinese_chars); without one, lower-cased.
/// @throws DataError, FormatError
WordPieceModel read_vocab_txt(const fs::path& path);

/// A tokenizer.json of BERT's kind: normalizer BertNormalizer, pre-tokenizer BertPreTokenizer,
/// model WordPiece.
/// @param path where `json` came from: named in messages, its folder is looked into for roles
WordPieceModel wordpiece_model_from_json(const nlohmann::json& json, const fs::path& path);

/// Writes vocab.txt, tokenizer.json and tokenizer_config.json.
void write_wordpiece_files(const WordPieceModel& model, const fs::path& folder);

}  // namespace zoo
