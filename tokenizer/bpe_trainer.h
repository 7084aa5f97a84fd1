#pragma once
// Learning byte-level BPE merges from text (Sennrich et al. 2016, algorithm 1).

#include <vector>

#include "core/files.h"
#include "tokenizer/bpe_model.h"

namespace zoo {

/// Special tokens get the first ids, then the 256 bytes, then the merges, the most frequent pair
/// first, of equally frequent ones that with the smallest ids: the vocabulary that Hugging Face's
/// BpeTrainer makes. The text is read once through a memory map; only its distinct words are kept.
/// Text that spells a special token is plain text.
/// @throws ConfigError for special tokens that cannot be used or do not fit into vocab_size,
/// DataError if the text has too few pairs to fill it
BpeModel train_bpe(const BpeTokenizerConfig& config, const std::vector<fs::path>& files);

}  // namespace zoo
