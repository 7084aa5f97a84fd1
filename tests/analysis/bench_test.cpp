// Benchmarks: fits and files of given points; the closed forms of layers; small runs, whose tables
// are complete. No test depends on a time.

#include "analysis/bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "analysis/bench_model.h"
#include "analysis/bench_sweeps.h"
#include "analysis/flop_counter.h"
#include "core/text.h"
#include "models/cost.h"

namespace zoo {
namespace {

/// Two series, one quadratic and one linear, which meet at 64.
std::vector<BenchPoint> two_laws() {
  std::vector<BenchPoint> points;
  for (const int64_t n : {16, 32, 48, 96, 192, 384}) {
    const auto x = static_cast<double>(n);
    points.push_back({.series = "square",
                      .pass = "forward",
                      .tokens = n,
                      .seconds = 1.5e-6 * x * x,
                      .fastest = 1e-6 * x * x,
                      .slowest = 2e-6 * x * x,
                      .bytes = 8 * x,
                      .flops = 4 * x * x});
    points.push_back({.series = "line",
                      .pass = "forward",
                      .tokens = n,
                      .seconds = 1,
                      .fastest = 64e-6 * x,
                      .flops = 256 * x});
  }
  return points;
}

TEST(Bench, FitsExponentsThroughTheLongestLengths) {
  std::vector<BenchPoint> points = two_laws();
  points[0].fastest *= 100;  // the shortest of six lengths does not count
  const std::vector<BenchFit> fits = fit_points(points);
  ASSERT_EQ(fits.size(), 5U);  // "line" holds no bytes
  const auto expect = [&](size_t i, const char* series, const char* quantity, double slope) {
    EXPECT_EQ(fits[i].series, series);
    EXPECT_EQ(fits[i].quantity, quantity);
    EXPECT_NEAR(fits[i].fit.slope, slope, 1e-12);
  };
  expect(0, "square", "seconds", 2);
  expect(1, "square", "bytes", 1);
  expect(2, "square", "flops", 2);
  expect(3, "line", "seconds", 1);
  expect(4, "line", "flops", 1);
  points.resize(2);  // one length each
  EXPECT_TRUE(fit_points(points).empty());
}

TEST(Bench, FindsWhereTwoSeriesCross) {
  const std::vector<BenchPoint> points = two_laws();
  const BenchCrossing found = find_crossing(points, "square", "line", "forward", 64);
  EXPECT_EQ(found.predicted, 64);
  EXPECT_NEAR(found.measured.value(), 64, 1e-9);
  try {
    find_crossing(points, "square", "cube", "forward", 64);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "crossing: \"cube\", forward, was not measured");
  }
}

TEST(Bench, WritesJsonCsvAndAChart) {
  BenchResult result{.mode = "layers", .setting = {{"width", 8}}, .points = two_laws()};
  result.points.resize(2);
  result.points[0].path_length = 16;
  result.fits = {{"square", "forward", "seconds", {2, 1, -INFINITY, INFINITY}}};
  result.crossings = {{"square", "line", "forward", 64, {}}};
  result.facts = {{"spread", 8.5}};
  const Json json = to_json(result);
  EXPECT_EQ(json["setting"]["width"], 8);
  EXPECT_EQ(json["points"].size(), 2U);
  EXPECT_EQ(json["points"][0]["path_length"], 16);
  EXPECT_EQ(json["points"][1]["series"], "line");
  EXPECT_EQ(json["fits"][0]["exponent"], 2);
  EXPECT_TRUE(parse_json(json.dump(), "bench")["fits"][0]["low"].is_null());
  EXPECT_TRUE(json["crossings"][0]["measured"].is_null());
  EXPECT_EQ(json["facts"]["spread"], 8.5);

  const std::vector<std::string> lines = split(to_csv(result), '\n');
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0],
            "series,pass,tokens,seconds,fastest,slowest,bytes,flops,path_length,sequential_steps");
  EXPECT_EQ(lines[1], "\"square\",forward,16,0.000384,0.000256,0.000512,128,1024,16,0");
  const std::string chart = to_svg(result);
  EXPECT_TRUE(chart.starts_with("<svg"));
  EXPECT_NE(chart.find("square, forward"), std::string::npos);
}

