#include "data/length_batches.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace zoo {

namespace {

constexpr uint64_t kPairStream = uint64_t{10} << 56, kBatchStream = uint64_t{11} << 56;

}  // namespace

LengthBatches::LengthBatches(int64_t size, std::function<PairLengths(int64_t)> lengths,
                             BatchBudget budget, uint64_t seed, int64_t window)
    : size_(size),
      windows_((size + window - 1) / window),
      lengths_(std::move(lengths)),
      budget_(budget),
      seed_(seed) {}

std::vector<int64_t> LengthBatches::at(int64_t position) const {
  const Window& window = window_at(position / size_, position % size_);
  const int64_t place = position % size_ - window.first;
  const int64_t end = *std::upper_bound(window.ends.begin(), window.ends.end(), place);
  return {window.pairs.begin() + place, window.pairs.begin() + end};
}

const LengthBatches::Window& LengthBatches::window_at(int64_t epoch, int64_t place) const {
  if (window_.epoch == epoch && place >= window_.first &&
      place < window_.first + static_cast<int64_t>(window_.pairs.size()))
    return window_;
  // Window k holds the places from floor(k * size / windows) on: none is much smaller than another.
  int64_t index = place * windows_ / size_;
  while (index + 1 < windows_ && (index + 1) * size_ / windows_ <= place) ++index;
  window_ = {epoch, index * size_ / windows_, {}, {}};
  const int64_t end = (index + 1) * size_ / windows_;

  std::vector<int64_t> pairs;
  for (int64_t i = window_.first; i < end; ++i)
    pairs.push_back(
        static_cast<int64_t>(permuted_index(static_cast<uint64_t>(i), static_cast<uint64_t>(size_),
                                            seed_, kPairStream | static_cast<uint64_t>(epoch))));
  std::vector<std::vector<int64_t>> batches = cut(pairs);
  RandomStream random(
      seed_, kBatchStream | static_cast<uint64_t>(epoch) << 32 | static_cast<uint64_t>(index));
  for (size_t i = batches.size(); i > 1; --i)
    std::swap(batches[i - 1], batches[random.next_below(i)]);
  for (const std::vector<int64_t>& batch : batches) {
    window_.pairs.insert(window_.pairs.end(), batch.begin(), batch.end());
    window_.ends.push_back(static_cast<int64_t>(window_.pairs.size()));
  }
  return window_;
}

std::vector<std::vector<int64_t>> LengthBatches::cut(const std::vector<int64_t>& pairs) const {
  using Entry = std::tuple<int64_t, int64_t, int64_t>;  // source and target length, pair
  std::vector<Entry> sorted;
  for (const int64_t pair : pairs) {
    const PairLengths lengths = lengths_(pair);
    sorted.emplace_back(lengths.source, lengths.target, pair);
  }
  // By source, and by target to and fro, so that where the source's length changes the target's
  // hardly does. Pairs of equal lengths keep their drawn order.
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    const auto& [source, target, pair] = a;
    const auto& [other_source, other_target, other_pair] = b;
    if (source != other_source) return source < other_source;
    return source % 2 == 0 ? target < other_target : target > other_target;
  });
  std::vector<std::vector<int64_t>> batches;
  int64_t longest = 0;
  for (const auto& [source, target, pair] : sorted) {
    const int64_t with_this = std::max({longest, source, target});
    const int64_t rows = batches.empty() ? 0 : static_cast<int64_t>(batches.back().size());
    if (rows == 0 || rows + 1 > budget_.pairs || with_this > budget_.tokens / (rows + 1)) {
      batches.emplace_back();
      longest = std::max(source, target);
    } else {
      longest = with_this;
    }
    batches.back().push_back(pair);
  }
  return batches;
}

}  // namespace zoo
