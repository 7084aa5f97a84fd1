#pragma once
// What the trainers of merging tokenizers have in common.

#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "tokenizer/merge_learner.h"
#include "tokenizer/special_roles.h"
#include "tokenizer/word_cache.h"

namespace zoo {

/// The pieces of a vocabulary in the making.
class TrainedPieces {
 public:
  /// The id of `piece`, which is added if it is new.
  int32_t add(const std::string& piece);
  int32_t id_of(const std::string& piece) const { return ids_.at(piece); }
  std::optional<int64_t> find(std::string_view piece) const;
  const std::string& operator[](int32_t id) const { return pieces_[static_cast<size_t>(id)]; }
  size_t size() const { return pieces_.size(); }
  std::vector<std::string> take() { return std::move(pieces_); }

  /// Merges until there are `vocab_size` pieces.
  /// @param merge the piece that replaces a pair, see MergeLearner::merge_best()
  /// @throws DataError naming the largest possible size if no pair occurs min_frequency times
  void fill(int64_t vocab_size, int64_t min_frequency, std::vector<MergeLearner::Word> words,
            const std::function<std::optional<int32_t>(MergeLearner::Pair)>& merge);

 private:
  std::vector<std::string> pieces_;
  TextMap<int32_t> ids_;
};

/// How often each word occurs. @param for_each_word calls its second argument for each word of a
/// text
TextMap<int64_t> count_words(
    const std::vector<fs::path>& files,
    const std::function<void(std::string_view text,
                             const std::function<void(std::string_view word)>& use)>&
        for_each_word);

}  // namespace zoo
