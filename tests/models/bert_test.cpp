// BERT against Hugging Face's in float64 (tests/golden/models/bert.py), and what must hold for
// every variant of it.

#include "models/bert.h"

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "models/cost.h"
#include "models/zoo.h"
#include "nn/pooling.h"
#include "tests/support/message_of.h"
#include "tests/support/parameter_shapes.h"

namespace zoo {
namespace {

constexpr int64_t kVocab = 19;

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

BertConfig tiny() {
  BertConfig config;
  config.vocab_size = kVocab;
  config.max_length = 9;
  config.num_layers = 2;
  config.d_model = 8;
  config.block.attention.num_heads = 2;
  config.block.feed_forward = MlpConfig{.d_ff = 12};
  config.dropout = {};
  return config;
}

struct Case {
  std::string name;
  BertConfig config;
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, auto change) {
    BertConfig config = tiny();
    change(config);
    all.push_back({name, config});
  };
  add("masked_lm", [](auto&) {});
  add("pre_training", [](auto& c) { c.head = MaskedLmHeadConfig{.next_sentence = true}; });
  add("untied", [](auto& c) { c.head = MaskedLmHeadConfig{.tie_embeddings = false}; });
  const auto classifier = [](Pooling pooling, Pooler pooler) {
    return [=](BertConfig& c) {
      c.pooling = pooling;
      c.pooler = pooler;
      c.head = ClassifierHeadConfig{.labels = {"a", "b", "c"}, .dropout = 0};
    };
  };
  add("classifier_cls", classifier(Pooling::cls, Pooler::tanh));
  add("classifier_mean", classifier(Pooling::mean, Pooler::none));
  add("classifier_max", classifier(Pooling::max, Pooler::relu));
  add("tagger", [](auto& c) { c.head = TaggerHeadConfig{.labels = {"O", "B"}, .dropout = 0}; });
  add("none", [](auto& c) { c.head = NoHeadConfig{}; });
  add("distilbert", [](auto& c) {
    c.segments = 0;
    c.pooler = Pooler::relu;
  });
  add("modern", [](auto& c) {
    c.position = RopePositionConfig{};
    c.embedding_norm = false;
    c.block.norm = RmsNormConfig{};
    c.block.placement = NormPlacement::pre;
    c.block.attention = {.num_heads = 4, .num_kv_heads = 2, .bias = false, .qk_norm = true};
    c.block.feed_forward = GatedFeedForwardConfig{};
  });
  add("alibi", [](auto& c) { c.position = AlibiPositionConfig{}; });
  return all;
}

class EveryBert : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    torch::manual_seed(3);
    model_ = std::dynamic_pointer_cast<Bert>(make_text_encoder(GetParam().config));
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : model_->parameters()) torch::nn::init::normal_(parameter, 0, 0.5);
    model_->eval();
    batch_.tokens = torch::randint(kVocab - 1, {3, 7}, torch::kLong);
    batch_.segments = torch::randint(2, {3, 7}, torch::kLong);
    batch_.lengths = torch::tensor({int64_t{7}, int64_t{3}, int64_t{5}});
  }

  /// All that the model tells of a batch, of real tokens only: each row's by itself.
  std::vector<Tensor> outputs(const TextBatch& batch) {
    const Tensor hidden = model_->encode(batch), pooled = model_->pool(hidden, batch.lengths);
    const bool has_head = !std::holds_alternative<NoHeadConfig>(model_->head());
    const Tensor logits = has_head ? model_->logits(hidden, batch.lengths) : pooled;
    std::vector<Tensor> all;
    for (int64_t row = 0; row < hidden.size(0); ++row) {
      const int64_t length = batch.lengths[row].item<int64_t>();
      all.push_back(hidden[row].narrow(0, 0, length));
      all.push_back(pooled[row]);
      all.push_back(logits.dim() == 3 ? logits[row].narrow(0, 0, length) : logits[row]);
    }
    return all;
  }

  std::shared_ptr<Bert> model_;
  TextBatch batch_;
};

TEST_P(EveryBert, RowsOfABatchEqualSingleRows) {  // KVP-1
  const c10::InferenceMode inference;
  const std::vector<Tensor> together = outputs(batch_);
  for (int64_t row = 0; row < 3; ++row) {
    const int64_t length = batch_.lengths[row].item<int64_t>();
    const auto cut = [&](const Tensor& rows) {
      return rows.narrow(0, row, 1).narrow(1, 0, length);
    };
    const std::vector<Tensor> alone =
        outputs({cut(batch_.tokens), cut(batch_.segments), batch_.lengths.narrow(0, row, 1)});
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LE(largest_difference(alone[i], together[3 * static_cast<size_t>(row) + i]), 1e-5);
  }
}

