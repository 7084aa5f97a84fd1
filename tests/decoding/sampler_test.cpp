#include "decoding/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "decoding/processors.h"

namespace zoo {
namespace {

using Ids = std::vector<int64_t>;

Ids kept(GenerationOptions options, const std::vector<float>& logits) {
  options.sample = true;
  Sampler sampler(options);
  Ids ids;
  double total = 0;
  for (const Candidate& candidate : sampler.candidates(logits)) {
    ids.push_back(candidate.id);
    total += candidate.probability;
  }
  EXPECT_NEAR(total, 1, 1e-12);
  return ids;
}

Ids first_ids(int64_t count) {
  Ids ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(Sampler, TopPKeepsTheSmallestSet) {  // SAM-1
  const std::vector<float> logits = {2, 1, .5, 0, -1};
  for (const auto& [top_p, count] : std::vector<std::pair<double, int64_t>>{
           {0, 1}, {1e-9, 1}, {.5, 1}, {.6, 2}, {.7, 2}, {.85, 3}, {.95, 4}, {1, 5}})
    EXPECT_EQ(kept({.top_p = top_p}, logits), first_ids(count)) << top_p;
}

TEST(Sampler, TopKZeroIsOffAndMoreThanTheVocabularyKeepsAll) {  // SAM-5
  const std::vector<float> logits = {0, 3, 1, 2};
  EXPECT_EQ(kept({.top_k = 1}, logits), (Ids{1}));
  EXPECT_EQ(kept({.top_k = 3}, logits), (Ids{1, 2, 3}));
  for (const int64_t top_k : {0, 4, 5, 100000})
    EXPECT_EQ(kept({.top_k = top_k}, logits), first_ids(4)) << top_k;
}

TEST(Sampler, OfEqualTokensTheFirstOnesAreKept) {
  const std::vector<float> logits = {1, 2, 2, 2, 2, 0};
  EXPECT_EQ(kept({.top_k = 2}, logits), (Ids{1, 2}));
  EXPECT_EQ(kept({.top_p = .5}, logits), (Ids{1, 2, 3}));
  EXPECT_EQ(kept({.top_p = .5}, std::vector<float>(8, 0)), first_ids(4));
  EXPECT_EQ(Sampler(GenerationOptions{}).choose(logits, 0), 1);
}

TEST(Sampler, ForbiddenTokensAreNeverKept) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {kForbidden, 1, kForbidden, 0};
  EXPECT_EQ(kept({}, logits), (Ids{1, 3}));
  EXPECT_EQ(kept({.top_k = 3}, logits), (Ids{1, 3}));
  EXPECT_EQ(kept({.typical_p = .99}, logits), (Ids{1, 3}));
}

TEST(Sampler, ExtremeTemperaturesAndLogits) {
  const std::vector<float> logits = {-1e30F, 1e30F, 0};
  EXPECT_EQ(kept({.temperature = 1e-3, .typical_p = .9}, logits), (Ids{1}));
  Sampler sampler({.sample = true, .temperature = 1e-30});
  for (const double uniform : {0., .5, .999999}) EXPECT_EQ(sampler.choose(logits, uniform), 1);
}

TEST(Sampler, EqualsHuggingFace) {
  const Json golden =
      read_json_file(fs::path(ZOO_SOURCE_DIR) / "tests/golden/decoding/sampling.json");
  const auto logits = golden["logits"].get<std::vector<float>>();
  const auto history = golden["history"].get<Ids>();
  for (Json item : golden["cases"]) {
    GenerationOptions options;
    Json& json = item["options"];
    if (json.contains("banned_sequences")) {  // not a key of the config
      options.banned_sequences = json["banned_sequences"].get<std::vector<Ids>>();
      json.erase("banned_sequences");
    }
    read_config(json, options, "golden");
    std::vector<float> row = logits;
    const LogitsProcessors steps(options, std::nullopt, std::ssize(row));
    steps.adjust(row, {history, 0});
    steps.forbid(row, {history, 0});

    Sampler sampler(options);
    std::vector<double> probabilities(logits.size());
    for (const Candidate& candidate : sampler.candidates(row))
      probabilities[static_cast<size_t>(candidate.id)] = candidate.probability;
    const auto expected = item["probabilities"].get<std::vector<double>>();
    for (size_t id = 0; id < logits.size(); ++id)
      EXPECT_NEAR(probabilities[id], expected[id], 1e-6) << json.dump() << " id " << id;
  }
}

/// The definition of each truncation by a full sort, on a vocabulary of GPT-2's size.
TEST(Sampler, TruncationsEqualFullSorts) {
  RandomStream random(7, 0);
  std::vector<float> logits(50257);
  for (float& logit : logits) logit = static_cast<float>(12 * std::pow(random.next_uniform(), 4));
  const size_t V = logits.size();
  std::vector<double> p(V);
  for (size_t i = 0; i < V; ++i) p[i] = std::exp(static_cast<double>(logits[i]));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  double entropy = 0;
  for (double& value : p) {
    value /= total;
    entropy -= value * std::log(value);
  }
  const auto smallest_set = [&](double share, auto before) {
    Ids order = first_ids(std::ssize(logits));
    std::sort(order.begin(), order.end(), before);
    double mass = 0;
    Ids set;
    for (const int64_t id : order) {
      set.push_back(id);
      if ((mass += p[static_cast<size_t>(id)]) >= share) break;
    }
    std::sort(set.begin(), set.end());
    return set;
  };
  for (const double share : {.1, .5, .9, .999}) {
    EXPECT_EQ(kept({.top_p = share}, logits),
              smallest_set(share,
                           [&](int64_t a, int64_t b) {
                             return p[static_cast<size_t>(a)] != p[static_cast<size_t>(b)]
                                        ? p[static_cast<size_t>(a)] > p[static_cast<size_t>(b)]
                                        : a < b;
                           }))
        << share;
    EXPECT_EQ(kept({.typical_p = share}, logits).size(),
              smallest_set(share,
                           [&](int64_t a, int64_t b) {
                             const double first =
                                 std::abs(-std::log(p[static_cast<size_t>(a)]) - entropy);
                             const double second =
                                 std::abs(-std::log(p[static_cast<size_t>(b)]) - entropy);
                             return first != second ? first < second : a < b;
                           })
                  .size())
        << share;
  }
}

/// Pearson's statistic of draws against the exact probabilities.
TEST(Sampler, FrequenciesAreTheProbabilities) {
  const std::vector<float> logits = {2, 1, .5, 0, -1, -2};
  Sampler sampler({.sample = true, .temperature = 1.3, .top_k = 5});
  std::vector<double> probabilities(logits.size());
  for (const Candidate& candidate : sampler.candidates(logits))
    probabilities[static_cast<size_t>(candidate.id)] = candidate.probability;

  constexpr uint64_t kDraws = 200000;
  std::vector<double> counts(logits.size());
  for (uint64_t row = 0; row < kDraws; ++row)
    ++counts[static_cast<size_t>(
        sampler.choose(logits, RandomStream(1337, row, 5).next_uniform()))];
  double statistic = 0;
  for (size_t id = 0; id < 5; ++id) {
    const double expected = probabilities[id] * kDraws;
    statistic += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  EXPECT_LT(statistic, 13.28);  // chi-square, 4 degrees of freedom, 1 %
  EXPECT_EQ(counts[5], 0);
}

TEST(Sampler, RefusesBrokenLogits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const bool sample : {false, true}) {
    Sampler sampler({.sample = sample, .top_k = 2});
    EXPECT_THROW(sampler.choose(std::vector<float>{0, kNan, 1}, .5), NumericError);
    EXPECT_THROW(sampler.choose(std::vector<float>{0, kInfinity, 1}, .5), NumericError);
    EXPECT_THROW(sampler.choose(std::vector<float>{-kInfinity, -kInfinity}, .5), ConfigError);
  }
}

TEST(GenerationOptions, RefusesWhatCannotBe) {
  const auto problem = [](const GenerationOptions& options) { return options.check(); };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.sample = true, .temperature = 0, .beam_size = 4}), "");
  EXPECT_EQ(problem({.top_k = -1}), "top_k: -1 is out of range; allowed: >= 0");
  EXPECT_EQ(problem({.top_p = 1.5}), "top_p: 1.5 is out of range; allowed: 0 <= x <= 1");
  EXPECT_EQ(problem({.top_p = -.1}), "top_p: -0.1 is out of range; allowed: 0 <= x <= 1");
  EXPECT_NE(problem({.temperature = std::nan("")}), "");
  EXPECT_NE(problem({.sample = true, .beam_size = 2}).find("beam search does not draw"),
            std::string::npos);
  EXPECT_NE(problem({.max_new_tokens = 3, .min_new_tokens = 4})
                .find("min_new_tokens 4 is above max_new_tokens 3"),
            std::string::npos);
  EXPECT_NE(problem({.logit_bias = {{-1, 1.0}}}).find("logit_bias: -1 = 1"), std::string::npos);
  EXPECT_NE(problem({.banned_sequences = {{}}}).find("banned_sequences"), std::string::npos);
  EXPECT_NE(problem({.stop = {""}}).find("stop: an empty text"), std::string::npos);
}

}  // namespace
}  // namespace zoo
