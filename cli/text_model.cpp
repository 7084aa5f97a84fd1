#include "cli/text_model.h"

#include <algorithm>

#include "cli/runtime.h"

namespace zoo::cli {

TextModel load_text_model(const std::string& command, const std::string& path,
                          const GlobalOptions& globals) {
  if (path.empty()) throw ConfigError(command + ": no model is given; name its folder: -m DIR");
  const Runtime runtime = start_runtime(globals);
  TextModel text;
  text.loaded = load_model(utf8_path(path), {.device = runtime.device, .dtype = runtime.dtype});
  text.model = text.loaded.as<TextEncoder>();
  if (!text.loaded.tokenizer)
    throw DataError(path + ": holds no tokenizer; add its files, such as vocab.txt");
  text.encoding.emplace(*text.loaded.tokenizer, text.model->max_length());
  return text;
}

std::pair<std::string_view, std::string_view> split_pair(std::string_view line,
                                                         const std::string& where) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  if (tabs != 1)
    throw DataError(cat(where, ": --pair expects \"text<TAB>text\", found ", tabs, " tabs"));
  const size_t tab = line.find('\t');
  return {line.substr(0, tab), line.substr(tab + 1)};
}

EncodedText encode_line(const TextEncoding& encoding, const std::string& line, bool pair,
                        const std::string& where) {
  if (!pair) return encoding.encode(line);
  const auto [first, second] = split_pair(line, where);
  return encoding.encode(first, second);
}

}  // namespace zoo::cli
