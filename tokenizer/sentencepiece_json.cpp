#include "tokenizer/sentencepiece_json.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/utf8.h"
#include "tokenizer/hf_json.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/special_roles.h"

namespace zoo {

namespace {

using Model = SentencePieceModelFile;
using PieceType = Model::PieceType;

constexpr const char* kKind = "a tokenizer of SentencePiece's kind";

std::string text_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = json_member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

/// A step, or the steps of a Sequence of them. @param list the key of a Sequence's steps
std::vector<nlohmann::json> steps_of(const nlohmann::json& step, const char* list) {
  if (step.is_null()) return {};
  if (text_of(step, "type") != "Sequence") return {step};
  return json_member(step, list).get<std::vector<nlohmann::json>>();
}

std::string from_base64(std::string_view text, const std::string& where) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos)
      throw FormatError(where + ": expected base64, found another character");
    group = group << 6 | static_cast<uint32_t>(digit);
    if ((bits += 6) < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFF);
  }
  return bytes;
}

/// A step that replaces `pattern`, a text or a regular expression.
bool replaces(const nlohmann::json& step, const char* pattern) {
  const nlohmann::json& found = json_member(step, "pattern");
  return text_of(step, "type") == "Replace" &&
         (text_of(found, "Regex") == pattern || text_of(found, "String") == pattern);
}

void read_normalizer(const nlohmann::json& json, const fs::path& path, Model& model) {
  for (const nlohmann::json& step : steps_of(json_member(json, "normalizer"), "normalizers")) {
    const std::string type = text_of(step, "type");
    if (type == "Precompiled") {
      model.charsmap = from_base64(text_of(step, "precompiled_charsmap"),
                                   utf8(path) + "#/normalizer/precompiled_charsmap");
    } else if (replaces(step, " {2,}")) {
      model.remove_extra_whitespaces = true;
    } else if (type == "Prepend" && text_of(step, "prepend") == kBlankMark) {
      model.add_dummy_prefix = true;
    } else {
      // Blanks at the ends, and their mark, which a .model file says by its two switches.
      const bool known = replaces(step, " ") || replaces(step, "\\A | \\z") ||
                         replaces(step, "\\A +| +\\z") || replaces(step, "\\A▁") || type == "Strip";
      require_setting(known, path, "normalizer", step,
                      "Precompiled, Prepend of \"▁\", Strip and the replacement of blanks", kKind);
    }
  }
}

void read_pre_tokenizer(const nlohmann::json& json, const fs::path& path, Model& model) {
  for (const nlohmann::json& step : steps_of(json_member(json, "pre_tokenizer"), "pretokenizers")) {
    const std::string type = text_of(step, "type");
    if (type == "Metaspace") {
      const std::string scheme = text_of(step, "prepend_scheme");
      model.add_dummy_prefix = scheme.empty()
                                   ? json_member(step, "add_prefix_space") != nlohmann::json(false)
                                   : scheme != "never";
    } else {
      require_setting(type == "WhitespaceSplit", path, "pre_tokenizer", step,
                      "Metaspace and WhitespaceSplit", kKind);
      model.remove_extra_whitespaces = true;
    }
  }
}

void read_unigram(const nlohmann::json& found, const std::string& where, Model& model) {
  model.algorithm = Model::Algorithm::unigram;
  try {
    for (const nlohmann::json& entry : found.at("vocab"))
      model.pieces.push_back({entry.at(0).get<std::string>(), entry.at(1).get<float>()});
    model.pieces.at(found.at("unk_id").get<size_t>()).type = PieceType::unknown;
  } catch (const std::exception&) {
    throw FormatError(where +
                      ": expected vocab, a list of [piece, score], and unk_id, a place in it");
  }
}

/// A merge in either form, "left right" or ["left", "right"], as the piece that it makes.
std::string merged(const nlohmann::json& merge) {
  if (merge.is_array()) return merge.at(0).get<std::string>() + merge.at(1).get<std::string>();
  std::string text = merge.get<std::string>();
  text.erase(text.find(' '), 1);
  return text;
}

