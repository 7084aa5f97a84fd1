#pragma once
// The parts of Hugging Face's tokenizer files that several tokenizers share.

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "tokenizer/added_tokens.h"

namespace zoo {

/// As parse_json(), for objects with thousands of keys. @throws FormatError
nlohmann::json parse_large_json(std::string_view text, const std::string& where);

/// The member of an object, null where there is none.
const nlohmann::json& json_member(const nlohmann::json& object, const char* key);

/// Refuses a setting of a tokenizer.json that would change the ids and that is not followed here.
/// @param kind what is read: "a byte-level BPE of GPT-2's kind"  @throws DataError unless `holds`
void require_setting(bool holds, const fs::path& path, const char* key, const nlohmann::json& found,
                     const char* allowed, const char* kind);

/// {"token": id, …} as tokens by id, "" where no token has the id.
/// @throws FormatError if an id is no whole number, is taken twice or is far out of range
std::vector<std::string> read_vocabulary(const nlohmann::json& json, const std::string& where);
void write_vocabulary(const std::vector<std::string>& pieces, std::ostream& out);

/// tokenizer.json's `added_tokens`, put into `added` and, where they are new, into `pieces`.
/// @throws FormatError, DataError for a setting that is not followed here
void read_added_tokens(const nlohmann::json& json, const std::string& where,
                       std::vector<std::string>& pieces, std::vector<AddedToken>& added);
/// The same from the files that stand beside a vocab.json: `added_tokens_decoder` of
/// tokenizer_config.json, or else added_tokens.json.
void read_added_tokens_beside(const fs::path& folder, std::vector<std::string>& pieces,
                              std::vector<AddedToken>& added);
Json added_tokens_json(std::vector<AddedToken> added);

}  // namespace zoo
