#include "tokenizer/bpe_model.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "tokenizer/hf_json.h"

namespace zoo {

namespace {

using Ids = std::unordered_map<std::string_view, int32_t>;

/// The ids of `pieces`, which must stay where they are.
Ids ids_of(const std::vector<std::string>& pieces) {
  Ids ids;
  ids.reserve(pieces.size());
  for (size_t id = 0; id < pieces.size(); ++id)
    if (!pieces[id].empty()) ids.emplace(pieces[id], static_cast<int32_t>(id));
  return ids;
}

PieceLookup lookup_in(const Ids& ids) {
  return [&ids](std::string_view piece) -> std::optional<int64_t> {
    const auto found = ids.find(piece);
    return found == ids.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
}

BpeModel::Merge make_merge(std::string_view left, std::string_view right, const Ids& ids,
                           const std::string& where) {
  std::array<int32_t, 3> found{};
  const std::string result = cat(left, right);
  const std::array<std::string_view, 3> tokens = {left, right, result};
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto entry = ids.find(tokens[i]);
    if (entry == ids.end())
      throw FormatError(cat(where, ": merges \"", left, "\" and \"", right, "\", but \"", tokens[i],
                            "\" is not in the vocabulary; do both come from the same tokenizer?"));
    found[i] = entry->second;
  }
  return {found[0], found[1], found[2]};
}

/// Splits "Ġ t" into its two tokens; no token holds a blank.
std::pair<std::string_view, std::string_view> split_merge(std::string_view line,
                                                          const std::string& where) {
  const size_t blank = line.find(' ');
  if (blank == 0 || blank == std::string_view::npos || blank + 1 == line.size() ||
      line.find(' ', blank + 1) != std::string_view::npos)
    throw FormatError(
        cat(where, ": found \"", line, "\"; a merge is two tokens with a blank between"));
  return {line.substr(0, blank), line.substr(blank + 1)};
}

void require(bool holds, const fs::path& path, const char* key, const nlohmann::json& found,
             const char* allowed) {
  require_setting(holds, path, key, found, allowed, "a byte-level BPE of GPT-2's kind");
}

bool absent_or(const nlohmann::json& object, const char* key, const nlohmann::json& value) {
  return !object.contains(key) || object[key].is_null() || object[key] == value;
}

/// @param numerals what of them makes a word
std::string pattern_of(const char* numerals) {
  return cat(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)", numerals,
             R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
}
std::string llama3_pattern() { return pattern_of(R"(\p{N}{1,3})"); }
std::string qwen2_pattern() { return pattern_of(R"(\p{N})"); }

Json byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

/// tokenizer.json's `pre_tokenizer`.
Json split_json(const BpeModel& model) {
  if (model.split == WordSplit::gpt2) return byte_level(model.add_prefix_space, true);
  Json first = {{"type", "Digits"}, {"individual_digits", true}};
  if (model.split != WordSplit::gpt2_digits) {
    const Json pattern = {
        {"Regex", model.split == WordSplit::qwen2 ? qwen2_pattern() : llama3_pattern()}};
    first = {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}};
  }
  return {{"type", "Sequence"},
          {"pretokenizers", {first, byte_level(false, model.split == WordSplit::gpt2_digits)}}};
}

/// The same read.
void read_split(const nlohmann::json& json, const fs::path& path, BpeModel& model) {
  const auto is_byte_level = [](const nlohmann::json& part, bool use_regex) {
    return json_member(part, "type") == "ByteLevel" &&
           (use_regex ? absent_or(part, "use_regex", true)
                      : json_member(part, "use_regex") == false);
  };
  std::optional<WordSplit> found;
  if (is_byte_level(json, true)) {
    found = WordSplit::gpt2;
    model.add_prefix_space = json_member(json, "add_prefix_space") == true;
  } else if (const nlohmann::json& parts = json_member(json, "pretokenizers");
             parts.is_array() && parts.size() == 2 &&
             json_member(parts[1], "add_prefix_space") != true) {
    const nlohmann::json& pattern = json_member(json_member(parts[0], "pattern"), "Regex");
    if (json_member(parts[0], "type") == "Digits") {
      if (json_member(parts[0], "individual_digits") == true && is_byte_level(parts[1], true))
        found = WordSplit::gpt2_digits;
    } else if (json_member(parts[0], "type") == "Split" && is_byte_level(parts[1], false) &&
               json_member(parts[0], "behavior") == "Isolated" &&
               absent_or(parts[0], "invert", false)) {
      if (pattern == qwen2_pattern()) found = WordSplit::qwen2;
      if (pattern == llama3_pattern()) found = WordSplit::llama3;
    }
  }
  require(
      found.has_value(), path, "pre_tokenizer", json,
      "{\"type\": \"ByteLevel\"} with its own regular expression, single digits before that, or "
      "the regular expression of Llama 3 or Qwen 2 before one without");
  model.split = *found;
}

}  // namespace

