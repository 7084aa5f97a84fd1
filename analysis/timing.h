#pragma once
// How long a call takes.

#include <functional>
#include <vector>

#include "core/shape.h"

namespace zoo {

struct Timing {
  double median = 0, fastest = 0, slowest = 0;  ///< seconds of one call
};

/// Times `calls` turn by turn, each `repeat` times after one call to warm up, so that what slows
/// the machine down for a while slows all of them. Short calls are repeated within a timing.
/// @return of each call
std::vector<Timing> time_calls(const std::vector<std::function<void()>>& calls, int64_t repeat,
                               torch::Device device);

}  // namespace zoo
