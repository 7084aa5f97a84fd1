#pragma once
// How BERT reads text before WordPiece cuts words up (Devlin et al. 2019; "basic tokenization" of
// its code), with the Unicode tables of Hugging Face's tokenizers.

#include <functional>
#include <string_view>

namespace zoo {

struct BertTextOptions {
  bool lowercase = true;
  bool strip_accents = true;     ///< decompose (NFD) and drop marks without a width of their own
  bool split_ideographs = true;  ///< each CJK ideograph is a word
};

/// Calls use(word) for each word: what stands between white space, cut at punctuation, whose signs
/// are words of their own. Controls, U+FFFD and bytes that are not UTF-8 are no part of the text.
void for_each_bert_word(std::string_view text, const BertTextOptions& options,
                        const std::function<void(std::string_view)>& use);

}  // namespace zoo
