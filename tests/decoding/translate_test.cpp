// Translation with small encoder–decoders of both kinds: what is found depends on the sentence
// alone, scores are those of the model, and a beam as wide as the tree misses nothing.

#include "decoding/translate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/system.h"
#include "evaluation/likelihood.h"
#include "models/zoo.h"
#include "tests/support/message_of.h"

namespace zoo {
namespace {

using testing::message_of;
using Ids = std::vector<int64_t>;
using Outputs = std::vector<std::vector<Generation>>;

constexpr int64_t kBegin = 1, kEnd = 2;

ModelConfig transformer(int64_t vocab_size) {
  TransformerConfig config;
  config.source_vocab_size = config.vocab_size = vocab_size;
  config.max_source_length = config.max_length = 32;
  config.encoder_layers = config.decoder_layers = 2;
  config.d_model = 16;
  config.block.attention.num_heads = 2;
  config.dropout = {};
  config.tie_embeddings = EmbeddingTying::none;
  return config;
}

ModelConfig recurrent(int64_t vocab_size) {
  RnnSeq2SeqConfig config;
  config.source_vocab_size = config.vocab_size = vocab_size;
  config.max_source_length = config.max_length = 32;
  config.d_embedding = config.d_hidden = 16;
  return config;
}

/// Weights that make for distributions far from even.
std::shared_ptr<Seq2Seq> make(const ModelConfig& config) {
  torch::manual_seed(5);
  const auto model = make_seq2seq(config);
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : model->parameters())
    if (parameter.dim() == 2) parameter.mul_(2.5);
  model->eval();
  return model;
}

/// 12 sentences of 1 to 15 tokens.
std::vector<Ids> sentences(int64_t vocab_size) {
  RandomStream random(3, 0);
  std::vector<Ids> rows;
  for (const int64_t length : {4, 1, 15, 7, 7, 2, 11, 3, 9, 1, 13, 5}) {
    rows.emplace_back();
    for (int64_t i = 0; i < length; ++i)
      rows.back().push_back(3 + static_cast<int64_t>(random.next_below(vocab_size - 3)));
    rows.back().push_back(kEnd);
  }
  return rows;
}

struct Case {
  std::string name;
  ModelConfig (*config)(int64_t vocab_size);
};

class Translate : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kVocabulary = 17;
  std::shared_ptr<Seq2Seq> model_ = make(GetParam().config(kVocabulary));
  std::vector<Ids> sources_ = sentences(kVocabulary);

  Outputs run(const GenerationOptions& options, TranslateArgs args = {}) {
    args.begin = kBegin;
    args.search.eos = kEnd;
    return translate(*model_, sources_, options, args);
  }
  static void expect_same(const Outputs& a, const Outputs& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size()) << i;
      for (size_t k = 0; k < a[i].size(); ++k) {
        EXPECT_EQ(a[i][k].tokens, b[i][k].tokens) << i;
        EXPECT_NEAR(a[i][k].score, b[i][k].score, 1e-4) << i;
      }
    }
  }
  std::vector<double> log_probabilities(const Ids& source, const Ids& target) {
    return target_log_probabilities(*model_, {{source, target}}, kBegin)[0];
  }
};

TEST_P(Translate, ASentenceDependsOnNoOther) {  // BEAM-1
  for (const double penalty : {0.0, 1.0}) {
    const GenerationOptions beam{.beam_size = 4, .length_penalty = penalty};
    const Outputs alone = run(beam, {.batch_tokens = 1});
    expect_same(alone, run(beam, {.batch_tokens = 16}));
    expect_same(alone, run(beam, {.batch_tokens = 100000}));
  }
  const GenerationOptions sampling{.sample = true, .top_p = 0.9};
  const Outputs alone = run(sampling, {.search = {.num_samples = 3}, .batch_tokens = 1});
  expect_same(alone, run(sampling, {.search = {.num_samples = 3}, .batch_tokens = 100000}));
}

TEST_P(Translate, MemoryDoesNotGrowWithTheLines) {  // SYS-1
  const auto resident = [] {
    return std::strtod(proc_value("/proc/self/status", "VmRSS").c_str(), nullptr);
  };
  if (resident() == 0) GTEST_SKIP() << "this system does not tell the memory in use";
  const GenerationOptions beam{.max_new_tokens = 32, .min_new_tokens = 20, .beam_size = 5};
  double after_40 = 0;
  for (int64_t lines = 0; lines < 400;) {
    run(beam, {.batch_tokens = 32});
    lines += std::ssize(sources_);
    if (after_40 == 0 && lines >= 40) after_40 = resident();
  }
  EXPECT_LE(resident(), 1.05 * after_40);
}

