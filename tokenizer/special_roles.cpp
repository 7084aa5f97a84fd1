#include "tokenizer/special_roles.h"

#include <array>
#include <vector>

namespace zoo {

namespace {

struct Role {
  std::optional<int64_t> SpecialIds::*id;
  const char* key;                            // in Hugging Face's files
  std::vector<std::string_view> usual_names;  // the first that is a token counts
  bool is_general = true;                     // a file without it would leave it to a default
};

const std::array<Role, 7>& all_roles() {
  static const std::array<Role, 7> roles = {{
      {&SpecialIds::bos,
       "bos_token",
       {"<s>", "<bos>", "<|bos|>", "<|startoftext|>", "<|endoftext|>"}},
      {&SpecialIds::eos, "eos_token", {"</s>", "<eos>", "<|eos|>", "<|endoftext|>"}},
      {&SpecialIds::pad, "pad_token", {"<pad>", "<|pad|>", "[PAD]"}},
      {&SpecialIds::unk, "unk_token", {"<unk>", "<|unk|>", "[UNK]"}},
      {&SpecialIds::cls, "cls_token", {"[CLS]"}, false},
      {&SpecialIds::sep, "sep_token", {"[SEP]"}, false},
      {&SpecialIds::mask, "mask_token", {"[MASK]"}, false},
  }};
  return roles;
}

}  // namespace

SpecialIds conventional_roles(const PieceLookup& id_of) {
  SpecialIds ids;
  for (const Role& role : all_roles())
    for (const std::string_view name : role.usual_names)
      if (!(ids.*role.id)) ids.*role.id = id_of(name);
  return ids;
}

SpecialIds read_roles(const fs::path& folder, const PieceLookup& id_of) {
  SpecialIds ids;
  bool named = false;
  for (const char* file : {"tokenizer_config.json", "special_tokens_map.json"}) {
    if (!fs::exists(folder / file)) continue;
    const Json json = read_json_file(folder / file);
    if (!json.is_object()) continue;
    for (const Role& role : all_roles()) {
      if (!json.contains(role.key) || (ids.*role.id)) continue;
      // The name itself, or an object that describes the token.
      const Json& entry = json[role.key];
      const Json& name = entry.is_object() && entry.contains("content") ? entry["content"] : entry;
      named = true;
      if (name.is_string()) ids.*role.id = id_of(name.get<std::string>());
    }
  }
  return named ? ids : conventional_roles(id_of);
}

void write_roles(const SpecialIds& roles, const std::function<std::string(int64_t)>& piece,
                 Json& tokenizer_config) {
  for (const Role& role : all_roles())
    if (roles.*role.id)
      tokenizer_config[role.key] = piece(*(roles.*role.id));
    else if (role.is_general)
      tokenizer_config[role.key] = nullptr;
}

}  // namespace zoo