// Vaswani et al. 2017, table 1, with its constants.
TEST(Bench, LayersAreThoseOfTable1) {
  const LayerBench layer{.width = 64, .heads = 4, .kernel_width = 3};
  const auto expect = [&](LayerKind kind, double multiply_adds, int64_t path, int64_t steps) {
    const LayerTheory theory = layer_theory(kind, layer, 100);
    EXPECT_EQ(theory.multiply_adds, multiply_adds) << enum_name(kind);
    EXPECT_EQ(theory.path_length, path) << enum_name(kind);
    EXPECT_EQ(theory.sequential_steps, steps) << enum_name(kind);
  };
  expect(LayerKind::tanh_rnn, 2.0 * 100 * 64 * 64, 100, 100);
  expect(LayerKind::lstm, 8.0 * 100 * 64 * 64, 100, 100);
  expect(LayerKind::convolution, 3.0 * 100 * 64 * 64, 5, 1);  // 3^5 = 243
  expect(LayerKind::attention, 2.0 * 100 * 100 * 64, 1, 1);
  expect(LayerKind::multi_head, 4.0 * 100 * 64 * 64 + 2.0 * 100 * 100 * 64, 1, 1);
  // As many at n = d, and at n = 2 d.
  EXPECT_EQ(layer_theory(LayerKind::attention, layer, 64).multiply_adds,
            layer_theory(LayerKind::tanh_rnn, layer, 64).multiply_adds);
  EXPECT_EQ(layer_theory(LayerKind::multi_head, layer, 128).multiply_adds,
            layer_theory(LayerKind::lstm, layer, 128).multiply_adds);
  // log_3 of a power of three is exact, and a kernel of one sees no neighbour.
  EXPECT_EQ(layer_theory(LayerKind::convolution, layer, 81).path_length, 4);
  EXPECT_EQ(layer_theory(LayerKind::convolution, layer, 2).path_length, 1);
}

SweepOptions small_sweep() { return {.lengths = {4, 8}, .batch = 2, .repeat = 1}; }

/// Every series has every pass at every length, with a time, and all the numbers are finite.
void expect_complete(const BenchResult& result, const std::vector<std::string>& series,
                     const std::vector<std::string>& passes) {
  std::set<std::string> found;
  for (const BenchPoint& point : result.points) {
    found.insert(cat(point.series, "/", point.pass, "/", point.tokens));
    EXPECT_GT(point.seconds, 0);
    EXPECT_LE(point.fastest, point.seconds);
    EXPECT_GE(point.slowest, point.seconds);
    EXPECT_GT(point.bytes, 0) << point.series;
    EXPECT_GT(point.flops, 0) << point.series;
  }
  EXPECT_EQ(found.size(), result.points.size());
  for (const std::string& one : series)
    for (const std::string& pass : passes)
      for (const char* tokens : {"4", "8"})
        EXPECT_TRUE(found.contains(cat(one, "/", pass, "/", tokens))) << one << " " << pass;
  EXPECT_EQ(found.size(), series.size() * passes.size() * 2);
  EXPECT_EQ(result.fits.size(), 3 * series.size() * passes.size());
}

const std::vector<std::string> kBothPasses = {"forward", "forward and backward"};

TEST(Bench, AttentionGivesACompleteTable) {
  const BenchResult result =
      bench_attention({.heads = 4, .kv_heads = 2, .head_dim = 8}, small_sweep());
  expect_complete(result, {"fused", "explicit"}, kBothPasses);
  EXPECT_TRUE(result.crossings.empty());
  // Explicit attention holds at least its weights.
  for (const BenchPoint& point : result.points)
    if (point.series == "explicit")
      EXPECT_GE(point.bytes, 4.0 * 2 * 4 * static_cast<double>(point.tokens * point.tokens));
}

TEST(Bench, CacheGivesACompleteTable) {
  GptConfig config = GptConfig::preset("nanogpt-cpu");
  config.vocab_size = 20;
  config.num_layers = 1;
  config.d_model = 16;
  const BenchResult result = bench_cache(config, small_sweep());
  expect_complete(result, {"with cache", "without cache"}, {"all tokens", "last token"});
  for (const BenchPoint& point : result.points) {
    if (point.pass == "last token" && point.series == "with cache")
      EXPECT_EQ(point.flops, 2 * forward_flops(config, point.tokens));
  }
  SweepOptions options = small_sweep();
  options.lengths = {65};
  try {
    bench_cache(config, options);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "bench cache: 65 tokens do not fit into the model; allowed: 1 to 64, or a larger "
                 "model.max_length");
  }
}

