#pragma once
// A tokenizer whose vocabulary is a list of byte strings. No torch in this header.

#include "core/error.h"
#include "tokenizer/tokenizer.h"

namespace zoo::testing {

/// Encoding takes the longest piece that fits.
class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(std::vector<std::string> pieces, std::optional<int64_t> eos = {})
      : pieces_(std::move(pieces)), eos_(eos) {}

  std::vector<int64_t> encode(std::string_view text, const EncodeOptions& = {}) const override {
    std::vector<int64_t> ids;
    while (!text.empty()) {
      int64_t best = -1;
      for (int64_t id = 0; id < vocab_size(); ++id)
        if (!is_special(id) && text.starts_with(bytes(id)) &&
            (best < 0 || bytes(id).size() > bytes(best).size()))
          best = id;
      if (best < 0)
        throw DataError("PieceTokenizer: no piece begins \"" + std::string(text) + "\"");
      ids.push_back(best);
      text.remove_prefix(bytes(best).size());
    }
    return ids;
  }

  size_t safe_cut(std::string_view) const override { return 0; }

  std::unique_ptr<StreamDecoder> stream(const DecodeOptions& = {}) const override {
    struct Stream final : StreamDecoder {
      explicit Stream(const PieceTokenizer& owner) : tokenizer(owner) {}
      std::string push(int64_t id) override {
        if (!tokenizer.is_special(id)) held += tokenizer.bytes(id);
        // Everything up to the last character that is not whole.
        size_t start = held.size();
        while (start > 0 && (held[start - 1] & 0xC0) == 0x80) --start;
        if (start > 0 && (held[start - 1] & 0x80)) --start;
        const auto lead = start < held.size() ? static_cast<unsigned char>(held[start]) : 0;
        const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        const size_t whole = start + length <= held.size() ? held.size() : start;
        std::string text = held.substr(0, whole);
        held.erase(0, whole);
        return text;
      }
      std::string finish() override { return held.empty() ? "" : (held.clear(), "\uFFFD"); }
      const PieceTokenizer& tokenizer;
      std::string held;
    };
    return std::make_unique<Stream>(*this);
  }

  int64_t vocab_size() const override { return std::ssize(pieces_); }
  std::string piece(int64_t id) const override { return bytes(id); }
  std::optional<int64_t> piece_id(std::string_view) const override { return {}; }
  SpecialIds special_ids() const override { return {.bos = {}, .eos = eos_, .pad = {}, .unk = {}}; }
  bool is_special(int64_t id) const override { return id == eos_; }
  std::string_view type() const override { return "pieces"; }
  void save(const fs::path&) const override {}

 private:
  const std::string& bytes(int64_t id) const { return pieces_.at(static_cast<size_t>(id)); }

  std::vector<std::string> pieces_;
  std::optional<int64_t> eos_;
};

}  // namespace zoo::testing
