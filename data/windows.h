#pragma once
// Windows of a token file as training examples of a language model: T inputs and the T tokens that
// follow them. Which window comes when is a pure function of (seed, position): resuming is going on
// at a position, and nothing is replayed.

#include <cstdint>
#include <memory>
#include <span>

#include "data/token_file.h"

namespace zoo {

/// A part of a token file, such as the training part of a text.
struct TokenRange {
  std::shared_ptr<const TokenFile> file;
  int64_t first = 0, count = 0;

  void read(int64_t offset, std::span<int64_t> out) const { file->read(first + offset, out); }
};

/// One order of windows of T tokens.
class WindowSampler {
 public:
  virtual ~WindowSampler() = default;
  /// Windows in an epoch.
  virtual int64_t epoch_size() const = 0;
  /// The place of the first input token of the window at `position`, counted from the start of
  /// training; the window holds the T + 1 tokens from there on.
  virtual int64_t start(int64_t position) const = 0;
};

/// Windows that do not overlap, in an order and with a shift drawn anew each epoch: each token is
/// predicted at most once an epoch, and all but fewer than 2 T are.
/// @param count tokens in all, more than `length`  @throws DataError if there are too few
std::unique_ptr<WindowSampler> make_epoch_sampler(int64_t count, int64_t length, uint64_t seed);

/// Each window at a uniformly random place, as nanoGPT draws them; an epoch is as many windows as
/// make_epoch_sampler() has.
std::unique_ptr<WindowSampler> make_random_sampler(int64_t count, int64_t length, uint64_t seed);

}  // namespace zoo
