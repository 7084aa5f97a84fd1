#include "analysis/timing.h"

#include <algorithm>
#include <cmath>

#include "core/stopwatch.h"

namespace zoo {

namespace {

/// The shortest timing: far above what reading the clock costs.
constexpr double kLeastSeconds = 0.005;

double seconds_of(const std::function<void()>& call, int64_t times, torch::Device device) {
  const auto wait = [&] {
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
  };
  wait();
  const Stopwatch watch;
  for (int64_t i = 0; i < times; ++i) call();
  wait();
  return watch.seconds() / static_cast<double>(times);
}

}  // namespace

std::vector<Timing> time_calls(const std::vector<std::function<void()>>& calls, int64_t repeat,
                               torch::Device device) {
  std::vector<int64_t> times;
  for (const auto& call : calls) {
    call();
    const double once = std::max(seconds_of(call, 1, device), 1e-9);
    times.push_back(std::max<int64_t>(1, std::llround(std::ceil(kLeastSeconds / once))));
  }
  std::vector<std::vector<double>> seconds(calls.size());
  for (int64_t turn = 0; turn < repeat; ++turn)
    for (size_t i = 0; i < calls.size(); ++i)
      seconds[i].push_back(seconds_of(calls[i], times[i], device));
  std::vector<Timing> timings;
  for (std::vector<double>& of_call : seconds) {
    std::sort(of_call.begin(), of_call.end());
    timings.push_back({of_call[of_call.size() / 2], of_call.front(), of_call.back()});
  }
  return timings;
}

}  // namespace zoo
