#include "tokenizer/hf_json.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace zoo {

namespace {

/// No tokenizer comes near it; it keeps a damaged file from asking for all memory.
constexpr int64_t kMaxId = 1 << 24;

void put_piece(std::vector<std::string>& pieces, int64_t id, const std::string& piece,
               const std::string& where) {
  if (id < 0 || id >= kMaxId)
    throw FormatError(
        cat(where, ": \"", piece, "\" has the id ", id, "; allowed is 0 to ", kMaxId - 1));
  const auto index = static_cast<size_t>(id);
  if (index >= pieces.size()) pieces.resize(index + 1);
  if (!pieces[index].empty() && pieces[index] != piece)
    throw FormatError(
        cat(where, ": \"", pieces[index], "\" and \"", piece, "\" have the same id, ", id));
  pieces[index] = piece;
}

/// @param entry an object with `content` and the flags of an added token
void read_added_token(const nlohmann::json& entry, int64_t id, const std::string& where,
                      std::vector<std::string>& pieces, std::vector<AddedToken>& added) {
  AddedToken token;
  token.id = id;
  try {
    token.content = entry.at("content").get<std::string>();
    token.special = entry.value("special", false);
    token.lstrip = entry.value("lstrip", false);
    token.rstrip = entry.value("rstrip", false);
    if (entry.value("single_word", false))
      throw DataError(cat(where, ": \"", token.content,
                          "\" has single_word set, which is not followed here; set it to false"));
  } catch (const nlohmann::json::exception&) {
    throw FormatError(cat(where, ": found ", entry.dump(),
                          "; an added token has content, special, lstrip and rstrip"));
  }
  if (token.content.empty()) throw FormatError(where + ": an added token has no text");
  put_piece(pieces, id, token.content, where);
  added.push_back(std::move(token));
}

}  // namespace

nlohmann::json parse_large_json(std::string_view text, const std::string& where) {
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& error) {
    std::string message = error.what();
    if (const size_t start = message.find("] "); start != std::string::npos)
      message.erase(0, start + 2);
    throw FormatError(where + ": not valid JSON: " + message);
  }
}

const nlohmann::json& json_member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  return object.is_object() && object.contains(key) ? object[key] : kNull;
}

void require_setting(bool holds, const fs::path& path, const char* key, const nlohmann::json& found,
                     const char* allowed, const char* kind) {
  if (holds) return;
  throw DataError(cat(utf8(path), "#/", key, ": found ", found.dump(), "; allowed is ", allowed,
                      ": this is not ", kind));
}

std::vector<std::string> read_vocabulary(const nlohmann::json& json, const std::string& where) {
  if (!json.is_object() || json.empty())
    throw FormatError(cat(where, ": found ", json.is_object() ? "no tokens" : json.type_name(),
                          "; a vocabulary is an object {\"token\": id, …}"));
  std::vector<std::string> pieces(json.size());
  for (const auto& [piece, id] : json.items()) {
    if (!id.is_number_integer())
      throw FormatError(
          cat(where, ": \"", piece, "\" has the id ", id.dump(), "; an id is a whole number"));
    put_piece(pieces, id.get<int64_t>(), piece, where);
  }
  return pieces;
}

void write_vocabulary(const std::vector<std::string>& pieces, std::ostream& out) {
  const char* separator = "{";
  for (size_t id = 0; id < pieces.size(); ++id)
    if (!pieces[id].empty())
      out << std::exchange(separator, ",") << Json(pieces[id]).dump() << ':' << id;
  out << '}';
}

void read_added_tokens(const nlohmann::json& json, const std::string& where,
                       std::vector<std::string>& pieces, std::vector<AddedToken>& added) {
  for (const nlohmann::json& entry : json) {
    if (!entry.is_object() || !entry.contains("id") || !entry["id"].is_number_integer())
      throw FormatError(cat(where, ": found ", entry.dump(), "; an added token has an id"));
    read_added_token(entry, entry["id"].get<int64_t>(), where, pieces, added);
  }
}

void read_added_tokens_beside(const fs::path& folder, std::vector<std::string>& pieces,
                              std::vector<AddedToken>& added) {
  const fs::path config = folder / "tokenizer_config.json", list = folder / "added_tokens.json";
  if (fs::exists(config)) {
    const nlohmann::json json = parse_large_json(read_file(config), utf8(config));
    if (json.is_object() && json.contains("added_tokens_decoder")) {
      const std::string where = utf8(config) + "#/added_tokens_decoder";
      for (const auto& [id, entry] : json["added_tokens_decoder"].items()) {
        if (id.empty() || id.size() > 8 || id.find_first_not_of("0123456789") != std::string::npos)
          throw FormatError(cat(where, ": found the key \"", id, "\"; keys are ids"));
        read_added_token(entry, std::stoll(id), where, pieces, added);
      }
      return;
    }
  }
  if (!fs::exists(list)) return;
  const nlohmann::json json = parse_large_json(read_file(list), utf8(list));
  for (const auto& [content, id] : json.items()) {
    if (!id.is_number_integer())
      throw FormatError(cat(utf8(list), ": \"", content, "\" has the id ", id.dump(),
                            "; an id is a whole number"));
    read_added_token({{"content", content}, {"special", true}}, id.get<int64_t>(), utf8(list),
                     pieces, added);
  }
}

Json added_tokens_json(std::vector<AddedToken> added) {
  std::sort(added.begin(), added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  Json list = Json::array();
  for (const AddedToken& token : added)
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", false},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", false},
                    {"special", token.special}});
  return list;
}

}  // namespace zoo