TEST_P(Translate, DrawsByTheNumbersOfTheRows) {
  const GenerationOptions sampling{.sample = true, .temperature = 2};
  const std::vector<Ids> all = sources_;
  const Outputs together = run(sampling);
  sources_ = {all[7], all[2]};  // as if the others were blank lines
  const Outputs some = run(sampling, {.search = {.row_numbers = {7, 2}}});
  EXPECT_EQ(some[0][0].tokens, together[7][0].tokens);
  EXPECT_EQ(some[1][0].tokens, together[2][0].tokens);
  sources_ = {all[5]};
  EXPECT_EQ(run(sampling, {.search = {.first_row = 5}})[0][0].tokens, together[5][0].tokens);
}

TEST_P(Translate, GreedyTakesTheMostProbableToken) {
  const Outputs outputs = run({}, {.search = {.scores = Scores::token}});
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Generation& found = outputs[i][0];
    const std::vector<double> terms = log_probabilities(sources_[i], found.tokens);
    for (size_t t = 0; t < terms.size(); ++t) {
      EXPECT_NEAR(found.token_log_probabilities[t], terms[t], 1e-4);
      Ids other(found.tokens.begin(), found.tokens.begin() + static_cast<long>(t));
      other.push_back(0);
      for (int64_t id = 0; id < kVocabulary; ++id) {
        other.back() = id;
        EXPECT_LE(log_probabilities(sources_[i], other).back(), terms[t] + 1e-5);
      }
    }
    if (i == 2) break;  // as the others
  }
}

TEST_P(Translate, ScoresAreTheModelsUnderEachLengthNorm) {
  for (const LengthNorm norm : {LengthNorm::power, LengthNorm::wu, LengthNorm::none}) {
    const Outputs outputs = run({.beam_size = 3, .length_penalty = 0.6, .length_norm = norm},
                                {.search = {.num_samples = 3}});
    for (size_t i = 0; i < sources_.size(); ++i)
      for (const Generation& found : outputs[i]) {
        double sum = 0;
        for (const double term : log_probabilities(sources_[i], found.tokens)) sum += term;
        EXPECT_NEAR(found.log_probability, sum, 1e-3);
        const auto n = static_cast<double>(found.tokens.size());
        const double divisor = norm == LengthNorm::power ? std::pow(n, 0.6)
                               : norm == LengthNorm::wu  ? std::pow((5 + n) / 6, 0.6)
                                                         : 1;
        EXPECT_NEAR(found.score, found.log_probability / divisor, 1e-9);
      }
  }
}

TEST_P(Translate, AnExactSearchIsNeverWorse) {
  const auto scores = [&](EarlyStopping stopping, double patience = 1) {
    std::vector<double> all;
    for (const auto& found :
         run({.beam_size = 3, .early_stopping = stopping, .patience = patience}))
      all.push_back(found[0].score);
    return all;
  };
  const std::vector<double> exact = scores(EarlyStopping::exact);
  const std::vector<double> first = scores(EarlyStopping::first);
  const std::vector<double> patient = scores(EarlyStopping::first, 3);
  const std::vector<double> heuristic = scores(EarlyStopping::heuristic);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(first[i], patient[i] + 1e-6) << i;
    EXPECT_LE(std::max(patient[i], heuristic[i]), exact[i] + 0.2) << i;  // beams differ a little
  }
}

TEST_P(Translate, BeginsWithThePrefix) {
  TranslateArgs args;
  for (size_t i = 0; i < sources_.size(); ++i) args.prefixes.emplace_back(i % 3, 5);
  const Outputs outputs = run({.max_new_tokens = 4}, args);
  for (size_t i = 0; i < sources_.size(); ++i) {
    Ids target = args.prefixes[i];
    target.insert(target.end(), outputs[i][0].tokens.begin(), outputs[i][0].tokens.end());
    Ids best = target;
    const double found = log_probabilities(sources_[i], target)[args.prefixes[i].size()];
    best.resize(args.prefixes[i].size() + 1);
    for (int64_t id = 0; id < kVocabulary; ++id) {
      best.back() = id;
      EXPECT_LE(log_probabilities(sources_[i], best).back(), found + 1e-5);
    }
  }
}

