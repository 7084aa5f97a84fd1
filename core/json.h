#pragma once
// JSON text and files. The parser closes the traps of nlohmann/json: of two equal keys the last one
// would win silently; here it is an error. Comments (// and /* */) are allowed.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace zoo {

/// Keeps the order of keys. Insertion is linear in the number of keys: for objects with thousands
/// of keys (a vocabulary) use nlohmann::json instead.
using Json = nlohmann::ordered_json;

/// Parses `text`. `where` names it in messages. @throws FormatError with line and column
Json parse_json(std::string_view text, const std::string& where);

/// Reads and parses a file. @throws DataError if it cannot be read, FormatError if it is not JSON
Json read_json_file(const std::filesystem::path& path);

/// Writes `json` indented by two blanks, aside and renamed (see core/files.h). @throws DataError
void write_json_file(const std::filesystem::path& path, const Json& json);

/// "an object", "a string", "the number 3.5", … for messages.
std::string describe_json(const Json& json);

/// Sets `json[a][b] = value` for key "a.b", making objects on the way; a string on the way is a
/// variant's short form ("rms") and becomes {"type": "rms"}.
void set_by_path(Json& json, std::string_view dotted_key, const Json& value);

}  // namespace zoo