BpeModel read_gpt2_files(const fs::path& vocab, const fs::path& merges) {
  BpeModel model;
  model.pieces = read_vocabulary(parse_large_json(read_file(vocab), utf8(vocab)), utf8(vocab));
  const fs::path folder = vocab.parent_path();
  read_added_tokens_beside(folder, model.pieces, model.added);
  const Ids ids = ids_of(model.pieces);

  const std::string text = read_file(merges);
  int64_t line_number = 0;
  for_each_line(text, [&](std::string_view line) {
    ++line_number;
    if (line.empty() || line.starts_with("#version")) return;
    const std::string where = cat(utf8(merges), ":", line_number);
    const auto [left, right] = split_merge(line, where);
    model.merges.push_back(make_merge(left, right, ids, where));
  });
  model.roles = read_roles(folder, lookup_in(ids));
  if (const fs::path config = folder / "tokenizer_config.json"; fs::exists(config)) {
    const nlohmann::json json = parse_large_json(read_file(config), utf8(config));
    const nlohmann::json& name = json_member(json, "tokenizer_class");
    if (name == "Qwen2Tokenizer" || name == "Qwen2TokenizerFast") {
      model.split = WordSplit::qwen2;
      model.composes = true;
    }
  }
  // These files do not say which tokens are special: those with a role are.
  for (const std::optional<int64_t>& role : {model.roles.bos, model.roles.eos, model.roles.pad}) {
    const auto same = [&](const AddedToken& token) { return token.id == *role; };
    if (role && std::none_of(model.added.begin(), model.added.end(), same))
      model.added.push_back({.content = model.pieces[static_cast<size_t>(*role)], .id = *role});
  }
  return model;
}

BpeModel bpe_model_from_json(const nlohmann::json& json, const fs::path& path) {
  const nlohmann::json& source = json["model"];
  BpeModel model;
  const nlohmann::json& normalizer = json_member(json, "normalizer");
  model.composes = json_member(normalizer, "type") == "NFC";
  require(normalizer.is_null() || model.composes, path, "normalizer", normalizer,
          "null or {\"type\": \"NFC\"}");
  read_split(json_member(json, "pre_tokenizer"), path, model);
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, nlohmann::json>>{
           {"dropout", 0.0},
           {"continuing_subword_prefix", ""},
           {"end_of_word_suffix", ""},
           {"byte_fallback", false}})
    require(absent_or(source, key, value), path, cat("model/", key).c_str(),
            json_member(source, key), value.dump().c_str());

  model.whole_words_first = json_member(source, "ignore_merges") == true;
  model.post_processor = json_member(json, "post_processor").dump();
  model.pieces = read_vocabulary(json_member(source, "vocab"), utf8(path) + "#/model/vocab");
  read_added_tokens(json_member(json, "added_tokens"), utf8(path) + "#/added_tokens", model.pieces,
                    model.added);
  const Ids ids = ids_of(model.pieces);

  const nlohmann::json& merges = json_member(source, "merges");
  model.merges.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const nlohmann::json& merge = merges[i];
    const std::string where = cat(utf8(path), "#/model/merges/", i);
    if (merge.is_string()) {
      const auto [left, right] = split_merge(merge.get_ref<const std::string&>(), where);
      model.merges.push_back(make_merge(left, right, ids, where));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      model.merges.push_back(make_merge(merge[0].get_ref<const std::string&>(),
                                        merge[1].get_ref<const std::string&>(), ids, where));
    } else {
      throw FormatError(
          cat(where, ": found ", merge.dump(), "; a merge is \"a b\" or [\"a\", \"b\"]"));
    }
  }
  model.roles = read_roles(path.parent_path(), lookup_in(ids));
  return model;
}

void write_bpe_files(const BpeModel& model, const fs::path& folder) {
  const auto piece = [&](int64_t id) { return model.pieces[static_cast<size_t>(id)]; };
  const auto write_merges = [&](std::ostream& out, const auto& write_one) {
    for (const BpeModel::Merge& merge : model.merges)
      write_one(out, piece(merge.left) + " " + piece(merge.right));
  };

  const bool is_gpt2 =
      model.split == WordSplit::gpt2 && !model.composes && !model.whole_words_first;
  if (is_gpt2) {
    write_file(folder / "vocab.json",
               [&](std::ostream& out) { write_vocabulary(model.pieces, out); });
    write_file(folder / "merges.txt", [&](std::ostream& out) {
      out << "#version: 0.2\n";
      write_merges(out, [](std::ostream& to, const std::string& merge) { to << merge << '\n'; });
    });
  }
  // Written as a stream: Json's objects are slow with thousands of keys.
  write_file(folder / "tokenizer.json", [&](std::ostream& out) {
    out << R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)"
        << added_tokens_json(model.added).dump() << R"(,"normalizer":)"
        << (model.composes ? R"({"type":"NFC"})" : "null") << R"(,"pre_tokenizer":)"
        << split_json(model).dump() << R"(,"post_processor":)" << model.post_processor
        << R"(,"decoder":)" << byte_level(model.add_prefix_space, true).dump()
        << R"(,"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"",)"
        << R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,"ignore_merges":)"
        << (model.whole_words_first ? "true" : "false") << R"(,"vocab":)";
    write_vocabulary(model.pieces, out);
    out << R"(,"merges":[)";
    const char* separator = "";
    write_merges(out, [&](std::ostream& to, const std::string& merge) {
      to << std::exchange(separator, ",") << Json(merge).dump();
    });
    out << "]}}\n";
  });
  Json config = {{"tokenizer_class", is_gpt2 ? "GPT2Tokenizer" : "PreTrainedTokenizerFast"},
                 {"add_prefix_space", model.add_prefix_space},
                 {"clean_up_tokenization_spaces", false}};
  write_roles(model.roles, piece, config);
  write_json_file(folder / "tokenizer_config.json", config);
}

}  // namespace zoo