TEST_P(Translate, LengthsAreLimited) {
  const GenerationOptions no_end{.beam_size = 2, .logit_bias = {{kEnd, -INFINITY}}};
  const Outputs by_ratio = run(no_end, {.max_length_ratio = 0.5});
  for (size_t i = 0; i < sources_.size(); ++i) {
    EXPECT_EQ(by_ratio[i][0].finish_reason, FinishReason::length);
    EXPECT_EQ(std::ssize(by_ratio[i][0].tokens), (std::ssize(sources_[i]) + 1) / 2 + 10);
  }
  EXPECT_EQ(run(no_end, {.max_length_ratio = 0})[0][0].tokens.size(), 32U);
  GenerationOptions seven = no_end;
  seven.max_new_tokens = 7;
  EXPECT_EQ(run(seven)[0][0].tokens.size(), 7U);
  const Outputs longer = run({.min_new_tokens = 9, .beam_size = 2});
  for (const auto& found : longer) EXPECT_GE(found[0].tokens.size(), 9U);
}

TEST_P(Translate, AsWideAsTheTreeItIsExhaustive) {
  constexpr int64_t kTokens = 4, kLimit = 4;
  const auto model = make(GetParam().config(kTokens));
  const Ids source = {3, 0, 3, kEnd};
  std::vector<LikelihoodPair> all;
  const std::function<void(const Ids&)> visit = [&](const Ids& target) {
    if (!target.empty() && (target.back() == kEnd || std::ssize(target) == kLimit)) {
      all.push_back({source, target});
      return;
    }
    for (int64_t id = 0; id < kTokens; ++id) {
      Ids longer = target;
      longer.push_back(id);
      visit(longer);
    }
  };
  visit({});
  const auto terms = target_log_probabilities(*model, all, kBegin);
  for (const double penalty : {0.0, 0.5, 1.0, 2.0}) {
    std::vector<std::pair<double, Ids>> ranked;
    for (size_t i = 0; i < all.size(); ++i) {
      double sum = 0;
      for (const double term : terms[i]) sum += term;
      ranked.emplace_back(sum / std::pow(terms[i].size(), penalty), all[i].target);
    }
    std::sort(ranked.begin(), ranked.end(), std::greater<>());
    const auto found = translate(
        *model, {source}, {.max_new_tokens = kLimit, .beam_size = 256, .length_penalty = penalty},
        {.search = {.eos = kEnd, .num_samples = 5}, .begin = kBegin})[0];
    ASSERT_EQ(found.size(), 5U);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(found[i].tokens, ranked[i].second) << "penalty " << penalty << " rank " << i;
      EXPECT_NEAR(found[i].score, ranked[i].first, 1e-4);
    }
  }
}

TEST_P(Translate, AttentionIsADistributionOverTheSource) {
  const Ids target = {4, 5, 6, kEnd};
  const Tensor attention = source_attention(*model_, sources_[0], kBegin, target);
  ASSERT_TRUE(attention.defined());
  EXPECT_EQ(attention.sizes(), (c10::IntArrayRef{4, std::ssize(sources_[0])}));
  EXPECT_TRUE(torch::allclose(attention.sum(1), torch::ones({4})));
}

TEST_P(Translate, SaysWhatCannotBeTranslated) {
  const auto message = [&](const std::vector<Ids>& sources, const GenerationOptions& options = {},
                           const TranslateArgs& args = {.begin = kBegin}) {
    return message_of<ConfigError>([&] { translate(*model_, sources, options, args); });
  };
  EXPECT_NE(message({{}}).find("source 0 has no token"), std::string::npos);
  EXPECT_NE(message({{3}, {kVocabulary}}).find("source 1 holds the id 17"), std::string::npos);
  EXPECT_NE(message({Ids(33, 3)}).find("has 33 tokens; the model reads at most 32"),
            std::string::npos);
  EXPECT_NE(message({{3}}, {.beam_size = 2}, {.search = {.num_samples = 3}, .begin = kBegin})
                .find("num_samples 3"),
            std::string::npos);
  EXPECT_NE(message({{3}}, {}, {}).find("needs a tokenizer"), std::string::npos);
}

TEST_P(Translate, LikelihoodsDependOnNoBatch) {
  std::vector<LikelihoodPair> pairs;
  for (size_t i = 0; i < sources_.size(); ++i)
    pairs.push_back({sources_[i], sources_[(i + 5) % sources_.size()]});
  const auto together = target_log_probabilities(*model_, pairs, kBegin);
  const auto apart = target_log_probabilities(*model_, pairs, kBegin, 1);
  for (size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_EQ(together[i].size(), pairs[i].target.size());
    for (size_t t = 0; t < together[i].size(); ++t) EXPECT_NEAR(together[i][t], apart[i][t], 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Translate,
                         ::testing::Values(Case{"transformer", transformer},
                                           Case{"recurrent", recurrent}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace zoo
