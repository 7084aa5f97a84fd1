#pragma once
// Synthetic tasks whose answers are known, as files of "prompt<TAB>completion" lines. The same seed
// gives the same bytes on every machine.

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.h"
#include "core/files.h"

namespace zoo {

enum class SyntheticTask { copy, reverse, sort, add, induction };
template <>
struct EnumNames<SyntheticTask> {
  static constexpr std::array values{
      std::pair{SyntheticTask::copy, "copy"}, std::pair{SyntheticTask::reverse, "reverse"},
      std::pair{SyntheticTask::sort, "sort"}, std::pair{SyntheticTask::add, "add"},
      std::pair{SyntheticTask::induction, "induction"}};
};

struct SyntheticOptions {
  SyntheticTask task = SyntheticTask::copy;
  int64_t train = 10000;  ///< lines; add: at most all sums that are not in valid
  int64_t valid = 500;
  int64_t seed = 1337;
  int64_t length = 0;   ///< symbols: the longest text (copy, reverse), the text (sort, induction),
                        ///< or digits of a summand (add); 0: 10, 10, 6, 16, 2
  int64_t symbols = 0;  ///< size of the alphabet; 0: 26, 26, 3, 16; add always has 10
  /// copy, reverse, sort for encoder–decoders: numbers with blanks between them.
  bool translation = false;
  int64_t valid_length = 0;  ///< translation: the longest text of valid and test; 0: as in train
  int64_t test = 1000;       ///< translation: lines of a third file
  std::string check() const;
};

struct SyntheticData {
  std::vector<std::string> train, valid, test;  ///< lines
};

/// copy, reverse   "hgfa>" to "hgfa." or "afgh.", of 1 to `length` letters; "." marks the end
/// sort            `length` digits below `symbols` to the same in order: minGPT's sort. A quarter
/// of
///                 all texts, chosen by a hash, is for `valid` and never in `train`
/// add             both summands with `length` digits each, then the sum's digits from the last to
///                 the first, one more than a summand has: minGPT's adder. Each sum stands in one
///                 of the two files only, once
/// induction       letters with one "?" among them and one at the end, to the letter that followed
///                 the first "?" (Olsson et al. 2022, "In-context Learning and Induction Heads")
///
/// With `translation`, copy, reverse and sort are 1 to `length` (0: 25) numbers below `symbols` (0:
/// 50), such as "7 31 7" to "7 31 7" or "7 7 31": JoeyNMT's reverse task.
/// @throws ConfigError
SyntheticData make_synthetic(const SyntheticOptions& options);

}  // namespace zoo