TEST(Bench, ScoringGivesACompleteTable) {
  torch::manual_seed(1);
  const BenchResult result = bench_scoring(64, small_sweep());
  expect_complete(result, {"additive", "dot", "scaled dot", "general"}, kBothPasses);
  // Dot products of normal vectors spread by sqrt(d), scaled ones by 1; softmax then picks one key
  // of 64 with weight 0.80, or 0.11.
  ASSERT_EQ(result.facts.size(), 4U);
  EXPECT_NEAR(result.facts[0].second, 8, 0.1);
  EXPECT_NEAR(result.facts[1].second, 0.80, 0.02);
  EXPECT_NEAR(result.facts[2].second, 1, 0.0125);
  EXPECT_NEAR(result.facts[3].second, 0.11, 0.01);
}

TEST(Bench, LayersGiveACompleteTable) {
  const BenchResult result =
      bench_layers({.width = 8, .heads = 2, .kernel_width = 3}, small_sweep());
  std::vector<std::string> names;
  for (const auto& [kind, name] : EnumNames<LayerKind>::values) names.emplace_back(name);
  expect_complete(result, names, kBothPasses);
  ASSERT_EQ(result.crossings.size(), 4U);
  EXPECT_EQ(result.crossings[0].predicted, 8);
  EXPECT_EQ(result.crossings[2].predicted, 16);
}

TEST(Bench, AModelWritesReadsAndLearns) {
  GptConfig config = GptConfig::preset("nanogpt-cpu");
  config.vocab_size = 20;
  config.num_layers = 1;
  const auto model = make_model(config);
  const ModelBenchOptions options{.prompt_tokens = 5,
                                  .new_tokens = 4,
                                  .batch = 2,
                                  .repeat = 1,
                                  .train = true,
                                  .threads = {1, 2}};
  const std::vector<ModelBenchRow> rows = bench_model(*model, config, options);
  ASSERT_EQ(rows.size(), 4U);
  for (size_t i = 0; i < rows.size(); ++i) {
    const ModelBenchRow& row = rows[i];
    EXPECT_EQ(row.work, i % 2 == 0 ? "write" : "train");
    EXPECT_EQ(row.threads, i < 2 ? 1 : 2);
    EXPECT_EQ(row.first_token.has_value(), row.work == "write");
    EXPECT_GT(row.tokens_per_second, 0);
    EXPECT_GT(row.peak_bytes, 4.0 * static_cast<double>(parameter_count(config)));
    ASSERT_TRUE(row.mfu());
    EXPECT_GT(*row.mfu(), 0);
  }
  // Written are 2 rows of 4 tokens: 5 + 3 are read, and logits are made of the last 4.
  double flops = 0;
  const double logits = forward_flops_by_part(config, 1).output;
  for (int64_t keys = 1; keys <= 8; ++keys) flops += forward_flops(config, keys) - logits;
  EXPECT_NEAR(*rows[0].flops_per_second * rows[0].seconds, 2 * (flops + 4 * logits), 1e-3);
  EXPECT_NEAR(*rows[1].flops_per_second * rows[1].seconds, 10 * training_flops(config, 5), 1e-3);
}

TEST(Bench, EncodersReadAndEncoderDecodersWrite) {
  VitConfig vision = VitConfig::preset("vit-digits");
  vision.labels = {"a", "b"};
  ModelBenchOptions options{.prompt_tokens = 5, .new_tokens = 3, .repeat = 1};
  auto rows = bench_model(*make_model(vision), vision, options);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].work, "read");
  EXPECT_TRUE(rows[0].mfu());
  TransformerConfig translator = TransformerConfig::preset("tiny");
  translator.source_vocab_size = translator.vocab_size = 20;
  rows = bench_model(*make_model(translator), translator, options);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].work, "write");
  EXPECT_TRUE(rows[0].first_token);
  EXPECT_FALSE(rows[0].mfu());
}

TEST(Bench, RefusesMoreTokensThanTheModelTakes) {
  GptConfig config = GptConfig::preset("nanogpt-cpu");
  config.vocab_size = 20;
  const auto model = make_model(config, Parameters::allocated);
  try {
    bench_model(*model, config, {.prompt_tokens = 60, .new_tokens = 5});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "--prompt-tokens plus --new-tokens: 65 tokens do not fit into the model; allowed: "
                 "1 to 64");
  }
}

}  // namespace
}  // namespace zoo