TEST_P(EveryBert, WhatStandsInPaddingChangesNothing) {  // KVP-5
  const Tensor padding = torch::arange(7) >= batch_.lengths.unsqueeze(1);
  const std::vector<Tensor> plain = outputs(batch_);
  {
    const torch::NoGradGuard no_grad;
    model_->token_embedding->weight[kVocab - 1].fill_(1e30);
  }
  TextBatch other = batch_;
  other.tokens = batch_.tokens.masked_fill(padding, kVocab - 1);
  const std::vector<Tensor> after = outputs(other);
  Tensor sum = torch::zeros({});
  for (size_t i = 0; i < plain.size(); ++i) {
    // Where the output is tied, the last token's own logit is another.
    const int64_t width = plain[i].size(-1) == kVocab ? kVocab - 1 : plain[i].size(-1);
    EXPECT_LE(largest_difference(after[i].narrow(-1, 0, width), plain[i].narrow(-1, 0, width)),
              1e-5);
    sum = sum + after[i].narrow(-1, 0, width).sum();
  }
  sum.backward();
  for (const auto& item : model_->named_parameters())
    EXPECT_TRUE(!item.value().grad().defined() || item.value().grad().isfinite().all().item<bool>())
        << item.key();
}

TEST_P(EveryBert, EveryParameterGetsAGradientAndCostsAreExact) {
  const Tensor hidden = model_->encode(batch_);
  Tensor sum = hidden.logsumexp(-1).sum() + model_->pool(hidden, batch_.lengths).exp().sum();
  if (!std::holds_alternative<NoHeadConfig>(model_->head()))
    sum = sum + model_->logits(hidden, batch_.lengths).logsumexp(-1).sum();
  if (model_->next_sentence)
    sum = sum + model_->next_sentence_logits(hidden, batch_.lengths).logsumexp(-1).sum();
  sum.backward();
  for (const auto& item : model_->named_parameters())
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  EXPECT_EQ(testing::predicted_parameters(GetParam().config), testing::built_parameters(*model_));
}

TEST_P(EveryBert, ReadsBothWays) {
  const c10::InferenceMode inference;
  TextBatch other = batch_;
  other.tokens = batch_.tokens.clone();
  other.tokens[0][6] = (other.tokens[0][6].item<int64_t>() + 1) % (kVocab - 1);
  const Tensor before = model_->encode(batch_)[0][0], after = model_->encode(other)[0][0];
  EXPECT_GT(largest_difference(before, after), 1e-4);
}

