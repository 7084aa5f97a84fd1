#include "data/windows.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"

namespace zoo {

namespace {

// Streams of the seed, apart from each other and from those of other draws.
constexpr uint64_t kShiftStream = uint64_t{1} << 56, kOrderStream = uint64_t{2} << 56,
                   kPlaceStream = uint64_t{3} << 56;

void require_window(int64_t count, int64_t length) {
  if (count <= length)
    throw DataError(cat("a training example needs ", length + 1, " tokens (block_size + 1), found ",
                        count, " in all; use more text or a smaller task.block_size"));
}

class EpochSampler final : public WindowSampler {
 public:
  EpochSampler(int64_t count, int64_t length, uint64_t seed)
      : length_(length),
        windows_(std::max<int64_t>(1, (count - length) / length)),
        shifts_(std::min(length, count - windows_ * length)),
        seed_(seed) {}

  int64_t epoch_size() const override { return windows_; }

  int64_t start(int64_t position) const override {
    const auto epoch = static_cast<uint64_t>(position / windows_);
    const auto index = static_cast<uint64_t>(position % windows_);
    const uint64_t shift = RandomStream(seed_, kShiftStream | epoch).next_below(shifts_);
    const uint64_t window = permuted_index(index, windows_, seed_, kOrderStream | epoch);
    return static_cast<int64_t>(shift) + static_cast<int64_t>(window) * length_;
  }

 private:
  int64_t length_, windows_, shifts_;
  uint64_t seed_;
};

class RandomSampler final : public WindowSampler {
 public:
  RandomSampler(int64_t count, int64_t length, uint64_t seed)
      : places_(count - length),
        windows_(std::max<int64_t>(1, (count - length) / length)),
        seed_(seed) {}

  int64_t epoch_size() const override { return windows_; }

  int64_t start(int64_t position) const override {
    return static_cast<int64_t>(
        RandomStream(seed_, kPlaceStream | static_cast<uint64_t>(position)).next_below(places_));
  }

 private:
  int64_t places_, windows_;
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<WindowSampler> make_epoch_sampler(int64_t count, int64_t length, uint64_t seed) {
  require_window(count, length);
  return std::make_unique<EpochSampler>(count, length, seed);
}

std::unique_ptr<WindowSampler> make_random_sampler(int64_t count, int64_t length, uint64_t seed) {
  require_window(count, length);
  return std::make_unique<RandomSampler>(count, length, seed);
}

}  // namespace zoo
