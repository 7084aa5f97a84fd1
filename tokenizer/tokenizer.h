#pragma once
// One interface for every tokenizer: text to ids and back.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "tokenizer/config.h"

namespace zoo {

struct EncodeOptions {
  /// Read the text of special tokens ("<|endoftext|>") as those tokens. Off: they are plain text,
  /// so that data can never smuggle in a control token.
  bool special = false;
};

struct DecodeOptions {
  bool skip_special = true;  ///< leave special tokens out of the text
  bool replace_invalid =
      true;  ///< bytes that are not UTF-8 become U+FFFD; off: they stay as they are
};

/// Ids of the tokens with a role, where the tokenizer has them.
struct SpecialIds {
  std::optional<int64_t> bos, eos, pad, unk;
  std::optional<int64_t> cls, sep, mask;  ///< BERT's: first, behind each text, in place of a token
  std::optional<int64_t> start;  ///< what a translation's decoder reads first, if it is not bos

  /// What a translation's decoder reads first: start, else bos, else eos.
  std::optional<int64_t> decoder_start() const { return start ? start : bos ? bos : eos; }
};

/// Turns ids into text piece by piece, holding back bytes until they are whole UTF-8 characters:
/// the pieces joined equal Tokenizer::decode of all ids. Must not outlive its tokenizer.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  /// The text that is certain now; may be empty.  @throws DataError as Tokenizer::decode does
  virtual std::string push(int64_t id) = 0;
  /// What was held back. The decoder is then as new.
  virtual std::string finish() = 0;
};

/// All functions may be called from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// @param text UTF-8 (byte-level tokenizers take any bytes)  @throws DataError if a character has
  /// no id and there is no unknown token
  virtual std::vector<int64_t> encode(std::string_view text,
                                      const EncodeOptions& options = {}) const = 0;
  /// @throws DataError if an id is outside [0, vocab_size())
  std::string decode(std::span<const int64_t> ids, const DecodeOptions& options = {}) const;
  virtual std::unique_ptr<StreamDecoder> stream(const DecodeOptions& options = {}) const = 0;

  /// Where a long text may be cut: the last n for which encode(text) is encode of the first n bytes
  /// followed by encode of the rest, whatever text comes after (special tokens read as plain text).
  /// 0 if no such place is found.
  virtual size_t safe_cut(std::string_view text) const = 0;

  /// The largest id plus one.
  virtual int64_t vocab_size() const = 0;
  /// The token as its vocabulary file writes it ("Ġthe", "▁the", "##ing").
  virtual std::string piece(int64_t id) const = 0;
  /// The id of exactly this piece.
  virtual std::optional<int64_t> piece_id(std::string_view piece) const = 0;
  virtual SpecialIds special_ids() const = 0;
  virtual bool is_special(int64_t id) const = 0;
  /// Whether the piece goes on with the word of the piece before it, as far as the piece tells.
  virtual bool continues_word(int64_t /*id*/) const { return false; }
  /// The variant's name in configs: "char", "bpe", "wordpiece", "sentencepiece".
  virtual std::string_view type() const = 0;

  /// Writes the files that Hugging Face's libraries and load_tokenizer() read back.
  virtual void save(const fs::path& folder) const = 0;
};

/// encode(text), and the end token where there is one: a sentence as encoder–decoders read and
/// write it.
std::vector<int64_t> encode_sentence(const Tokenizer& tokenizer, std::string_view text);

/// @throws DataError unless 0 <= id < vocab_size
void check_id(int64_t id, int64_t vocab_size);

/// Opens the tokenizer of a folder (tokenizer.json, vocab.json + merges.txt, vocab.txt, *.model;
/// Marian's target.spm + vocab.json) or of one such file. @throws DataError naming what was looked
/// for
std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path);

/// Whether load_tokenizer() finds the files of a tokenizer in this folder.
bool holds_tokenizer(const fs::path& folder);

/// What load_tokenizer() opens for the sources of a translation model in this folder: its
/// source_tokenizer/, or Marian's source.spm; "" if both sides have one tokenizer.
fs::path source_tokenizer_in(const fs::path& folder);

/// Writes the tokenizers of a translation model, so that load_tokenizer() finds them both.
/// @param source null, or the same as `target`: one for both sides
void save_tokenizers(const fs::path& folder, const Tokenizer& target, const Tokenizer* source);

/// The same as Hugging Face's MarianTokenizer reads them. False, and nothing is written, unless
/// both are SentencePiece's or Marian's.
bool save_as_marian(const fs::path& folder, const std::shared_ptr<const Tokenizer>& target,
                    const std::shared_ptr<const Tokenizer>& source);

/// Trains a tokenizer on text files as `config` says. @throws DataError if the corpus cannot fill
/// the vocabulary: the wanted and the largest possible size
std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerConfig& config,
                                           const std::vector<fs::path>& files);

}  // namespace zoo
