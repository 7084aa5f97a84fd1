#include "tokenizer/trained_pieces.h"

#include "core/error.h"

namespace zoo {

int32_t TrainedPieces::add(const std::string& piece) {
  const auto [entry, is_new] = ids_.emplace(piece, static_cast<int32_t>(pieces_.size()));
  if (is_new) pieces_.push_back(piece);
  return entry->second;
}

std::optional<int64_t> TrainedPieces::find(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

void TrainedPieces::fill(int64_t vocab_size, int64_t min_frequency,
                         std::vector<MergeLearner::Word> words,
                         const std::function<std::optional<int32_t>(MergeLearner::Pair)>& merge) {
  const auto wanted = static_cast<size_t>(vocab_size);
  MergeLearner learner(std::move(words));
  while (size() < wanted && learner.merge_best(min_frequency, merge)) {
  }
  if (size() < wanted)
    throw DataError(cat("tokenizer training: vocab_size ", vocab_size,
                        " is more than the text can fill; the largest possible size is ", size(),
                        " (with min_frequency ", min_frequency,
                        "); lower vocab_size or train on more text"));
}

TextMap<int64_t> count_words(
    const std::vector<fs::path>& files,
    const std::function<void(std::string_view, const std::function<void(std::string_view)>&)>&
        for_each_word) {
  TextMap<int64_t> counts;
  for (const fs::path& path : files) {
    const MappedFile file(path);
    for_each_word(file.text(), [&](std::string_view word) {
      const auto entry = counts.find(word);
      if (entry == counts.end())
        counts.emplace(word, 1);
      else
        ++entry->second;
    });
  }
  return counts;
}

}  // namespace zoo
