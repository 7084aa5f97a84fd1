#pragma once
// Config files of other projects: the keys that a struct lists are read with all checks of
// core/config.h, other keys are passed over. No torch in this header.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config.h"

namespace zoo {

/// Another name under which a key may stand in the file.
struct KeyAlias {
  std::string_view alias, key;
};

/// Reads into `out` the keys of `json` that `out` lists; null counts as absent.
/// @throws FormatError for a wrong type or a number out of bounds
template <class T>
void read_known_keys(const Json& json, T& out, const std::string& where,
                     const std::vector<KeyAlias>& aliases = {}) {
  if (!json.is_object())
    throw FormatError(cat(where, ": expected an object, found ", describe_json(json)));
  Json known = Json::object();
  const auto take = [&](const std::string& from, const std::string& to) {
    if (json.contains(from) && !json[from].is_null()) known[to] = json[from];
  };
  for (const auto& [alias, key] : aliases) take(std::string(alias), std::string(key));
  out.fields(
      config_detail::Visitor{[&](std::string_view key, auto&, const Bound&, std::string_view) {
        take(std::string(key), std::string(key));
      }});
  try {
    read_config(known, out, where);
  } catch (const ConfigError& error) {
    throw FormatError(error.what());
  }
}

}  // namespace zoo
