// Times the library for benchmarks/run: generation with a GPT-2-shaped model, ids in and ids out.
//   zoo_bench generate BATCH SECONDS
// Prints one JSON object: the median of the times of one call.

#include <algorithm>
#include <chrono>
#include <iostream>

#include "core/json.h"
#include "decoding/generate.h"
#include "models/zoo.h"

namespace {

double median_time(double seconds, int warm_up, auto&& call) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (int i = 0; i < warm_up; ++i) call();
  std::vector<double> times;
  for (const auto start = Clock::now(); times.size() < 3 || since(start) < seconds;) {
    const auto one = Clock::now();
    call();
    times.push_back(since(one));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double time_generation(int64_t batch, double seconds) {
  torch::manual_seed(1);
  const auto model = zoo::make_causal_lm(zoo::GptConfig::preset("gpt2"));
  model->eval();
  zoo::GenerationOptions options;
  options.max_new_tokens = 128;
  std::vector<std::vector<int64_t>> prompts(batch);
  for (auto& prompt : prompts)
    for (int i = 0; i < 32; ++i) prompt.push_back(torch::randint(50257, {1}).item<int64_t>());
  return median_time(seconds, 1, [&] {
    for (const auto& samples : zoo::generate(*model, prompts, options))
      if (samples.at(0).tokens.size() != 128) throw zoo::Error("generation ended early");
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::string(argv[1]) == "generate") {
      const double seconds = time_generation(std::stoll(argv[2]), std::stod(argv[3]));
      std::cout << zoo::Json{{"seconds", seconds}} << "\n";
      return 0;
    }
    std::cerr << "usage: zoo_bench generate BATCH SECONDS\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "zoo_bench: " << error.what() << "\n";
    return 1;
  }
}
