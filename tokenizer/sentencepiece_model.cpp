#include "tokenizer/sentencepiece_model.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "tokenizer/hf_json.h"

namespace zoo {

namespace {

/// One field of a protocol buffer message (the wire format, proto2).
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;      // of varints and fixed-width numbers
  std::string_view bytes;  // of strings and messages
};

class MessageReader {
 public:
  MessageReader(std::string_view message, const std::string& where)
      : rest_(message), where_(where) {}

  /// False at the end of the message.
  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t tag = varint();
    field = {tag >> 3, 0, {}};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        fail();
    }
    return true;
  }

  [[noreturn]] void fail() const {
    throw FormatError(where_ +
                      ": not a SentencePiece model; give a .model file that sentencepiece wrote");
  }

 private:
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }
  uint64_t fixed(size_t size) {
    uint64_t value = 0;
    const std::string_view bytes = take(size);
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }

  std::string_view rest_;
  const std::string& where_;
};

void for_each_field(std::string_view message, const std::string& where, const auto& use) {
  MessageReader reader(message, where);
  for (Field field; reader.next(field);) use(field);
}

float to_float(uint64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  float number;
  std::memcpy(&number, &word, sizeof number);
  return number;
}

/// Puts a message together (the wire format, proto2).
class MessageWriter {
 public:
  void number(uint64_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void bytes(uint64_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    message_ += value;
  }
  void real(uint64_t field, float value) {
    varint(field << 3 | 5);
    const auto word = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) message_ += static_cast<char>(word >> shift & 0xFF);
  }
  const std::string& message() const { return message_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) message_ += static_cast<char>((value & 0x7F) | 0x80);
    message_ += static_cast<char>(value);
  }
  std::string message_;
};

/// The merges that a BPE model's scores stand for: every way to cut a piece into two pieces, the
/// better-scored result first, as Hugging Face orders them.
std::vector<std::pair<std::string, std::string>> merges_of(
    const std::vector<SentencePieceModelFile::Piece>& pieces) {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < pieces.size(); ++id) ids.emplace(pieces[id].text, id);
  struct Merge {
    float score;
    size_t left, right;
  };
  std::vector<Merge> merges;
  for (const auto& piece : pieces) {
    const std::string_view text = piece.text;
    std::vector<Merge> local;
    for (size_t cut = next_utf8(text).length; cut < text.size();
         cut += next_utf8(text.substr(cut)).length) {
      const auto left = ids.find(text.substr(0, cut)), right = ids.find(text.substr(cut));
      if (left != ids.end() && right != ids.end())
        local.push_back({piece.score, left->second, right->second});
    }
    std::sort(local.begin(), local.end(), [](const Merge& a, const Merge& b) {
      return std::pair(a.left, a.right) < std::pair(b.left, b.right);
    });
    merges.insert(merges.end(), local.begin(), local.end());
  }
  std::stable_sort(merges.begin(), merges.end(),
                   [](const Merge& a, const Merge& b) { return a.score > b.score; });
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Merge& merge : merges)
    texts.emplace_back(pieces[merge.left].text, pieces[merge.right].text);
  return texts;
}

}  // namespace

SentencePieceModelFile read_sentencepiece_model(std::string_view bytes, const std::string& where) {
  using Model = SentencePieceModelFile;
  Model model;
  // The numbers are those of sentencepiece_model.proto.
  for_each_field(bytes, where, [&](const Field& field) {
    if (field.number == 1) {
      Model::Piece piece;
      for_each_field(field.bytes, where, [&](const Field& part) {
        if (part.number == 1) piece.text = part.bytes;
        if (part.number == 2) piece.score = to_float(part.value);
        if (part.number == 3) piece.type = static_cast<Model::PieceType>(part.value);
      });
      model.pieces.push_back(std::move(piece));
    } else if (field.number == 2) {
      for_each_field(field.bytes, where, [&](const Field& part) {
        if (part.number == 3) model.algorithm = static_cast<Model::Algorithm>(part.value);
        if (part.number == 24) model.whitespace_as_suffix = part.value != 0;
        if (part.number == 44) model.unknown_surface = part.bytes;
      });
    } else if (field.number == 3) {
      for_each_field(field.bytes, where, [&](const Field& part) {
        if (part.number == 1) model.normalizer = part.bytes;
        if (part.number == 2) model.charsmap = part.bytes;
        if (part.number == 3) model.add_dummy_prefix = part.value != 0;
        if (part.number == 4) model.remove_extra_whitespaces = part.value != 0;
      });
    }
  });
  const auto is_empty = [](const Model::Piece& piece) { return piece.text.empty(); };
  if (model.pieces.empty() || std::any_of(model.pieces.begin(), model.pieces.end(), is_empty))
    MessageReader("", where).fail();
  return model;
}

