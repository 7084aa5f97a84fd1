#include "tokenizer/merge_learner.h"

#include <algorithm>

namespace zoo {

namespace {

using Pair = MergeLearner::Pair;

uint64_t key_of(Pair pair) {
  return uint64_t{static_cast<uint32_t>(pair.first)} << 32 | static_cast<uint32_t>(pair.second);
}

/// What became of the pairs of one word in a merge: (pair, +1 or -1).
using Changes = std::vector<std::pair<Pair, int>>;

/// Replaces each `pair` in the word by `result`, from the left, and notes the neighbours' changes.
void merge_in_word(std::vector<int32_t>& symbols, Pair pair, int32_t result, Changes& changes) {
  size_t kept = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] != pair.first || i + 1 == symbols.size() || symbols[i + 1] != pair.second) {
      symbols[kept++] = symbols[i];
      continue;
    }
    if (kept > 0) {
      changes.push_back({{symbols[kept - 1], pair.first}, -1});
      changes.push_back({{symbols[kept - 1], result}, +1});
    }
    if (i + 2 < symbols.size()) {
      changes.push_back({{pair.second, symbols[i + 2]}, -1});
      changes.push_back({{result, symbols[i + 2]}, +1});
    }
    symbols[kept++] = result;
    ++i;
  }
  symbols.resize(kept);
}

}  // namespace

MergeLearner::MergeLearner(std::vector<Word> words) : words_(std::move(words)) {
  for (size_t i = 0; i < words_.size(); ++i)
    for (size_t j = 0; j + 1 < words_[i].symbols.size(); ++j)
      change_count({words_[i].symbols[j], words_[i].symbols[j + 1]}, +1, i);
  queue_new();
}

void MergeLearner::change_count(Pair pair, int change, size_t word) {
  counts_[key_of(pair)] += change * words_[word].count;
  if (change < 0) return;
  std::vector<size_t>& places = new_places_[key_of(pair)];
  if (places.empty() || places.back() != word) places.push_back(word);
}

void MergeLearner::queue_new() {
  for (auto& [key, places] : new_places_) {
    const Pair pair = {static_cast<int32_t>(key >> 32), static_cast<int32_t>(key & 0xFFFFFFFF)};
    if (const int64_t count = counts_[key]; count > 0) push({pair, count, std::move(places)});
  }
  new_places_.clear();
}

void MergeLearner::push(Candidate candidate) {
  queue_.push_back(std::move(candidate));
  std::push_heap(queue_.begin(), queue_.end());
}

bool MergeLearner::merge_best(int64_t min_frequency,
                              const std::function<std::optional<int32_t>(Pair)>& make) {
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end());
    Candidate best = std::move(queue_.back());
    queue_.pop_back();
    // Other merges have taken some of its places since it was queued: queue it again with the
    // count of today.
    if (const int64_t count = counts_[key_of(best.pair)]; count != best.count) {
      best.count = count;
      push(std::move(best));
      continue;
    }
    if (best.count < min_frequency) return false;
    const std::optional<int32_t> result = make(best.pair);
    if (!result) continue;
    Changes changes;
    for (const size_t word : best.words) {
      changes.clear();
      merge_in_word(words_[word].symbols, best.pair, *result, changes);
      for (const auto& [pair, change] : changes) change_count(pair, change, word);
    }
    queue_new();
    return true;
  }
  return false;
}

}  // namespace zoo
