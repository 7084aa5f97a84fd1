#pragma once
// Batches of pairs of similar length, so that little of a batch is padding. Which batch comes when
// is a pure function of (seed, position): resuming is going on at a position, and nothing is
// replayed.
//
// An epoch's order is drawn anew and cut into windows of the same size; the pairs of a window are
// sorted by length and cut into batches, which come in a drawn order. Only one window is in memory.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/random.h"

namespace zoo {

/// Tokens of a pair's sides.
struct PairLengths {
  int64_t source = 0, target = 0;
};

/// What a batch may hold.
struct BatchBudget {
  int64_t pairs = INT64_MAX;
  int64_t tokens = INT64_MAX;  ///< pairs times the longest side of any of them
};

class LengthBatches {
 public:
  /// @param size pairs in an epoch, at least 1  @param lengths of pair i in [0, size)
  /// @param window pairs that are sorted together
  LengthBatches(int64_t size, std::function<PairLengths(int64_t)> lengths, BatchBudget budget,
                uint64_t seed, int64_t window = int64_t{1} << 14);

  int64_t epoch_size() const { return size_; }

  /// Where a random epoch starts: at() of it is a random batch.
  int64_t random_start(RandomStream& random) const {
    return static_cast<int64_t>(random.next_below(uint64_t{1} << 20)) * size_;
  }

  /// The pairs of the batch that starts at `position`, counted in pairs from the start of training.
  /// Within a batch (after the budget was changed on resuming): what is left of it. A pair that is
  /// longer than the budget makes a batch alone. Not for several threads at once.
  std::vector<int64_t> at(int64_t position) const;

 private:
  struct Window {
    int64_t epoch = -1, first = 0;  // its place in the epoch's order
    std::vector<int64_t> pairs;     // batch after batch
    std::vector<int64_t> ends;      // of the batches
  };

  const Window& window_at(int64_t epoch, int64_t place) const;
  std::vector<std::vector<int64_t>> cut(const std::vector<int64_t>& pairs) const;

  int64_t size_, windows_;
  std::function<PairLengths(int64_t)> lengths_;
  BatchBudget budget_;
  uint64_t seed_;
  mutable Window window_;  // the one in use
};

}  // namespace zoo
