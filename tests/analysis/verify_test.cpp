// verify() passes every model that is right, and finds what is wrong in those that are not.

#include "analysis/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/decoding/piece_tokenizer.h"
#include "tests/support/seq2seq_variants.h"

namespace zoo {
namespace {

/// The names of the checks that failed, in their order: "cache, stream".
std::string failed(const std::vector<VerifyResult>& results) {
  std::string names;
  for (const VerifyResult& result : results) {
    const std::string name(enum_name(result.check));
    if (result.outcome == VerifyOutcome::failed && !names.ends_with(name))
      names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

/// All results, for a test's message.
std::string table(const std::vector<VerifyResult>& results) {
  std::string text;
  for (const VerifyResult& result : results)
    text += cat(enum_name(result.check), " | ", result.compared, " | ",
                result.deviation ? cat(*result.deviation) : "-", " | ", result.tolerance, " | ",
                enum_name(result.outcome), " ", result.note, "\n");
  return text;
}

/// Every parameter is drawn, biases and norms too; dropout is left on.
LoadedModel random_model(const ModelConfig& config) {
  torch::manual_seed(1);
  LoadedModel loaded;
  loaded.config = config;
  loaded.model = make_model(config, Parameters::allocated);
  const torch::NoGradGuard no_grad;
  for (Tensor parameter : loaded.model->parameters()) parameter.normal_(0, 0.3);
  return loaded;
}

// ---- models that are right ---------------------------------------------------------------------

struct Family {
  std::string name;
  ModelConfig config;
};

std::vector<Family> families() {
  std::vector<Family> all;
  const auto gpt = [&](const std::string& name, auto change) {
    GptConfig config;
    config.vocab_size = 23;
    config.max_length = 32;
    config.num_layers = 2;
    config.d_model = 16;
    config.block.attention.num_heads = 4;
    config.dropout = {.embedding = 0.1, .attention = 0.1, .residual = 0.1};
    change(config);
    all.push_back({"gpt_" + name, config});
  };
  gpt("learned", [](auto&) {});
  gpt("sinusoidal", [](auto& c) { c.position = SinusoidalPositionConfig{}; });
  gpt("rope", [](auto& c) { c.position = RopePositionConfig{}; });
  gpt("rope_interleaved",
      [](auto& c) { c.position = RopePositionConfig{.pairing = RopePairing::interleaved}; });
  gpt("alibi", [](auto& c) { c.position = AlibiPositionConfig{}; });
  gpt("no_positions", [](auto& c) { c.position = NoPositionConfig{}; });
  gpt("mqa", [](auto& c) { c.block.attention.num_kv_heads = 1; });
  gpt("post_norm_untied", [](auto& c) {
    c.block.placement = NormPlacement::post;
    c.tie_embeddings = false;
  });
  gpt("modern", [](auto& c) {
    c.position = RopePositionConfig{};
    c.block.norm = RmsNormConfig{};
    c.block.attention = {.num_heads = 4, .num_kv_heads = 2, .bias = false, .qk_norm = true};
    c.block.feed_forward = GatedFeedForwardConfig{};
  });
  gpt("of_three_tokens", [](auto& c) { c.max_length = 3; });
  gpt("of_one_token", [](auto& c) { c.max_length = 1; });

  for (const testing::Seq2SeqVariant& variant : testing::seq2seq_variants())
    all.push_back({variant.name, variant.config});

  const auto bert = [&](const std::string& name, auto change) {
    BertConfig config;
    config.vocab_size = 23;
    config.max_length = 32;
    config.num_layers = 2;
    config.d_model = 16;
    config.block.attention.num_heads = 2;
    change(config);
    all.push_back({"bert_" + name, config});
  };
  bert("masked_lm", [](auto& c) { c.head = MaskedLmHeadConfig{}; });
  bert("next_sentence", [](auto& c) {
    c.head = MaskedLmHeadConfig{.tie_embeddings = false, .next_sentence = true};
  });
  bert("classifier", [](auto& c) { c.head = ClassifierHeadConfig{.labels = {"a", "b", "c"}}; });
  bert("tagger", [](auto& c) { c.head = TaggerHeadConfig{.labels = {"a", "b", "c"}}; });
  for (const Pooling pooling : {Pooling::cls, Pooling::mean, Pooling::max})
    bert("vectors_" + std::string(enum_name(pooling)), [&](auto& c) {
      c.head = NoHeadConfig{};
      c.pooling = pooling;
      c.pooler = Pooler::none;
    });
  bert("rope", [](auto& c) { c.position = RopePositionConfig{}; });
  bert("pre_norm_without_segments", [](auto& c) {
    c.block.placement = NormPlacement::pre;
    c.segments = 0;
  });

  const auto vit = [&](const std::string& name, auto change) {
    VitConfig config;
    config.image_height = 8;
    config.image_width = 12;
    config.patch_size = 4;
    config.num_layers = 2;
    config.d_model = 16;
    config.block.attention.num_heads = 2;
    config.labels = {"a", "b", "c"};
    change(config);
    all.push_back({"vit_" + name, config});
  };
  vit("learned", [](auto&) {});
  vit("mean", [](auto& c) { c.pooling = ImagePooling::mean; });
  vit("sinusoidal", [](auto& c) { c.position = PatchPosition::sinusoidal; });
  vit("grey", [](auto& c) {
    c.channels = 1;
    c.block.placement = NormPlacement::post;
  });
  return all;
}

class EveryFamily : public ::testing::TestWithParam<Family> {};

TEST_P(EveryFamily, PassesEveryCheck) {
  const LoadedModel loaded = random_model(GetParam().config);
  const std::vector<VerifyResult> results = verify(loaded);
  EXPECT_EQ(failed(results), "") << table(results);
  std::set<VerifyCheck> found;
  for (const VerifyResult& result : results) found.insert(result.check);
  EXPECT_EQ(found.size(), EnumNames<VerifyCheck>::values.size());
  // It is left as it was.
  EXPECT_TRUE(loaded.model->is_training());
  for (const Tensor& parameter : loaded.model->parameters())
    EXPECT_EQ(parameter.scalar_type(), torch::kFloat32);
}

INSTANTIATE_TEST_SUITE_P(Variants, EveryFamily, ::testing::ValuesIn(families()),
                         [](const auto& info) { return info.param.name; });

class EveryFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFolder, PassesEveryCheck) {
  const LoadedModel loaded = load_model(fs::path(ZOO_SOURCE_DIR) / GetParam());
  const std::vector<VerifyResult> results = verify(loaded);
  EXPECT_EQ(failed(results), "") << table(results);
}

INSTANTIATE_TEST_SUITE_P(
    Ours, EveryFolder,
    ::testing::Values("weights/gpt-shakespeare-char", "weights/transformer-ende",
                      "tests/golden/checkpoint/gpt2_tied", "tests/golden/checkpoint/gpt2_f16",
                      "tests/golden/checkpoint/gpt2_tied_but_differs",
                      "tests/golden/checkpoint/gpt2_gelu_sharded", "tests/golden/checkpoint/llama",
                      "tests/golden/checkpoint/qwen3", "tests/golden/checkpoint/bert_pre_training",
                      "tests/golden/checkpoint/bert_old_names",
                      "tests/golden/checkpoint/distilbert_classifier",
                      "tests/golden/checkpoint/vit_wide"),
    [](const auto& info) {
      std::string name(info.param);
      name = name.substr(name.rfind('/') + 1);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// ---- models that are wrong ---------------------------------------------------------------------

enum class Fault {
  none,
  forgets_last_token,  ///< what is remembered lacks the last token of each call
  late_by_one,         ///< positions after the first call are one too high
  state_stays,         ///< reorder() does not move what is remembered
  rows_leak,           ///< each row reads the mean of all
  padding_is_read,     ///< what stands in padding is read
  drops_always,        ///< dropout in evaluation mode too
  cancels,             ///< a large number is added and taken away again
};

/// A language model that adds up what it read: its logits come from the sum of the vectors of
/// tokens and positions so far. The sine makes other tokens win when the sum is another.
class SumLm final : public CausalLm {
 public:
  explicit SumLm(Fault fault) : fault_(fault) {
    torch::manual_seed(2);
    tokens_ = register_parameter("tokens", torch::randn({kVocab, kWidth}));
    positions_ = register_parameter("positions", torch::randn({kLength + 1, kWidth}));
  }

  struct State final : DecodeState {
    int64_t length() const override { return read; }
    int64_t capacity() const override { return kLength; }
    int64_t batch() const override { return sum.size(0); }
    void reorder(const Tensor& rows) override {
      // A state that stays has the right number of rows all the same.
      const Tensor moved = stays ? torch::arange(rows.size(0)) % batch() : rows;
      sum = sum.index_select(0, moved);
      left_pad = left_pad.index_select(0, rows);
    }
    Tensor sum, left_pad;  ///< (B, D), (B)
    int64_t read = 0;
    bool stays = false;
  };

  using CausalLm::forward;
  Tensor forward(const Tensor& ids, const DecodeArgs& args) override {
    State fresh;
    fresh.sum = torch::zeros({ids.size(0), kWidth}, tokens_.scalar_type());
    auto& state = args.state != nullptr ? static_cast<State&>(*args.state) : fresh;
    if (state.read == 0)
      state.left_pad =
          args.left_pad.defined() ? args.left_pad : torch::zeros({ids.size(0)}).to(torch::kLong);
    const Tensor columns = torch::arange(ids.size(1)) + state.read;  // (T)
    Tensor places = columns - state.left_pad.unsqueeze(1);           // (B, T)
    const Tensor padding = (places < 0).unsqueeze(2);
    if (fault_ == Fault::late_by_one && state.read > 0) places = places + 1;
    Tensor x = torch::embedding(tokens_, ids) +
               torch::embedding(positions_, places.clamp_min(0));  // (B, T, D)
    if (fault_ != Fault::padding_is_read) x = x.masked_fill(padding, 0);
    if (fault_ == Fault::drops_always) x = at::dropout(x, 0.2, /*train=*/true);
    Tensor sums = x.cumsum(1) + state.sum.unsqueeze(1);
    state.sum = sums.select(1, -1);
    if (fault_ == Fault::forgets_last_token) state.sum = state.sum - x.select(1, -1);
    state.read += ids.size(1);
    if (fault_ == Fault::rows_leak) sums = sums + sums.mean(0, /*keepdim=*/true);
    if (fault_ == Fault::cancels) sums = (sums + 300) - 300;
    if (args.last_only) sums = sums.narrow(1, sums.size(1) - 1, 1);
    return sums.sin().matmul(tokens_.t());
  }

  std::unique_ptr<DecodeState> start(int64_t batch, int64_t) const override {
    auto state = std::make_unique<State>();
    state->sum = torch::zeros({batch, kWidth}, tokens_.scalar_type());
    state->stays = fault_ == Fault::state_stays;
    return state;
  }

  int64_t vocab_size() const override { return kVocab; }
  int64_t max_length() const override { return kLength; }

 private:
  static constexpr int64_t kVocab = 12, kWidth = 8, kLength = 30;
  Fault fault_;
  Tensor tokens_, positions_;
};

/// All checks but the round trip, since only models of the zoo can be saved.
std::string failed_with(std::shared_ptr<torch::nn::Module> model,
                        std::shared_ptr<Tokenizer> tokenizer = nullptr) {
  LoadedModel loaded;
  loaded.model = std::move(model);
  loaded.tokenizer = loaded.source_tokenizer = std::move(tokenizer);
  VerifyOptions options;
  for (const auto& [check, name] : EnumNames<VerifyCheck>::values)
    if (check != VerifyCheck::roundtrip) options.checks.push_back(check);
  return failed(verify(loaded, options));
}

TEST(Verify, NamesWhatIsWrongWithADecoder) {
  const auto with = [](Fault fault) { return failed_with(std::make_shared<SumLm>(fault)); };
  EXPECT_EQ(with(Fault::none), "");
  EXPECT_EQ(with(Fault::forgets_last_token), "cache, batch, stream");
  EXPECT_EQ(with(Fault::late_by_one), "cache, batch, stream");
  EXPECT_EQ(with(Fault::state_stays), "batch");
  EXPECT_EQ(with(Fault::rows_leak), "batch");
  EXPECT_EQ(with(Fault::padding_is_read), "batch, padding");
  EXPECT_TRUE(with(Fault::drops_always).starts_with("repeat")) << with(Fault::drops_always);
  EXPECT_EQ(with(Fault::cancels), "bf16");
}

/// An encoder-decoder that takes its padding for text, or whose steps forget the token before.
class WrongSeq2Seq final : public Seq2Seq {
 public:
  explicit WrongSeq2Seq(bool wrong_step) : wrong_step_(wrong_step) {
    inner_ = register_module("inner", std::dynamic_pointer_cast<Seq2Seq>(
                                          random_model(testing::tiny_transformer()).model));
  }
  Encoded encode(const Tensor& source, const Tensor& lengths, Tap* tap) override {
    return inner_->encode(source, wrong_step_ ? lengths : lengths * 0 + source.size(1), tap);
  }
  Tensor decode(const Encoded& encoded, const Tensor& inputs, const TeachArgs& args) override {
    return inner_->decode(encoded, inputs, args);
  }
  Tensor logits(const Tensor& hidden) override { return inner_->logits(hidden); }
  std::unique_ptr<DecodeState> start(const Encoded& encoded, int64_t capacity) override {
    return inner_->start(encoded, capacity);
  }
  Tensor step(const Tensor& tokens, DecodeState& state, Tap* tap) override {
    const bool changed = wrong_step_ && state.length() > 0;
    return inner_->step(changed ? (tokens + 1) % vocab_size() : tokens, state, tap);
  }
  int64_t source_vocab_size() const override { return inner_->source_vocab_size(); }
  int64_t vocab_size() const override { return inner_->vocab_size(); }
  int64_t max_source_length() const override { return inner_->max_source_length(); }
  int64_t max_length() const override { return inner_->max_length(); }

 private:
  bool wrong_step_;
  std::shared_ptr<Seq2Seq> inner_;
};

TEST(Verify, NamesWhatIsWrongWithAnEncoderDecoder) {
  EXPECT_EQ(failed_with(std::make_shared<WrongSeq2Seq>(/*wrong_step=*/false)), "batch, padding");
  EXPECT_EQ(failed_with(std::make_shared<WrongSeq2Seq>(/*wrong_step=*/true)),
            "cache, batch, stream");
}

/// A text encoder that takes its padding for text.
class WrongTextEncoder final : public TextEncoder {
 public:
  explicit WrongTextEncoder(const BertConfig& config) {
    inner_ = register_module("inner",
                             std::dynamic_pointer_cast<TextEncoder>(random_model(config).model));
  }
  Tensor encode(const TextBatch& batch, Tap* tap) override {
    TextBatch whole = batch;
    whole.lengths = batch.lengths * 0 + batch.tokens.size(1);
    return inner_->encode(whole, tap);
  }
  Tensor pool(const Tensor& hidden, const Tensor& lengths) override {
    return inner_->pool(hidden, lengths);
  }
  Tensor logits(const Tensor& hidden, const Tensor& lengths) override {
    return inner_->logits(hidden, lengths);
  }
  Tensor next_sentence_logits(const Tensor& hidden, const Tensor& lengths) override {
    return inner_->next_sentence_logits(hidden, lengths);
  }
  int64_t vocab_size() const override { return inner_->vocab_size(); }
  int64_t max_length() const override { return inner_->max_length(); }
  const TextHeadConfig& head() const override { return inner_->head(); }

 private:
  std::shared_ptr<TextEncoder> inner_;
};

/// A vision model whose pictures are normalised over the batch.
class WrongImageEncoder final : public ImageEncoder {
 public:
  explicit WrongImageEncoder(const VitConfig& config) {
    inner_ = register_module("inner",
                             std::dynamic_pointer_cast<ImageEncoder>(random_model(config).model));
  }
  Tensor encode(const Tensor& images, Tap* tap) override {
    return inner_->encode(images - images.mean(0, /*keepdim=*/true), tap);
  }
  Tensor logits(const Tensor& hidden) override { return inner_->logits(hidden); }
  const std::vector<std::string>& labels() const override { return inner_->labels(); }
  ImageShape image_shape() const override { return inner_->image_shape(); }
  const ImageInputConfig& input() const override { return inner_->input(); }

 private:
  std::shared_ptr<ImageEncoder> inner_;
};

TEST(Verify, NamesWhatIsWrongWithAnEncoder) {
  for (const Family& family : families()) {
    if (const auto* bert = std::get_if<BertConfig>(&family.config)) {
      EXPECT_EQ(failed_with(std::make_shared<WrongTextEncoder>(*bert)), "batch, padding")
          << family.name;
    }
    if (const auto* vit = std::get_if<VitConfig>(&family.config)) {
      EXPECT_EQ(failed_with(std::make_shared<WrongImageEncoder>(*vit)), "batch") << family.name;
    }
  }
}

LoadedModel small_gpt() { return random_model(families().front().config); }

TEST(Verify, NamesAParameterThatIsNoNumber) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const LoadedModel loaded = small_gpt();
    {
      const torch::NoGradGuard no_grad;
      loaded.model->named_parameters()["blocks.1.attention.out.bias"][3] = bad;
    }
    const std::vector<VerifyResult> results = verify(loaded);
    EXPECT_EQ(results[0].check, VerifyCheck::finite);
    EXPECT_EQ(results[0].note, "blocks.1.attention.out.bias holds NaN or infinity");
    // No comparison takes NaN for equal; the file holds it as it is.
    EXPECT_EQ(failed(results),
              "finite, repeat, cache, batch, padding, stream, threads, roundtrip, bf16")
        << table(results);
    for (const VerifyResult& result : results) {
      if (result.check == VerifyCheck::roundtrip && result.compared.starts_with("parameters")) {
        EXPECT_EQ(result.outcome, VerifyOutcome::passed) << result.note;
      }
    }
  }
}

/// A tokenizer that counts the pieces it has streamed.
class CountingTokenizer final : public Tokenizer {
 public:
  std::vector<int64_t> encode(std::string_view, const EncodeOptions&) const override { return {0}; }
  size_t safe_cut(std::string_view) const override { return 0; }
  std::unique_ptr<StreamDecoder> stream(const DecodeOptions&) const override {
    struct Stream final : StreamDecoder {
      explicit Stream(int64_t& streamed) : count(streamed) {}
      std::string push(int64_t) override { return cat(count++, " "); }
      std::string finish() override { return ""; }
      int64_t& count;
    };
    return std::make_unique<Stream>(count_);
  }
  int64_t vocab_size() const override { return 12; }
  std::string piece(int64_t) const override { return ""; }
  std::optional<int64_t> piece_id(std::string_view) const override { return {}; }
  SpecialIds special_ids() const override { return {}; }
  bool is_special(int64_t) const override { return false; }
  std::string_view type() const override { return "counting"; }
  void save(const fs::path&) const override {}

 private:
  mutable int64_t count_ = 0;
};

TEST(Verify, NamesTextThatStreamsInAnotherWay) {
  const auto model = std::make_shared<SumLm>(Fault::none);
  EXPECT_EQ(failed_with(model, std::make_shared<CountingTokenizer>()), "stream");
  // Pieces that break characters are no fault.
  EXPECT_EQ(failed_with(model, std::make_shared<testing::PieceTokenizer>(
                                   std::vector<std::string>{"a", " ", "\xF0\x9F", "\x98\x80",
                                                            "\xC3", "\xA4", "x", "y", "z", "</s>"},
                                   9)),
            "");
}

TEST(Verify, NamesWhatIsLostInTheFile) {
  LoadedModel loaded = small_gpt();
  const auto roundtrip = [&] {
    std::string notes;
    for (const VerifyResult& result : verify(loaded, {.checks = {VerifyCheck::roundtrip}}))
      if (result.outcome == VerifyOutcome::failed)
        notes += cat(result.compared, ": ", result.note, "\n");
    return notes;
  };
  EXPECT_EQ(roundtrip(), "");
  // It does not write any file.
  loaded.tokenizer = loaded.source_tokenizer =
      std::make_shared<testing::PieceTokenizer>(std::vector<std::string>{"a", "b"});
  EXPECT_EQ(roundtrip(), "tokenizer, on sample texts: the saved folder holds no tokenizer\n");
  loaded.tokenizer = loaded.source_tokenizer = nullptr;
  // The config is that of a model with other numbers.
  std::get<GptConfig>(loaded.config).block.norm = LayerNormConfig{.eps = 0.5};
  EXPECT_TRUE(roundtrip().starts_with("logits, saved and loaded: largest in table")) << roundtrip();
  std::get<GptConfig>(loaded.config).tie_embeddings = false;
  EXPECT_NE(roundtrip(), "");
}

TEST(Verify, ChoosesChecksAndTolerance) {
  const LoadedModel loaded = small_gpt();
  VerifyOptions options{.checks = {VerifyCheck::batch, VerifyCheck::cache}, .tolerance = 1e-12};
  std::vector<VerifyCheck> started;
  options.on_start = [&](VerifyCheck check) { started.push_back(check); };
  const std::vector<VerifyResult> results = verify(loaded, options);
  EXPECT_EQ(started, (std::vector<VerifyCheck>{VerifyCheck::cache, VerifyCheck::batch}));
  EXPECT_EQ(failed(results), "cache, batch") << table(results);
  for (const VerifyResult& result : results) {
    EXPECT_GT(result.scale, 0.1);
    EXPECT_DOUBLE_EQ(result.tolerance, 1e-12 * result.scale);
  }
}

TEST(Verify, WorksInBfloat16) {
  const LoadedModel loaded = small_gpt();
  loaded.model->to(torch::kBFloat16);
  const std::vector<VerifyResult> results = verify(loaded);
  EXPECT_EQ(failed(results), "") << table(results);
  EXPECT_EQ(results.back().note, "the weights are not in float32");
}

TEST(Verify, RefusesWhatIsNoModel) {
  LoadedModel loaded;
  loaded.model = std::make_shared<torch::nn::LinearImpl>(2, 2);
  EXPECT_THROW(verify(loaded), ConfigError);
}

}  // namespace
}  // namespace zoo
