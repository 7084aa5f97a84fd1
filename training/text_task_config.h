#pragma once
// The configs of the tasks that text encoders learn. No torch in this header.

#include <array>
#include <string>
#include <vector>

#include "core/fields.h"

namespace zoo {

/// What ends a document in a text file.
enum class DocumentEnd { blank_line, file };
template <>
struct EnumNames<DocumentEnd> {
  static constexpr std::array values{std::pair{DocumentEnd::blank_line, "blank_line"},
                                     std::pair{DocumentEnd::file, "file"}};
};

struct MaskedLmTaskConfig {
  static constexpr std::string_view kType = "masked_lm";
  static constexpr std::string_view kAbout =
      "Finding masked tokens, and with the head's next_sentence whether two texts follow each "
      "other "
      "(Devlin et al. 2019, \"BERT\", section 3.1); masks are drawn anew at each use";
  std::vector<std::string> train;
  std::vector<std::string> valid;
  double valid_fraction = 0.1;
  DocumentEnd document_end = DocumentEnd::blank_line;
  int64_t block_size = 0;
  double mask_probability = 0.15;
  double mask_share = 0.8;
  double random_share = 0.1;
  bool whole_words = false;
  std::string cache;

  void fields(auto&& visit) {
    visit(
        "train", train,
        "text files in UTF-8 to learn from; examples are passages of whole lines of one document");
    visit("valid", valid, "the same to evaluate on; empty: the end of `train`, see valid_fraction");
    visit("valid_fraction", valid_fraction, fraction(),
          "share of the passages of `train` held out at its end when `valid` is empty");
    visit(
        "document_end", document_end,
        "what ends a document: a blank line, as in BERT's own format, or only the file's end, for "
        "texts whose paragraphs blank lines separate");
    visit("block_size", block_size, non_negative(),
          "most tokens in an example, [CLS] and [SEP] included; 0: the model's max_length");
    visit("mask_probability", mask_probability, {.low = 0, .high = 1, .low_open = true},
          "share of the tokens that must be found");
    visit("mask_share", mask_share, between(0, 1), "of those: replaced by [MASK]");
    visit("random_share", random_share, between(0, 1),
          "of those: replaced by a random token; the rest stay as they are");
    visit("whole_words", whole_words, "mask all tokens of a word or none");
    visit("cache", cache, "folder for packed tokens, shared by runs; empty: the run's own folder");
  }
  std::string check() const;
};

struct TextClassificationTaskConfig {
  static constexpr std::string_view kType = "text_classification";
  static constexpr std::string_view kAbout =
      "The class of a text or a pair of texts (Devlin et al. 2019, \"BERT\", section 4.1)";
  std::vector<std::string> train;
  std::vector<std::string> valid;
  int64_t max_length = 0;

  void fields(auto&& visit) {
    visit("train", train,
          "files to learn from, \"label<TAB>text\" a line, or \"label<TAB>text<TAB>text\"");
    visit("valid", valid, "the same to evaluate on");
    visit("max_length", max_length, non_negative(),
          "most tokens of a text or pair, its end is cut off; 0: the model's max_length");
  }
};

struct TaggingTaskConfig {
  static constexpr std::string_view kType = "tagging";
  static constexpr std::string_view kAbout =
      "The tag of each word, told at its first token (Devlin et al. 2019, \"BERT\", section 5.3)";
  std::vector<std::string> train;
  std::vector<std::string> valid;
  int64_t max_length = 0;

  void fields(auto&& visit) {
    visit("train", train,
          "files to learn from: a word and its tag a line, separated by a tab or blank, a blank "
          "line behind each sentence");
    visit("valid", valid, "the same to evaluate on");
    visit("max_length", max_length, non_negative(),
          "most tokens of a sentence, its end is cut off; 0: the model's max_length");
  }
};

}  // namespace zoo
