// The sequence-to-sequence models against PyTorch's modules and against themselves read another
// way: step by step, in other batches, with other padding.

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/safetensors.h"
#include "models/cost.h"
#include "models/rnn_seq2seq.h"
#include "models/transformer.h"
#include "models/zoo.h"
#include "tests/support/parameter_shapes.h"
#include "tests/support/seq2seq_variants.h"
#include "training/precision.h"

namespace zoo {
namespace {

constexpr int64_t kVocab = testing::kTinyVocab, kSourceVocab = testing::kTinySourceVocab;

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

std::shared_ptr<Seq2Seq> build(const ModelConfig& config) {
  torch::manual_seed(1);
  auto model = make_seq2seq(config);
  model->eval();
  return model;
}

class EverySeq2Seq : public ::testing::TestWithParam<testing::Seq2SeqVariant> {
 protected:
  void SetUp() override {
    model_ = build(GetParam().config);
    source_ = torch::randint(kSourceVocab, {3, 7}, torch::kLong);
    lengths_ = torch::tensor({int64_t{7}, int64_t{3}, int64_t{5}});
    inputs_ = torch::randint(kVocab, {3, 6}, torch::kLong);
  }
  std::shared_ptr<Seq2Seq> model_;
  Tensor source_, lengths_, inputs_;
};

TEST_P(EverySeq2Seq, StepsEqualTheWhole) {
  const c10::InferenceMode inference;
  const Tensor whole = model_->forward(source_, lengths_, inputs_);  // (3, 6, V)
  const auto state = model_->start(model_->encode(source_, lengths_), 6);
  std::vector<Tensor> steps;
  for (int64_t t = 0; t < 6; ++t) steps.push_back(model_->step(inputs_.select(1, t), *state));
  EXPECT_EQ(state->length(), 6);
  EXPECT_LE(largest_difference(torch::stack(steps, 1), whole), 1e-5);
  EXPECT_THROW(model_->step(inputs_.select(1, 0), *state), ShapeError);
}

// KVP-1
TEST_P(EverySeq2Seq, RowsOfABatchEqualSingleRows) {
  const c10::InferenceMode inference;
  const Tensor whole = model_->forward(source_, lengths_, inputs_);
  for (int64_t row = 0; row < 3; ++row) {
    const Tensor length = lengths_.narrow(0, row, 1);
    const Tensor alone =
        model_->forward(source_.narrow(0, row, 1).narrow(1, 0, length.item<int64_t>()), length,
                        inputs_.narrow(0, row, 1));
    EXPECT_LE(largest_difference(alone[0], whole[row]), 1e-5);
  }
}

// KVP-5
TEST_P(EverySeq2Seq, WhatStandsInPaddingChangesNothing) {
  const Tensor padding = torch::arange(7) >= lengths_.unsqueeze(1);
  // The last id stands in padding only, with a vector that would drown every other.
  const int64_t last = model_->source_vocab_size() - 1;
  const Tensor source = source_.clamp_max(last - 1), inputs = inputs_.clamp_max(last - 1);
  // Where all is tied it is the last token's output too: the other logits are compared.
  const auto logits_for = [&](const Tensor& read) {
    return model_->forward(read, lengths_, inputs).narrow(-1, 0, kVocab - 1);
  };
  const Tensor plain = logits_for(source).detach();
  const auto parameters = model_->named_parameters();
  const Tensor* table = parameters.find("source_embedding.weight");
  if (table == nullptr) table = parameters.find("target_embedding.weight");
  {
    const torch::NoGradGuard no_grad;
    (*table)[last].fill_(1e30);
  }
  const Tensor after = logits_for(source.masked_fill(padding, last));
  EXPECT_LE(largest_difference(after, plain), 1e-6);
  after.sum().backward();
  for (const auto& item : model_->named_parameters()) {
    const Tensor& gradient = item.value().grad();
    EXPECT_TRUE(!gradient.defined() || gradient.isfinite().all().item<bool>()) << item.key();
  }
}

TEST_P(EverySeq2Seq, BeamsAreReordered) {
  const c10::InferenceMode inference;
  const Encoded encoded = model_->encode(source_, lengths_);
  const auto state = model_->start(encoded, 6);
  std::vector<std::vector<int64_t>> read(3);  // the tokens of each row
  std::vector<int64_t> source_of = {0, 1, 2};
  int64_t next = 0;
  // Widened, moved, thinned out unevenly, then without the longest source.
  for (const std::vector<int64_t>& rows : std::vector<std::vector<int64_t>>{
           {0, 1, 2}, {0, 0, 1, 1, 2, 2}, {1, 0, 2, 2, 5, 4}, {4, 2, 0, 3}, {1, 0, 3}}) {
    if (next > 0) {
      std::vector<std::vector<int64_t>> kept;
      std::vector<int64_t> sources;
      for (const int64_t row : rows) {
        kept.push_back(read[static_cast<size_t>(row)]);
        sources.push_back(source_of[static_cast<size_t>(row)]);
      }
      read = kept;
      source_of = sources;
      state->reorder(torch::tensor(rows));
    }
    std::vector<int64_t> tokens;
    for (auto& row : read) {
      tokens.push_back(next++ % kVocab);
      row.push_back(tokens.back());
    }
    EXPECT_EQ(state->batch(), std::ssize(rows));
    const Tensor logits = model_->step(torch::tensor(tokens), *state);
    for (size_t row = 0; row < read.size(); ++row) {
      const int64_t source = source_of[row];
      const Tensor whole =
          model_->forward(source_.narrow(0, source, 1), lengths_.narrow(0, source, 1),
                          torch::tensor(read[row]).unsqueeze(0));
      EXPECT_LE(largest_difference(logits[static_cast<int64_t>(row)], whole[0][-1]), 1e-5);
    }
  }
  state->reorder(torch::tensor({int64_t{2}}));
  EXPECT_EQ(model_->step(torch::tensor({int64_t{1}}), *state).size(0), 1);
}

TEST_P(EverySeq2Seq, EveryParameterGetsAGradientAndCostsAreExact) {
  model_->forward(source_, lengths_, inputs_).logsumexp(-1).sum().backward();
  for (const auto& item : model_->named_parameters())
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  EXPECT_EQ(testing::predicted_parameters(GetParam().config), testing::built_parameters(*model_));
}

TEST_P(EverySeq2Seq, GradientsMatchFiniteDifferences) {
  ModelConfig config = GetParam().config;
  // A difference across ReLU's kink is no derivative.
  if (auto* transformer = std::get_if<TransformerConfig>(&config))
    std::visit([](auto& part) { part.activation = Activation::gelu; },
               transformer->block.feed_forward);
  model_ = build(config);
  model_->to(torch::kFloat64);
  const Tensor probe = torch::randn({3, 6, kVocab}, torch::kFloat64);
  const auto loss = [&] { return (model_->forward(source_, lengths_, inputs_) * probe).sum(); };
  loss().backward();
  const torch::NoGradGuard no_grad;
  for (const auto& item : model_->named_parameters()) {
    // Along one random direction for each parameter.
    const Tensor direction = torch::randn_like(item.value());
    Tensor parameter = item.value();
    const double h = 1e-6;
    parameter += h * direction;
    const double up = loss().item<double>();
    parameter -= 2 * h * direction;
    const double down = loss().item<double>();
    parameter += h * direction;
    const double expected = (up - down) / (2 * h);
    EXPECT_NEAR((item.value().grad() * direction).sum().item<double>(), expected,
                1e-5 * (1 + std::abs(expected)))
        << item.key();
  }
}

TEST_P(EverySeq2Seq, GradientsInBfloat16AreNearThoseInFloat32) {
  const Tensor probe = torch::randn({3, 6, kVocab});
  const auto gradients = [&](Precision precision) {
    model_->zero_grad();
    const Autocast autocast(precision, torch::kCPU);
    (model_->forward(source_, lengths_, inputs_).to(torch::kFloat32) * probe).sum().backward();
    std::vector<Tensor> all;
    for (const Tensor& parameter : model_->parameters())
      all.push_back(parameter.grad().to(torch::kFloat32).flatten());
    return torch::cat(all);
  };
  const Tensor exact = gradients(Precision::fp32), near = gradients(Precision::bf16);
  EXPECT_LT(((near - exact).norm() / exact.norm()).item<double>(), 0.05);
}

TEST_P(EverySeq2Seq, TapCollectsTheAttentionToTheSource) {
  const c10::InferenceMode inference;
  Tap tap{.want_attention = true, .want_hidden = true, .attention = {}, .hidden = {}};
  TeachArgs args;
  args.tap = &tap;
  const Encoded encoded = model_->encode(source_, lengths_);
  const Tensor seen = model_->decode(encoded, inputs_, args);
  EXPECT_LE(largest_difference(seen, model_->decode(encoded, inputs_)), 1e-5);
  EXPECT_FALSE(tap.hidden.empty());
  Tap step_tap{.want_attention = true, .want_hidden = false, .attention = {}, .hidden = {}};
  const auto state = model_->start(encoded, 6);
  model_->step(inputs_.select(1, 0), *state, &step_tap);
  ASSERT_EQ(step_tap.attention.size(), tap.attention.size());
  for (size_t layer = 0; layer < tap.attention.size(); ++layer) {
    const Tensor& weights = tap.attention[layer];
    ASSERT_EQ(weights.dim(), 4);
    EXPECT_EQ(weights.size(2), 6);
    EXPECT_LE((weights.sum(-1) - 1).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(weights[1].narrow(-1, 3, 4).abs().max().item<double>(), 0);  // padding
    EXPECT_LE(largest_difference(step_tap.attention[layer], weights.narrow(2, 0, 1)), 1e-5);
  }
}

TEST_P(EverySeq2Seq, TapsSeeWhatEncoderAndDecoderSeeOfThemselves) {
  const c10::InferenceMode inference;
  Tap encoder{.want_attention = true, .want_hidden = true, .attention = {}, .hidden = {}};
  Tap decoder{.want_attention = true, .want_hidden = false, .attention = {}, .hidden = {}};
  TeachArgs args;
  args.self_tap = &decoder;
  const Encoded encoded = model_->encode(source_, lengths_, &encoder);
  const Tensor seen = model_->decode(encoded, inputs_, args);
  EXPECT_LE(largest_difference(seen, model_->decode(model_->encode(source_, lengths_), inputs_)),
            1e-5);
  const bool recurrent = std::holds_alternative<RnnSeq2SeqConfig>(GetParam().config);
  ASSERT_EQ(encoder.attention.size(), recurrent ? 0 : 2);
  ASSERT_EQ(decoder.attention.size(), recurrent ? 0 : 2);
  EXPECT_EQ(encoder.hidden.size(), recurrent ? 2 : 3);
  for (const Tensor& weights : encoder.attention) {
    EXPECT_EQ(weights.size(2), source_.size(1));
    const Tensor real = weights[1].narrow(1, 0, 3);  // (H, 3, S)
    EXPECT_LE((real.sum(-1) - 1).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(real.narrow(-1, 3, 4).abs().max().item<double>(), 0);  // padding
  }
  for (const Tensor& weights : decoder.attention) {
    EXPECT_EQ(weights.size(2), inputs_.size(1));
    EXPECT_LE((weights.sum(-1) - 1).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(weights.triu(1).abs().max().item<double>(), 0);  // what comes later
  }
}

TEST_P(EverySeq2Seq, ScheduledSamplingReadsItsOwnPredictions) {
  const c10::InferenceMode inference;
  const Encoded encoded = model_->encode(source_, lengths_);
  TeachArgs args;
  args.teacher_forcing = 0.999999999;  // float32 draws are below 1: all true tokens, step by step
  EXPECT_LE(
      largest_difference(model_->decode(encoded, inputs_, args), model_->decode(encoded, inputs_)),
      1e-5);
  args.teacher_forcing = 0;
  const Tensor own = model_->logits(model_->decode(encoded, inputs_, args));
  if (std::holds_alternative<TransformerConfig>(GetParam().config)) {
    const Tensor first = model_->logits(model_->decode(encoded, inputs_)).argmax(-1);
    const Tensor mixed = torch::cat({inputs_.narrow(1, 0, 1), first.narrow(1, 0, 5)}, 1);
    EXPECT_LE(largest_difference(own, model_->logits(model_->decode(encoded, mixed))), 1e-5);
  } else {
    const auto state = model_->start(encoded, 6);  // greedy decoding
    Tensor tokens = inputs_.select(1, 0);
    for (int64_t t = 0; t < 6; ++t) {
      const Tensor logits = model_->step(tokens, *state);
      EXPECT_LE(largest_difference(own.select(1, t), logits), 1e-5);
      tokens = logits.argmax(-1);
    }
  }
}

TEST_P(EverySeq2Seq, AReplicaComputesTheSame) {
  const auto replica = model_->replica();
  ASSERT_NE(replica, nullptr);
  const auto from = model_->parameters(), to = replica->parameters();
  ASSERT_EQ(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) to[i].set_data(from[i].data());
  replica->eval();
  EXPECT_LE(largest_difference(replica->forward(source_, lengths_, inputs_),
                               model_->forward(source_, lengths_, inputs_)),
            1e-6);
}

TEST_P(EverySeq2Seq, RefusesWhatDoesNotFit) {
  EXPECT_THROW(model_->encode(torch::zeros({1, 17}, torch::kLong), torch::tensor({17})),
               ShapeError);
  EXPECT_THROW(model_->encode(source_, torch::tensor({7, 3, 8})), ShapeError);
  EXPECT_THROW(model_->encode(source_, torch::tensor({7, 3, 0})), ShapeError);
  EXPECT_THROW(model_->encode(source_, torch::tensor({7, 3})), ShapeError);
  const Encoded encoded = model_->encode(source_, lengths_);
  EXPECT_THROW(model_->decode(encoded, torch::zeros({3, 17}, torch::kLong)), ShapeError);
  EXPECT_THROW(model_->decode(encoded, torch::zeros({2, 6}, torch::kLong)), ShapeError);
  EXPECT_THROW(model_->start(encoded, 17), ShapeError);
  EXPECT_THROW(model_->step(torch::tensor({1}), *model_->start(encoded, 6)), ShapeError);
}

TEST_P(EverySeq2Seq, LearnsABatchByHeart) {
  torch::optim::Adam optimizer(model_->parameters(), torch::optim::AdamOptions(2e-2));
  const Tensor targets = torch::randint(kVocab, {18}, torch::kLong);
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    const Tensor value =
        at::cross_entropy_loss(model_->forward(source_, lengths_, inputs_).flatten(0, 1), targets);
    value.backward();
    torch::nn::utils::clip_grad_norm_(model_->parameters(), 1.0);
    optimizer.step();
    loss = value.item<double>();
  }
  EXPECT_LT(loss, 0.3);
}

INSTANTIATE_TEST_SUITE_P(Variants, EverySeq2Seq, ::testing::ValuesIn(testing::seq2seq_variants()),
                         [](const auto& info) { return info.param.name; });

// ---- against PyTorch -------------------------------------------------------------------------

/// Our name of a tensor of torch.nn.Transformer, but for the halves of multihead_attn.
std::string our_name(std::string name) {
  for (const auto& [theirs, ours] :
       std::vector<std::pair<std::string, std::string>>{{"encoder.layers", "encoder_blocks"},
                                                        {"decoder.layers", "decoder_blocks"},
                                                        {"encoder.norm", "encoder_norm"},
                                                        {"decoder.norm", "decoder_norm"},
                                                        {"self_attn", "attention"},
                                                        {"multihead_attn", "cross_attention"},
                                                        {"in_proj_", "qkv."},
                                                        {"out_proj", "out"},
                                                        {"linear1", "feed_forward.up"},
                                                        {"linear2", "feed_forward.down"}})
    if (const size_t at = name.find(theirs); at != std::string::npos)
      name.replace(at, theirs.size(), ours);
  return name;
}

// Bahdanau et al. 2015, appendix A.2.2: t_j = max(t~_(2j-1), t~_(2j)), from the state, the context
// and the token that was read.
TEST(RnnReadout, MaxoutTakesTheLargerOfTwoNeighbours) {
  RnnSeq2SeqConfig config = testing::tiny_rnn();
  config.attention = NoSourceAttentionConfig{};  // the context is the source's one vector
  config.readout = Readout::maxout;
  torch::manual_seed(1);
  RnnSeq2Seq model(config);
  for (Tensor& parameter : model.parameters()) torch::nn::init::normal_(parameter, 0, 0.4);
  const Tensor source = torch::randint(kSourceVocab, {2, 5}, torch::kLong);
  const Tensor inputs = torch::randint(kVocab, {2, 4}, torch::kLong);
  const Encoded encoded = model.encode(source, torch::tensor({5, 3}));
  Tap tap{.want_attention = false, .want_hidden = true, .attention = {}, .hidden = {}};
  TeachArgs args;
  args.tap = &tap;
  const Tensor read = model.decode(encoded, inputs, args);  // (2, 4, D)
  const Tensor vector = encoded.summary[0][-1].unsqueeze(1).expand({-1, 4, -1});
  const Tensor products = torch::linear(
      torch::cat({tap.hidden.back(), vector, model.target_embedding->forward(inputs)}, -1),
      model.readout->weight, model.readout->bias);  // (2, 4, 2 D)
  const auto every_second = [&](int64_t first) {
    return products.slice(-1, first, products.size(-1), 2);
  };
  EXPECT_EQ(read.size(-1), config.readout_width());
  EXPECT_LE(largest_difference(read, torch::maximum(every_second(0), every_second(1))), 1e-6);
}

class TorchTransformer : public ::testing::TestWithParam<const char*> {};

// tests/golden/models/seq2seq.py. Its module reads vectors: here each is the embedding of a token.
TEST_P(TorchTransformer, OutputsAndGradientsAreEqual) {
  const SafetensorsFile golden(fs::path(ZOO_SOURCE_DIR) / "tests/golden/models" /
                               cat("transformer_", GetParam(), ".safetensors"));
  TransformerConfig config;
  config.source_vocab_size = 15;
  config.vocab_size = 12;
  config.encoder_layers = config.decoder_layers = 2;
  config.d_model = 8;
  config.position = NoPositionConfig{};
  config.block.placement =
      GetParam() == std::string("pre") ? NormPlacement::pre : NormPlacement::post;
  config.block.attention = {.num_heads = 2, .bias = true};
  config.block.feed_forward = MlpConfig{.d_ff = 12, .activation = Activation::relu};
  config.dropout = {};
  config.tie_embeddings = EmbeddingTying::target;
  config.scale_embeddings = false;
  Transformer model(config);
  model.to(torch::kFloat64);
  const auto parameters = model.named_parameters();
  // Every one of our parameters with the golden's tensor of a kind, "w." or "g.".
  const auto for_each_pair = [&](const std::string& kind, auto use) {
    use(parameters["source_embedding.weight"],
        golden.tensor(kind == "w." ? "x.source" : "g.x.source").flatten(0, 1));
    use(parameters["target_embedding.weight"],
        golden.tensor(kind == "w." ? "x.target" : "g.x.target").flatten(0, 1));
    for (const auto& [name, info] : golden.tensors()) {
      if (!name.starts_with(kind) || name.starts_with("g.x.")) continue;
      const std::string ours = our_name(name.substr(2));
      const Tensor theirs = golden.tensor(name);
      const size_t cross = ours.find("cross_attention.qkv");
      if (cross == std::string::npos) {
        use(parameters[ours], theirs);
        continue;
      }
      std::string part = ours;
      use(parameters[part.replace(cross, 19, "cross_attention.q")], theirs.narrow(0, 0, 8));
      part = ours;
      use(parameters[part.replace(cross, 19, "cross_attention.kv")], theirs.narrow(0, 8, 16));
    }
  };
  size_t set = 0;
  {
    const torch::NoGradGuard no_grad;
    for_each_pair("w.", [&](Tensor ours, const Tensor& theirs) {
      ASSERT_EQ(ours.sizes(), theirs.sizes());
      ours.copy_(theirs);
      ++set;
    });
  }
  EXPECT_EQ(set, parameters.size());

  const Encoded encoded = model.encode(torch::arange(15).view({3, 5}), golden.tensor("x.lengths"));
  const Tensor output = model.decode(encoded, torch::arange(12).view({3, 4}));
  EXPECT_LE(largest_difference(output, golden.tensor("y.output")), 1e-12);
  (output * golden.tensor("x.probe")).sum().backward();
  for_each_pair("g.", [&](const Tensor& ours, const Tensor& theirs) {
    EXPECT_LE(largest_difference(ours.grad(), theirs),
              1e-12 * std::max(1.0, theirs.abs().max().item<double>()));
  });
}

INSTANTIATE_TEST_SUITE_P(Placements, TorchTransformer, ::testing::Values("pre", "post"));

// ---- sizes and messages ----------------------------------------------------------------------

int64_t count_with(TransformerConfig config, int64_t vocab_size) {
  config.source_vocab_size = config.vocab_size = vocab_size;
  EXPECT_EQ(parameter_count(config), count_parameters(*make_model(config, Parameters::allocated)));
  return parameter_count(config);
}

// V d + 6 (4 d^2 + 2 d f + f + 5 d) + 6 (8 d^2 + 2 d f + f + 7 d).
TEST(TransformerSizes, AreThePapers) {
  const auto closed_form = [](int64_t v, int64_t d, int64_t f) {
    return v * d + 6 * (12 * d * d + 4 * d * f + 2 * f + 12 * d);
  };
  const TransformerConfig base = TransformerConfig::preset("base");
  const TransformerConfig big = TransformerConfig::preset("big");
  EXPECT_EQ(count_with(base, 37000), closed_form(37000, 512, 2048));
  EXPECT_EQ(count_with(big, 37000), closed_form(37000, 1024, 4096));
  EXPECT_NEAR(static_cast<double>(count_with(base, 37000)), 63.0e6, 0.05e6);
  EXPECT_NEAR(static_cast<double>(count_with(big, 32000)), 209.1e6, 0.05e6);
  EXPECT_NEAR(static_cast<double>(count_with(big, 37000)), 214.2e6, 0.05e6);
}

TEST(Seq2SeqPresets, HaveNamesOfTheirOwnAndHold) {
  std::set<std::string> names;
  for (const ModelPreset& preset : model_presets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    EXPECT_EQ(std::visit([](const auto& c) { return c.check(); }, preset.config), "");
    ModelConfig config = preset.config;
    std::visit(
        [](auto& c) {
          if constexpr (requires { c.vocab_size; })
            c.vocab_size = std::max<int64_t>(c.vocab_size, 100);
          else
            c.labels = {"a", "b"};
        },
        config);
    fit_to_vocabulary(config, 100, 100);
    // Of the largest one layer is built.
    if (auto* gpt = std::get_if<GptConfig>(&config); gpt != nullptr && gpt->d_model >= 4096)
      gpt->num_layers = 1;
    EXPECT_EQ(parameter_count(config), count_parameters(*make_model(config, Parameters::allocated)))
        << preset.name;
  }
}

TEST(Seq2SeqConfigs, SayWhatDoesNotFit) {
  const auto problem = [](auto change) {
    RnnSeq2SeqConfig config = testing::tiny_rnn();
    change(config);
    return config.check();
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(contains(problem([](auto& c) { c.tie_embeddings = EmbeddingTying::all; }),
                       "needs one vocabulary"));
  EXPECT_TRUE(contains(problem([](auto& c) {
                         c.tie_embeddings = EmbeddingTying::target;
                         c.d_readout = 11;
                       }),
                       "set d_readout to 0"));
  EXPECT_TRUE(contains(problem([](auto& c) {
                         c.attention = DotAttentionConfig{};
                         c.d_encoder = 0;
                       }),
                       "set d_encoder to 6"));
  EXPECT_TRUE(contains(problem([](auto& c) {
                         c.input_feeding = false;
                         c.readout = Readout::state;
                       }),
                       "turn input_feeding on"));
  EXPECT_TRUE(contains(problem([](auto& c) {
                         c.attend = AttendOrder::after;
                         c.readout = Readout::state;
                       }),
                       "set readout to \"attentional\""));
  EXPECT_TRUE(contains(problem([](auto& c) { c.bridge = Bridge::copy; }), "bridge \"copy\""));
  TransformerConfig transformer = testing::tiny_transformer();
  transformer.tie_embeddings = EmbeddingTying::all;
  EXPECT_TRUE(contains(transformer.check(), "needs one vocabulary"));
  EXPECT_THROW(make_seq2seq(transformer), ConfigError);
  transformer = testing::tiny_transformer();
  transformer.source_vocab_size = 0;
  EXPECT_THROW(make_seq2seq(transformer), ConfigError);
  EXPECT_THROW(make_causal_lm(testing::tiny_transformer()), ConfigError);
  EXPECT_THROW(make_seq2seq(GptConfig::preset("gpt2"), Parameters::allocated), ConfigError);
  ModelConfig fitted = testing::tiny_transformer();
  EXPECT_THROW(fit_to_vocabulary(fitted, kVocab, kSourceVocab + 1), ConfigError);
  EXPECT_EQ(width_of(testing::tiny_transformer()), 16);
  EXPECT_EQ(width_of(testing::tiny_rnn()), 12);
}

TEST(Seq2SeqModels, DropoutHasNoReplicas) {
  TransformerConfig transformer = testing::tiny_transformer();
  transformer.dropout.residual = 0.1;
  EXPECT_EQ(build(transformer)->replica(), nullptr);
  RnnSeq2SeqConfig rnn = testing::tiny_rnn();
  rnn.dropout.output = 0.1;
  EXPECT_EQ(build(rnn)->replica(), nullptr);
}

}  // namespace
}  // namespace zoo
