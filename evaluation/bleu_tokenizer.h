#pragma once
// The tokenizers of BLEU, as sacreBLEU 2.6.0 has them.

#include <string>
#include <string_view>

namespace zoo {

enum class BleuTokenization {
  v13a,           ///< "13a": NIST's mteval-v13a.pl, the one of WMT
  international,  ///< "intl": mteval-v14.pl, punctuation and symbols by their Unicode class
  chinese,        ///< "zh": each Chinese character is a token, else as 13a
  characters,     ///< "char": each character is a token
  none,           ///< "none": split at white space only
};

/// Tokens of a line, separated by white space. Keeps its working memory.
class BleuTokenizer {
 public:
  explicit BleuTokenizer(BleuTokenization kind) : kind_(kind) {}
  /// @param line without LF  @return valid until the next call
  std::string_view operator()(std::string_view line);

 private:
  void split_western();
  void split_international();

  BleuTokenization kind_;
  std::string text_, next_;
  std::u32string wide_, next_wide_;
};

/// "13a", "intl", "zh", "char", "none"
const char* name_of(BleuTokenization kind);

}  // namespace zoo
