#pragma once
// Which tokens a masked language model must find: Devlin et al. 2019, "BERT", section 3.1, and
// whole words at once as in BERT's release of May 2019. Masks are drawn anew each time (Liu et al.
// 2019, "RoBERTa", section 4.1).

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

struct MaskingOptions {
  double probability = 0.15;  ///< share of the tokens that are chosen
  double mask_share = 0.8;    ///< of the chosen: replaced by [MASK]
  double random_share = 0.1;  ///< of the chosen: replaced by a random token; the rest stay
  bool whole_words = false;   ///< all tokens of a word, or none
};

class Masking {
 public:
  /// @throws ConfigError if the tokenizer has no [MASK]
  Masking(const Tokenizer& tokenizer, const MaskingOptions& options);

  /// Chooses max(1, round(probability * n)) of the n tokens that are not special, and replaces
  /// them in `ids`. With whole words no more than that many, though a first word always fits.
  /// @return what to predict at each place: the old token where it was chosen, else `none`
  std::vector<int64_t> mask(std::span<int64_t> ids, int64_t none, RandomStream& random) const;

 private:
  struct Token {
    bool special = false, continues = false;
  };

  MaskingOptions options_;
  int64_t mask_id_;
  std::vector<Token> tokens_;          // by id
  std::vector<int64_t> replacements_;  // ids that are not special
};

}  // namespace zoo