void read_bpe(const nlohmann::json& found, const std::string& where, Model& model) {
  model.algorithm = Model::Algorithm::bpe;
  // A piece that no merge makes is a character, or never comes from text.
  std::unordered_map<std::string, float> ranks;
  float rank = 0;
  try {
    for (const nlohmann::json& merge : found.at("merges")) ranks.emplace(merged(merge), -rank++);
  } catch (const std::exception&) {
    throw FormatError(where + "/merges: expected a list of pairs of pieces");
  }
  const std::string unknown = text_of(found, "unk_token");
  for (std::string& text : read_vocabulary(json_member(found, "vocab"), where + "/vocab")) {
    const auto merge = ranks.find(text);
    const bool is_made = merge != ranks.end() || next_utf8(text).length >= text.size();
    model.pieces.push_back({text, merge == ranks.end() ? 0 : merge->second,
                            text == unknown ? PieceType::unknown
                            : is_made       ? PieceType::normal
                                            : PieceType::unused});
  }
}

/// Added tokens become the pieces of their kind, and bytes theirs.
void read_types(const nlohmann::json& json, const fs::path& path, Model& model) {
  std::vector<std::string> texts;
  for (const Model::Piece& piece : model.pieces) texts.push_back(piece.text);
  std::vector<AddedToken> added;
  read_added_tokens(json_member(json, "added_tokens"), utf8(path) + "#/added_tokens", texts, added);
  for (size_t id = model.pieces.size(); id < texts.size(); ++id)
    model.pieces.push_back({texts[id], 0, PieceType::unused});
  for (const AddedToken& token : added) {
    PieceType& type = model.pieces[static_cast<size_t>(token.id)].type;
    if (type != PieceType::unknown)
      type = token.special ? PieceType::control : PieceType::user_defined;
    else if (token.special)
      model.unknown_surface.clear();  // decoding leaves special tokens out
  }
  if (json_member(json_member(json, "model"), "byte_fallback") == nlohmann::json(true))
    for (Model::Piece& piece : model.pieces)
      if (piece.text.size() == 6 && piece.text.starts_with("<0x") && piece.text.ends_with('>'))
        piece.type = PieceType::byte;
  // Ids that no token has.
  for (size_t id = 0; id < model.pieces.size(); ++id)
    if (model.pieces[id].text.empty())
      model.pieces[id] = {cat("<unused-", id, ">"), 0, PieceType::unused};
  if (std::none_of(model.pieces.begin(), model.pieces.end(),
                   [](const auto& piece) { return piece.type == PieceType::unknown; }))
    throw DataError(utf8(path) + "#/model: names no unknown token, which SentencePiece needs");
}

}  // namespace

bool marks_blanks(const nlohmann::json& json) {
  const auto any = [&](const char* key, const char* list, const char* type) {
    const auto steps = steps_of(json_member(json, key), list);
    return std::any_of(steps.begin(), steps.end(),
                       [&](const auto& step) { return text_of(step, "type") == type; });
  };
  return any("pre_tokenizer", "pretokenizers", "Metaspace") ||
         any("normalizer", "normalizers", "Prepend");
}

std::string sentencepiece_model_from_json(const nlohmann::json& json, const fs::path& path) {
  Model model;
  model.add_dummy_prefix = model.remove_extra_whitespaces = false;
  read_normalizer(json, path, model);
  read_pre_tokenizer(json, path, model);
  const nlohmann::json& found = json_member(json, "model");
  const std::string where = utf8(path) + "#/model";
  if (text_of(found, "type") == "Unigram")
    read_unigram(found, where, model);
  else
    read_bpe(found, where, model);
  read_types(json, path, model);

  const SpecialIds roles =
      read_roles(path.parent_path(), [&](std::string_view name) -> std::optional<int64_t> {
        const auto piece = std::find_if(model.pieces.begin(), model.pieces.end(),
                                        [&](const auto& p) { return p.text == name; });
        if (piece == model.pieces.end()) return std::nullopt;
        return piece - model.pieces.begin();
      });
  const auto role = [&](const std::optional<int64_t>& id) {
    return id ? model.pieces[static_cast<size_t>(*id)].text : "";
  };
  model.bos = role(roles.bos);
  model.eos = role(roles.eos);
  model.pad = role(roles.pad);
  return write_sentencepiece_model(model);
}

}  // namespace zoo
