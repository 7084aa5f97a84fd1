#pragma once
// What the files of a byte-level BPE tokenizer hold, and the files.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/special_roles.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_split.h"

namespace zoo {

struct BpeModel {
  struct Merge {
    int32_t left, right;  ///< ids of two neighbours
    int32_t result;       ///< id of the token that replaces them
  };

  std::vector<std::string> pieces;  ///< by id, in the byte alphabet; "" where no token has the id
  std::vector<Merge> merges;        ///< the ones to do first come first
  std::vector<AddedToken> added;
  SpecialIds roles;
  WordSplit split = WordSplit::gpt2;
  bool composes = false;           ///< text is put into Unicode's form NFC first
  bool whole_words_first = false;  ///< a word that is a token needs no merges ("ignore_merges")
  bool add_prefix_space = false;   ///< a blank is put before text that does not start with one
  std::string post_processor =
      "null";  ///< tokenizer.json's entry as JSON: kept, not used by encode()
};

/// GPT-2's vocab.json and merges.txt, named encoder.json and vocab.bpe by OpenAI; Qwen's where the
/// tokenizer_config.json beside them says so.
/// @throws DataError, FormatError
BpeModel read_gpt2_files(const fs::path& vocab, const fs::path& merges);

/// A tokenizer.json of model BPE with the words of GPT-2, SmolLM, Llama 3 or Qwen.
/// @param path where `json` came from: named in messages, its folder is looked into for roles
BpeModel bpe_model_from_json(const nlohmann::json& json, const fs::path& path);

/// Writes tokenizer.json and tokenizer_config.json; of GPT-2's kind vocab.json and merges.txt too,
/// which do not say how text becomes words.
void write_bpe_files(const BpeModel& model, const fs::path& folder);

}  // namespace zoo
