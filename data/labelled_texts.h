#pragma once
// Examples for classifiers and taggers, as ids in memory.
//
//   classes   a line each: "label<TAB>text", or "label<TAB>text<TAB>second text"
//   tags      a word and its tag on each line, separated by a tab or a blank; a blank line ends a
//             sentence (CoNLL's form: the first and the last column count)

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "tokenizer/text_input.h"

namespace zoo {

struct LabelledText {
  EncodedText text;
  /// One class; or a tag for each id of the text, `kNoLabel` where none is to be told: at special
  /// tokens, and at all tokens of a word but the first (Devlin et al. 2019, section 5.3).
  std::vector<int64_t> labels;
};

constexpr int64_t kNoLabel = -100;

/// What a text is told apart by.
enum class LabelUnit { text, word };

struct LabelledTexts {
  std::vector<LabelledText> texts;
  int64_t blank = 0;  ///< lines left out: no text
  int64_t cut = 0;    ///< texts longer than the model reads, whose end was cut off
};

/// The labels of these files: in numerical order if all are integers, else in that of their bytes.
/// @throws DataError for a line that is not of the form above
std::vector<std::string> labels_in(const std::vector<fs::path>& files, LabelUnit unit);

/// @param labels the classes' names, by number  @throws DataError for a line of another form, with
/// another label, or if nothing is left
LabelledTexts read_labelled_texts(const std::vector<fs::path>& files, LabelUnit unit,
                                  const std::vector<std::string>& labels,
                                  const TextEncoding& encoding);

/// The words of a sentence, their tokens, and where each word's first token stands; words that do
/// not fit have none.
struct EncodedWords {
  EncodedText text;
  std::vector<int64_t> places;  ///< of the words that fit
};
EncodedWords encode_words(const std::vector<std::string>& words, const TextEncoding& encoding);

}  // namespace zoo
