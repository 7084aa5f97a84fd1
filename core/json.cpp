#include "core/json.h"

#include <set>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace zoo {

Json parse_json(std::string_view text, const std::string& where) {
  // One set of keys for each object that is open. The callback also hears of objects in arrays.
  std::vector<std::set<std::string>> open_keys;
  std::string repeated;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_keys.emplace_back();
    if (event == Json::parse_event_t::object_end) open_keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      if (!open_keys.back().insert(key).second && repeated.empty()) repeated = key;
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/true,
                       /*ignore_comments=*/true);
  } catch (const Json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …"
    std::string message = error.what();
    if (const size_t start = message.find("] "); start != std::string::npos)
      message.erase(0, start + 2);
    throw FormatError(where + ": not valid JSON: " + message);
  }
  if (!repeated.empty())
    throw FormatError(where + ": the key \"" + repeated +
                      "\" stands twice in one object; keep one");
  return json;
}

Json read_json_file(const fs::path& path) { return parse_json(read_file(path), utf8(path)); }

void write_json_file(const fs::path& path, const Json& json) {
  write_file(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string describe_json(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "an array";
  if (json.is_null()) return "null";
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  const std::string text = json.dump();
  return (json.is_string() ? "the string " : "the number ") +
         (text.size() > 60 ? text.substr(0, 57) + "…" : text);
}

void set_by_path(Json& json, std::string_view dotted_key, const Json& value) {
  Json* place = &json;
  const std::vector<std::string> keys = split(dotted_key, '.');
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty())
      throw ConfigError(cat("--set ", dotted_key, ": empty key; write section.key=value"));
    if (place->is_string()) *place = Json{{"type", *place}};
    if (place->is_null()) *place = Json::object();
    if (!place->is_object())
      throw ConfigError(cat("--set ", dotted_key, ": \"", keys[i], "\" is looked for in ",
                            describe_json(*place)));
    place = &(*place)[keys[i]];
  }
  *place = value;
}

}  // namespace zoo