TEST_P(EveryBert, AReplicaComputesTheSame) {
  const auto replica = model_->replica();
  ASSERT_NE(replica, nullptr);
  const auto from = model_->parameters(), to = replica->parameters();
  for (size_t i = 0; i < from.size(); ++i) to[i].set_data(from[i].data());
  replica->eval();
  EXPECT_LE(largest_difference(replica->encode(batch_), model_->encode(batch_)), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Variants, EveryBert, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

/// Our name of one of Hugging Face's tensors; queries, keys and values are rows of one of ours.
std::string our_name(std::string name) {
  for (const auto& [theirs, ours] : std::vector<std::pair<std::string, std::string>>{
           {"bert.embeddings.LayerNorm", "embedding_norm"},
           {"bert.embeddings.word_embeddings", "token_embedding"},
           {"bert.embeddings.position_embeddings", "position"},
           {"bert.embeddings.token_type_embeddings", "segment_embedding"},
           {"bert.encoder.layer", "blocks"},
           {"attention.output.LayerNorm", "norm1"},
           {"attention.output.dense", "attention.out"},
           {"attention.self.query", "attention.qkv"},
           {"attention.self.key", "attention.qkv"},
           {"attention.self.value", "attention.qkv"},
           {"intermediate.dense", "feed_forward.up"},
           {"output.LayerNorm", "norm2"},
           {"output.dense", "feed_forward.down"},
           {"bert.pooler.dense", "pooler"},
           {"cls.predictions.transform.LayerNorm", "transform_norm"},
           {"cls.predictions.transform.dense", "transform"},
           {"cls.predictions.bias", "output_bias"},
           {"cls.seq_relationship", "next_sentence"}})
    if (const size_t at = name.find(theirs); at != std::string::npos)
      name.replace(at, theirs.size(), ours);
  return name;
}

TEST(Bert, OutputsAndGradientsEqualHuggingFaces) {
  const SafetensorsFile golden(fs::path(ZOO_SOURCE_DIR) / "tests/golden/models/bert.safetensors");
  BertConfig config = tiny();
  config.head = MaskedLmHeadConfig{.next_sentence = true};
  Bert model(config);
  model.to(torch::kFloat64);
  const auto parameters = model.named_parameters();
  const auto for_each_pair = [&](const std::string& kind, auto use) {
    for (const auto& [name, info] : golden.tensors()) {
      if (!name.starts_with(kind)) continue;
      const Tensor* ours = parameters.find(our_name(name.substr(2)));
      ASSERT_NE(ours, nullptr) << name;
      Tensor part = kind == "w." ? ours->data() : ours->grad();
      for (const auto& [which, place] : {std::pair{"query", 0}, {"key", 1}, {"value", 2}})
        if (name.find(cat("self.", which)) != std::string::npos)
          part = part.narrow(0, 8 * place, 8);
      use(name, part, golden.tensor(name));
    }
  };
  for_each_pair("w.",
                [](const std::string&, Tensor ours, const Tensor& theirs) { ours.copy_(theirs); });
  const TextBatch batch{golden.tensor("x.tokens"), golden.tensor("x.segments"),
                        golden.tensor("x.lengths")};
  const Tensor real = (torch::arange(7) < batch.lengths.unsqueeze(1)).unsqueeze(2);
  Tap tap{.want_attention = false, .want_hidden = true, .attention = {}, .hidden = {}};
  const Tensor hidden = model.encode(batch, &tap);
  for (size_t layer = 0; layer < 3; ++layer)
    EXPECT_LE(
        largest_difference(tap.hidden[layer] * real, golden.tensor(cat("y.hidden", layer)) * real),
        1e-12);
  EXPECT_LE(largest_difference(model.pool(hidden, batch.lengths), golden.tensor("y.pooled")),
            1e-12);
  const Tensor tokens = model.logits(hidden, batch.lengths);
  const Tensor pairs = model.next_sentence_logits(hidden, batch.lengths);
  EXPECT_LE(largest_difference(tokens * real, golden.tensor("y.tokens") * real), 1e-12);
  EXPECT_LE(largest_difference(pairs, golden.tensor("y.pairs")), 1e-12);
  ((tokens * golden.tensor("x.probe")).sum() + (pairs * golden.tensor("x.pair_probe")).sum())
      .backward();
  for_each_pair("g.", [](const std::string& name, const Tensor& ours, const Tensor& theirs) {
    EXPECT_LE(largest_difference(ours, theirs), 1e-10) << name;
  });
}

TEST(Bert, SegmentsAreOptional) {
  torch::manual_seed(2);
  const auto model = make_text_encoder(tiny());
  model->eval();
  TextBatch batch{torch::randint(kVocab, {2, 4}, torch::kLong), {}, torch::tensor({4, 4})};
  const Tensor without = model->encode(batch);
  batch.segments = torch::zeros({2, 4}, torch::kLong);
  EXPECT_LE(largest_difference(model->encode(batch), without), 1e-7);
}

TEST(Bert, RefusesWhatDoesNotFit) {
  BertConfig config = tiny();
  config.head = ClassifierHeadConfig{};
  EXPECT_NE(testing::message_of<ConfigError>([&] { Bert model(config); }).find("labels is empty"),
            std::string::npos);
  config.head = MaskedLmHeadConfig{.next_sentence = true};
  config.segments = 0;
  EXPECT_NE(testing::message_of<ConfigError>([&] { Bert model(config); }).find("two segments"),
            std::string::npos);
  Bert model(tiny());
  EXPECT_THROW(model.encode({torch::zeros({1, 10}, torch::kLong), {}, torch::tensor({10})}),
               ShapeError);
  EXPECT_THROW(model.next_sentence_logits(torch::zeros({1, 2, 8}), torch::tensor({2})),
               ConfigError);
  EXPECT_NE(testing::message_of<ConfigError>([&] {
              make_causal_lm(tiny());
            }).find("is a text encoder, but a language model is needed"),
            std::string::npos);
}

TEST(Bert, PresetsHaveThePublishedSizes) {
  const auto count = [](const std::string& name, TextHeadConfig head) {
    BertConfig config = BertConfig::preset(name);
    config.vocab_size = 30522;
    config.head = head;
    return parameter_count(config);
  };
  // Hugging Face's BertModel and DistilBertModel: sum(p.numel() for p in model.parameters()).
  EXPECT_EQ(count("bert-base", NoHeadConfig{}), 109482240);
  EXPECT_EQ(count("bert-large", NoHeadConfig{}), 335141888);
  EXPECT_EQ(count("bert-tiny", NoHeadConfig{}), 4385920);
  EXPECT_EQ(count("distilbert", MaskedLmHeadConfig{}), 66985530);
}

TEST(Pooling, LeavesPaddingOut) {
  const Tensor hidden = torch::tensor({1.0F, 5.0F, 2.0F, -8.0F, 100.0F, 100.0F}).view({1, 3, 2});
  const Tensor two = torch::tensor({2});
  EXPECT_TRUE(torch::equal(pool_tokens(hidden, two, Pooling::cls), torch::tensor({{1.0F, 5.0F}})));
  EXPECT_TRUE(
      torch::equal(pool_tokens(hidden, two, Pooling::mean), torch::tensor({{1.5F, -1.5F}})));
  EXPECT_TRUE(torch::equal(pool_tokens(hidden, two, Pooling::max), torch::tensor({{2.0F, 5.0F}})));
}

}  // namespace
}  // namespace zoo
