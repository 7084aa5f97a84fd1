#pragma once
// Pairs of prompt and completion, one "prompt<TAB>completion" a line, as ids in memory.

#include <cstdint>
#include <span>
#include <vector>

#include "core/files.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

class Completions {
 public:
  /// One pair; the completion ends with the tokenizer's end token, where it has one.
  struct Pair {
    std::span<const int32_t> tokens;  ///< prompt, then completion
    int64_t prompt_length;
  };

  /// Blank sides and pairs longer than `max_length` + 1 tokens are left out and counted.
  /// @throws DataError for a line without exactly one tab, or if no pair is left
  Completions(const std::vector<fs::path>& files, const Tokenizer& tokenizer, int64_t max_length);

  int64_t size() const { return static_cast<int64_t>(prompt_lengths_.size()); }
  Pair operator[](int64_t index) const;
  int64_t blank() const { return blank_; }        ///< pairs left out: a side is blank
  int64_t too_long() const { return too_long_; }  ///< pairs left out: longer than the model reads

 private:
  void add(std::string_view prompt, std::string_view completion, const Tokenizer& tokenizer,
           int64_t max_length);

  std::vector<int32_t> tokens_;
  std::vector<size_t> ends_;  // of each pair in tokens_
  std::vector<int32_t> prompt_lengths_;
  int64_t blank_ = 0, too_long_ = 0;
};

/// The pair at `position`, counted from the start of training: every epoch has its own order, a
/// pure function of (seed, position).
int64_t shuffled_pair(int64_t position, int64_t size, uint64_t seed);

}  // namespace zoo
