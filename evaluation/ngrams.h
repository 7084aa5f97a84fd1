#pragma once
// Words as numbers and n-grams as nodes of a trie, for the metrics that count matches.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace zoo {

/// Numbers the words of one line, from 0. Words are compared, so two never share a number.
class WordNumbers {
 public:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  void clear() { words_.clear(), ++line_; }
  /// @param word must outlive the next clear()
  uint32_t add(std::string_view word);
  /// kUnknown if the word was not added
  uint32_t find(std::string_view word) const;
  size_t size() const { return words_.size(); }

 private:
  struct Slot {
    uint32_t line = 0, hash = 0, number = 0;  // slots of older lines are empty
  };
  size_t place_of(std::string_view word, uint32_t hash) const;
  void grow();

  std::vector<std::string_view> words_;
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  uint32_t line_ = 1;
};

/// Counts the n-grams that a hypothesis shares with references. Each n-gram of the hypothesis is a
/// node: its parent, the n-gram without the last symbol, and that symbol name it exactly.
class NgramMatcher {
 public:
  /// @param max_order the longest n-grams; at least 1
  explicit NgramMatcher(size_t max_order) : max_order_(max_order) {}

  /// Symbols are numbers of words, or code points; WordNumbers::kUnknown matches nothing.
  void set_hypothesis(std::span<const uint32_t> symbols);
  /// For each order adds to `matches` what this reference adds to min(count in the hypothesis,
  /// largest count in a reference), summed over n-grams. @param matches max_order numbers
  void match(std::span<const uint32_t> reference, std::span<double> matches);
  /// The next reference is compared for itself, not together with the earlier ones.
  void forget_references() { first_of_group_ = reference_ + 1; }

 private:
  struct Node {
    uint32_t in_hypothesis = 0;
    uint32_t in_reference = 0, reference = 0;  // the count, and the reference it belongs to
    uint32_t matched = 0;  // min(in_hypothesis, most in a reference of the group)
  };
  struct Slot {
    uint64_t key = 0;
    uint32_t hypothesis = 0, node = 0;  // slots of older hypotheses are empty
  };
  static constexpr uint32_t kRoot = 0;
  Slot& slot_of(uint32_t parent, uint32_t symbol);

  size_t max_order_;
  std::vector<Node> nodes_;
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  uint32_t hypothesis_ = 0, reference_ = 0, first_of_group_ = 1;
};

}  // namespace zoo
