#include "tokenizer/wordpiece_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "tokenizer/hf_json.h"
#include "tokenizer/special_roles.h"
#include "tokenizer/word_cache.h"

namespace zoo {

namespace {

/// A switch that may be absent or null.
bool read_switch(const nlohmann::json& object, const char* key, bool otherwise,
                 const std::string& where) {
  const nlohmann::json& value = json_member(object, key);
  if (value.is_null()) return otherwise;
  if (value.is_boolean()) return value.get<bool>();
  throw FormatError(cat(where, "/", key, ": found ", value.dump(), "; allowed are true and false"));
}

/// Accents go with the capitals unless the file says otherwise.
BertTextOptions read_text_options(const nlohmann::json& object, const char* lowercase_key,
                                  const char* ideographs_key, const std::string& where) {
  BertTextOptions options;
  options.lowercase = read_switch(object, lowercase_key, true, where);
  options.strip_accents = read_switch(object, "strip_accents", options.lowercase, where);
  options.split_ideographs = read_switch(object, ideographs_key, true, where);
  return options;
}

/// Finds the roles, and makes the tokens that have one special.
void add_roles(WordPieceModel& model, const fs::path& path) {
  const PieceLookup lookup = [&](std::string_view piece) -> std::optional<int64_t> {
    const auto found = std::find(model.pieces.begin(), model.pieces.end(), piece);
    return found == model.pieces.end() ? std::nullopt
                                       : std::optional<int64_t>(found - model.pieces.begin());
  };
  model.roles = read_roles(path.parent_path(), lookup);
  const SpecialIds usual = conventional_roles(lookup);
  for (const auto role : {&SpecialIds::pad, &SpecialIds::unk, &SpecialIds::cls, &SpecialIds::sep,
                          &SpecialIds::mask}) {
    if (!(model.roles.*role)) model.roles.*role = usual.*role;
    if (!(model.roles.*role)) continue;
    const int64_t id = *(model.roles.*role);
    const auto same = [&](const AddedToken& token) { return token.id == id; };
    if (std::none_of(model.added.begin(), model.added.end(), same))
      model.added.push_back({.content = model.pieces[static_cast<size_t>(id)], .id = id});
  }
  if (!model.roles.unk)
    throw FormatError(cat(utf8(path),
                          ": has no unknown token, such as [UNK]; WordPiece needs one "
                          "for words that it cannot cut"));
}

void require(bool holds, const fs::path& path, const char* key, const nlohmann::json& found,
             const char* allowed) {
  require_setting(holds, path, key, found, allowed, "a WordPiece tokenizer of BERT's kind");
}

}  // namespace

WordPieceModel read_vocab_txt(const fs::path& path) {
  WordPieceModel model;
  const std::string text = read_file(path);
  for_each_line(text, [&](std::string_view line) { model.pieces.emplace_back(line); });
  if (model.pieces.empty())
    throw FormatError(utf8(path) + ": is empty; a vocab.txt has a token a line");
  TextMap<size_t> lines;
  for (size_t id = 0; id < model.pieces.size(); ++id)
    if (const auto [other, is_new] = lines.emplace(model.pieces[id], id);
        !is_new && !model.pieces[id].empty())
      throw FormatError(cat(utf8(path), ":", id + 1, ": \"", model.pieces[id], "\" stands in line ",
                            other->second + 1, " already"));
  const fs::path folder = path.parent_path(), config = folder / "tokenizer_config.json";
  if (fs::exists(config))
    model.text = read_text_options(parse_large_json(read_file(config), utf8(config)),
                                   "do_lower_case", "tokenize_chinese_chars", utf8(config) + "#");
  read_added_tokens_beside(folder, model.pieces, model.added);
  add_roles(model, path);
  return model;
}

WordPieceModel wordpiece_model_from_json(const nlohmann::json& json, const fs::path& path) {
  WordPieceModel model;
  const nlohmann::json& normalizer = json_member(json, "normalizer");
  require(json_member(normalizer, "type") == "BertNormalizer" &&
              read_switch(normalizer, "clean_text", true, utf8(path) + "#/normalizer"),
          path, "normalizer", normalizer, "{\"type\": \"BertNormalizer\"} with clean_text");
  model.text = read_text_options(normalizer, "lowercase", "handle_chinese_chars",
                                 utf8(path) + "#/normalizer");
  const nlohmann::json& splitter = json_member(json, "pre_tokenizer");
  require(json_member(splitter, "type") == "BertPreTokenizer", path, "pre_tokenizer", splitter,
          "{\"type\": \"BertPreTokenizer\"}");
  const nlohmann::json& source = json_member(json, "model");
  model.pieces = read_vocabulary(json_member(source, "vocab"), utf8(path) + "#/model/vocab");
  if (json_member(source, "continuing_subword_prefix").is_string())
    model.prefix = source["continuing_subword_prefix"];
  if (json_member(source, "max_input_chars_per_word").is_number_unsigned())
    model.max_characters = source["max_input_chars_per_word"];
  read_added_tokens(json_member(json, "added_tokens"), utf8(path) + "#/added_tokens", model.pieces,
                    model.added);
  add_roles(model, path);
  const nlohmann::json& unknown = json_member(source, "unk_token");
  require(unknown.is_null() || unknown == model.pieces[static_cast<size_t>(*model.roles.unk)], path,
          "model/unk_token", unknown, "the folder's unk_token");
  return model;
}

void write_wordpiece_files(const WordPieceModel& model, const fs::path& folder) {
  const auto piece = [&](int64_t id) { return model.pieces[static_cast<size_t>(id)]; };
  write_file(folder / "vocab.txt", [&](std::ostream& out) {
    for (const std::string& text : model.pieces) out << text << '\n';
  });
  write_file(folder / "tokenizer.json", [&](std::ostream& out) {
    const Json normalizer = {{"type", "BertNormalizer"},
                             {"clean_text", true},
                             {"handle_chinese_chars", model.text.split_ideographs},
                             {"strip_accents", model.text.strip_accents},
                             {"lowercase", model.text.lowercase}};
    Json frame;  // [CLS] A [SEP], or [CLS] A [SEP] B [SEP]
    if (model.roles.cls && model.roles.sep) {
      const auto named = [&](int64_t id) { return Json::array({piece(id), id}); };
      frame = {{"type", "BertProcessing"},
               {"sep", named(*model.roles.sep)},
               {"cls", named(*model.roles.cls)}};
    }
    const Json decoder = {{"type", "WordPiece"}, {"prefix", model.prefix}, {"cleanup", true}};
    out << R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)"
        << added_tokens_json(model.added).dump() << R"(,"normalizer":)" << normalizer.dump()
        << R"(,"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":)" << frame.dump()
        << R"(,"decoder":)" << decoder.dump() << R"(,"model":{"type":"WordPiece","unk_token":)"
        << Json(piece(*model.roles.unk)).dump() << R"(,"continuing_subword_prefix":)"
        << Json(model.prefix).dump() << R"(,"max_input_chars_per_word":)" << model.max_characters
        << R"(,"vocab":)";
    write_vocabulary(model.pieces, out);
    out << "}}\n";
  });
  Json config = {{"tokenizer_class", "BertTokenizer"},
                 {"do_lower_case", model.text.lowercase},
                 {"strip_accents", model.text.strip_accents},
                 {"tokenize_chinese_chars", model.text.split_ideographs},
                 {"clean_up_tokenization_spaces", true}};
  write_roles(model.roles, piece, config);
  write_json_file(folder / "tokenizer_config.json", config);
}

}  // namespace zoo