std::string write_sentencepiece_model(const SentencePieceModelFile& model) {
  using Model = SentencePieceModelFile;
  MessageWriter all, trainer, normalizer;
  bool has_bytes = false;
  for (const Model::Piece& piece : model.pieces) {
    MessageWriter one;
    one.bytes(1, piece.text);
    one.real(2, piece.score);
    one.number(3, static_cast<uint64_t>(piece.type));
    all.bytes(1, one.message());
    has_bytes |= piece.type == Model::PieceType::byte;
  }
  trainer.number(3, static_cast<uint64_t>(model.algorithm));
  trainer.number(24, model.whitespace_as_suffix ? 1 : 0);
  trainer.number(35, has_bytes ? 1 : 0);
  trainer.bytes(44, model.unknown_surface);
  for (const auto& [field, piece] : {std::pair{46, &model.bos}, {47, &model.eos}, {48, &model.pad}})
    if (!piece->empty()) trainer.bytes(static_cast<uint64_t>(field), *piece);
  normalizer.bytes(1, model.normalizer);
  normalizer.bytes(2, model.charsmap);
  normalizer.number(3, model.add_dummy_prefix ? 1 : 0);
  normalizer.number(4, model.remove_extra_whitespaces ? 1 : 0);
  all.bytes(2, trainer.message());
  all.bytes(3, normalizer.message());
  return all.message();
}

void write_sentencepiece_json(const SentencePieceModelFile& model, std::ostream& out) {
  using Model = SentencePieceModelFile;
  std::vector<AddedToken> added;
  size_t unknown = 0;
  bool has_bytes = false;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const Model::Piece& piece = model.pieces[id];
    if (piece.type == Model::PieceType::unknown) unknown = id;
    if (piece.type == Model::PieceType::byte) has_bytes = true;
    if (piece.type == Model::PieceType::control || piece.type == Model::PieceType::unknown ||
        piece.type == Model::PieceType::user_defined)
      added.push_back({.content = piece.text,
                       .id = static_cast<int64_t>(id),
                       .special = piece.type != Model::PieceType::user_defined});
  }

  Json steps = Json::array();
  if (!model.charsmap.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.charsmap)}});
  if (model.remove_extra_whitespaces) {
    // Only blanks: Hugging Face's Strip would take other white space that the charsmap has left.
    for (const auto& [pattern, content] : {std::pair{" {2,}", " "}, std::pair{"\\A | \\z", ""}})
      steps.push_back(
          {{"type", "Replace"}, {"pattern", {{"Regex", pattern}}}, {"content", content}});
  }
  const Json normalizer =
      steps.empty() ? Json(nullptr) : Json{{"type", "Sequence"}, {"normalizers", steps}};
  const Json metaspace = {{"type", "Metaspace"},
                          {"replacement", std::string(kBlankMark)},
                          {"prepend_scheme", model.add_dummy_prefix ? "always" : "never"},
                          {"split", true}};
  Json decoder = metaspace;
  if (has_bytes)
    decoder = {{"type", "Sequence"},
               {"decoders", Json::array({{{"type", "ByteFallback"}}, metaspace})}};

  out << R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)"
      << added_tokens_json(added).dump() << R"(,"normalizer":)" << normalizer.dump()
      << R"(,"pre_tokenizer":)" << metaspace.dump() << R"(,"post_processor":null,"decoder":)"
      << decoder.dump() << R"(,"model":)";
  const char* separator = "";
  if (model.algorithm == Model::Algorithm::unigram) {
    out << R"({"type":"Unigram","unk_id":)" << unknown << R"(,"byte_fallback":)"
        << (has_bytes ? "true" : "false") << R"(,"vocab":[)";
    for (const Model::Piece& piece : model.pieces)
      out << std::exchange(separator, ",") << Json::array({piece.text, piece.score}).dump();
  } else {
    std::vector<std::string> pieces;
    for (const Model::Piece& piece : model.pieces) pieces.push_back(piece.text);
    out << R"({"type":"BPE","dropout":null,"unk_token":)" << Json(pieces[unknown]).dump()
        << R"(,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,)"
        << R"("byte_fallback":)" << (has_bytes ? "true" : "false") << R"(,"vocab":)";
    write_vocabulary(pieces, out);
    out << R"(,"merges":[)";
    for (const auto& [left, right] : merges_of(model.pieces))
      out << std::exchange(separator, ",") << Json::array({left, right}).dump();
  }
  out << "]}}\n";
}

}  // namespace zoo
