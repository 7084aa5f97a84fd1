#pragma once
// What a SentencePiece .model file holds that the library's public interface does not tell.

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace zoo {

/// What stands for a blank in a piece: ▁, U+2581.
constexpr std::string_view kBlankMark = "\xE2\x96\x81";

/// The message ModelProto of sentencepiece_model.proto, as far as it is needed here.
struct SentencePieceModelFile {
  enum class PieceType {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6
  };
  enum class Algorithm { unigram = 1, bpe = 2, word = 3, character = 4 };
  struct Piece {
    std::string text;
    float score = 0;  ///< unigram: log probability; BPE: minus the rank of the merge
    PieceType type = PieceType::normal;
  };

  std::vector<Piece> pieces;  ///< by id
  Algorithm algorithm = Algorithm::unigram;
  bool whitespace_as_suffix = false;
  std::string unknown_surface = " \xE2\x81\x87 ";  ///< what <unk> decodes to
  std::string normalizer;  ///< "nmt_nfkc", "nmt_nfkc_cf", "identity", … or "" for rules of its own
  std::string charsmap;    ///< the normaliser's compiled rules
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  /// The pieces with a role, where they have not their usual names; only written.
  std::string bos, eos, pad;
};

/// @throws FormatError if `bytes` are no such message
SentencePieceModelFile read_sentencepiece_model(std::string_view bytes, const std::string& where);

/// The message that read_sentencepiece_model() reads.
std::string write_sentencepiece_model(const SentencePieceModelFile& model);

/// The same tokenizer in the form of Hugging Face's tokenizer.json; only for unigram and BPE.
void write_sentencepiece_json(const SentencePieceModelFile& model, std::ostream& out);

}  // namespace zoo
