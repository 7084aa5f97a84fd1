#include "tokenizer/char_tokenizer.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"
#include "tokenizer/hf_json.h"

namespace zoo {

namespace {

/// Calls use(character, offset) for each character. @throws DataError for bytes that are none
void for_each_character(std::string_view text, const std::string& where, const auto& use) {
  for (size_t offset = 0; offset < text.size();) {
    const Utf8Step step = next_utf8(text.substr(offset));
    if (!step.valid)
      throw DataError(cat(where, ": the byte ",
                          static_cast<int>(static_cast<unsigned char>(text[offset])), " at ",
                          text_position(text, offset),
                          " is not UTF-8; convert the text to UTF-8 or use a bpe tokenizer"));
    use(step.code_point, offset);
    offset += step.length;
  }
}

std::string to_utf8(char32_t character) {
  std::string bytes;
  append_utf8(bytes, character);
  return bytes;
}

}  // namespace

CharTokenizer::CharTokenizer(std::vector<char32_t> alphabet) : alphabet_(std::move(alphabet)) {
  for (size_t id = 0; id < alphabet_.size(); ++id) ids_.emplace(alphabet_[id], id);
}

std::unique_ptr<CharTokenizer> CharTokenizer::train(const std::vector<fs::path>& files) {
  std::set<char32_t> characters;
  for (const fs::path& path : files) {
    const MappedFile file(path);
    char32_t last = 0xFFFFFFFF;
    for_each_character(file.text(), utf8(path), [&](char32_t character, size_t) {
      if (character != std::exchange(last, character)) characters.insert(character);
    });
  }
  if (characters.empty())
    throw DataError(
        "tokenizer training: the text is empty; give a text with at least one character");
  return std::make_unique<CharTokenizer>(std::vector(characters.begin(), characters.end()));
}

std::unique_ptr<CharTokenizer> CharTokenizer::from_json(const nlohmann::json& json,
                                                        const fs::path& path) {
  const std::string where = utf8(path) + "#/model/vocab";
  std::vector<char32_t> alphabet;
  for (const std::string& piece :
       read_vocabulary(json.at("model").value("vocab", nlohmann::json()), where)) {
    if (piece.empty() || next_utf8(piece).length != piece.size())
      throw FormatError(cat(where, ": the id ", alphabet.size(), " has ",
                            piece.empty() ? "no token" : "the token \"" + piece + "\"",
                            "; a char tokenizer has one character for each id"));
    alphabet.push_back(next_utf8(piece).code_point);
  }
  return std::make_unique<CharTokenizer>(std::move(alphabet));
}

std::vector<int64_t> CharTokenizer::encode(std::string_view text, const EncodeOptions&) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size());
  for_each_character(text, "encode", [&](char32_t character, size_t offset) {
    const auto found = ids_.find(character);
    if (found == ids_.end())
      throw DataError(
          cat("encode: the character ", code_point_name(character), " \"", to_utf8(character),
              "\" at ", text_position(text, offset), " is none of the ", alphabet_.size(),
              " this char tokenizer knows; leave it out, train on text that has it, or use "
              "a bpe tokenizer, which takes any text"));
    ids.push_back(found->second);
  });
  return ids;
}

std::unique_ptr<StreamDecoder> CharTokenizer::stream(const DecodeOptions&) const {
  class Stream final : public StreamDecoder {
   public:
    explicit Stream(const CharTokenizer& tokenizer) : tokenizer_(tokenizer) {}
    std::string push(int64_t id) override { return tokenizer_.piece(id); }
    std::string finish() override { return ""; }

   private:
    const CharTokenizer& tokenizer_;
  };
  return std::make_unique<Stream>(*this);
}

size_t CharTokenizer::safe_cut(std::string_view text) const {
  // A character of up to four bytes may be cut off at the end; before it every place will do.
  size_t start = text.size();
  while (start > 0 && text.size() - start < 4 && (text[start - 1] & 0xC0) == 0x80) --start;
  if (start > 0 && (text[start - 1] & 0xC0) == 0xC0) --start;
  return start < text.size() && next_utf8(text.substr(start)).truncated ? start : text.size();
}

std::string CharTokenizer::piece(int64_t id) const {
  check_id(id, vocab_size());
  return to_utf8(alphabet_[static_cast<size_t>(id)]);
}

std::optional<int64_t> CharTokenizer::piece_id(std::string_view piece) const {
  if (piece.empty() || next_utf8(piece).length != piece.size()) return std::nullopt;
  const auto found = ids_.find(next_utf8(piece).code_point);
  return found == ids_.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

bool CharTokenizer::is_special(int64_t id) const {
  check_id(id, vocab_size());
  return false;
}

void CharTokenizer::save(const fs::path& folder) const {
  std::vector<std::string> pieces;
  for (const char32_t character : alphabet_) pieces.push_back(to_utf8(character));
  write_file(folder / "tokenizer.json", [&](std::ostream& out) {
    // Cut after every character, look each up, join without blanks. The unknown token is none of
    // the vocabulary, so that an unknown character is an error there too.
    out << R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,)"
        << R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"[\\s\\S]"},"behavior":"Isolated",)"
        << R"("invert":false},"post_processor":null,"decoder":{"type":"Fuse"},)"
        << R"("model":{"type":"WordLevel","unk_token":"<unk>","vocab":)";
    write_vocabulary(pieces, out);
    out << "}}\n";
  });
  write_json_file(folder / "tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                                     {"clean_up_tokenization_spaces", false}});
}

}  // namespace zoo
