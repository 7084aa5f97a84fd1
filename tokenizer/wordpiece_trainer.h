#pragma once
// Learning a WordPiece vocabulary from text, as Hugging Face's WordPieceTrainer does: by BPE merges
// (Sennrich et al. 2016, algorithm 1) of the characters of words, where those behind a word's first
// have the prefix "##".

#include <vector>

#include "core/files.h"
#include "tokenizer/config.h"
#include "tokenizer/wordpiece_model.h"

namespace zoo {

/// Special tokens get the first ids, then all characters, then
/// those that go on with a word, each in the order of their code points, then the merges, the most
/// frequent pair first, of equally frequent ones that with the smallest ids. Only the text's
/// distinct words are kept in memory. Text that spells a special token is plain text.
/// @throws ConfigError for special tokens that cannot be used, DataError if vocab_size is less than
/// the characters need or more than the text can fill
WordPieceModel train_wordpiece(const WordPieceTokenizerConfig& config,
                               const std::vector<fs::path>& files);

}  // namespace zoo
