#pragma once
// The files that tests/golden/tokenizer/generate.py made with Hugging Face's tokenizers and with
// sentencepiece, and checks that every tokenizer must pass.

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "tokenizer/tokenizer.h"

namespace zoo::testing {

inline fs::path golden(const std::string& name) {
  return fs::path(ZOO_SOURCE_DIR) / "tests/golden/tokenizer" / name;
}

inline nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(read_file(golden(name)));
}

/// Feeds the ids one at a time; `pieces` gets what came out at each, the rest at the end.
inline std::string stream_all(const Tokenizer& tokenizer, const std::vector<int64_t>& ids,
                              std::vector<std::string>* pieces = nullptr,
                              const DecodeOptions& options = {}) {
  const auto decoder = tokenizer.stream(options);
  std::string text;
  for (const int64_t id : ids) {
    const std::string piece = decoder->push(id);
    if (pieces != nullptr) pieces->push_back(piece);
    text += piece;
  }
  return text + decoder->finish();
}

/// Ids as the golden has them, and its texts back from ids, at once and as a stream.
inline void expect_golden(const Tokenizer& tokenizer, const nlohmann::json& json) {
  for (const auto& example : json["encode"]) {
    const auto text = example["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text), example["ids"].get<std::vector<int64_t>>()) << text;
  }
  for (const auto& example : json["decode"]) {
    const auto ids = example["ids"].get<std::vector<int64_t>>();
    EXPECT_EQ(tokenizer.decode(ids), example["text"].get<std::string>()) << example["ids"];
    EXPECT_EQ(stream_all(tokenizer, ids), example["text"].get<std::string>()) << example["ids"];
  }
}

/// Encodes `text` in parts of at most `size` bytes, each cut at safe_cut().
inline std::vector<int64_t> encode_in_parts(const Tokenizer& tokenizer, std::string_view text,
                                            size_t size) {
  std::vector<int64_t> ids;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, size);
    const size_t cut = part.size() == text.size() ? text.size() : tokenizer.safe_cut(part);
    EXPECT_GT(cut, 0u);
    if (cut == 0) break;
    const std::vector<int64_t> found = tokenizer.encode(text.substr(0, cut));
    ids.insert(ids.end(), found.begin(), found.end());
    text.remove_prefix(cut);
  }
  return ids;
}

/// The message of the E that `run` throws.
template <class E>
std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no exception";
  return "";
}

inline void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is missing in: " << text;
}

}  // namespace zoo::testing
