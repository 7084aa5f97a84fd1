#pragma once
// The merging that BPE and WordPiece learn by (Sennrich et al. 2016, algorithm 1): words are rows
// of symbols, and again and again the most frequent pair of neighbours becomes one symbol.

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo {

class MergeLearner {
 public:
  struct Word {
    std::vector<int32_t> symbols;
    int64_t count;
  };
  using Pair = std::pair<int32_t, int32_t>;

  /// @param words distinct ones, with how often each occurs
  explicit MergeLearner(std::vector<Word> words);

  /// Merges the most frequent pair everywhere, of equally frequent ones that with the smallest
  /// symbols.
  /// @param make the symbol that replaces a pair; nothing: the pair is never to be merged
  /// @return false if no pair occurs min_frequency times
  bool merge_best(int64_t min_frequency, const std::function<std::optional<int32_t>(Pair)>& make);

 private:
  /// A pair that waits to be merged, in the words where it newly came up.
  struct Candidate {
    Pair pair;
    int64_t count;
    std::vector<size_t> words;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void change_count(Pair pair, int change, size_t word);
  void queue_new();
  void push(Candidate candidate);

  std::vector<Word> words_;
  std::unordered_map<uint64_t, int64_t> counts_;  // of pairs, by key_of
  std::unordered_map<uint64_t, std::vector<size_t>>
      new_places_;                // words with a pair that is not queued
  std::vector<Candidate> queue_;  // a heap
};

}  // namespace zoo
