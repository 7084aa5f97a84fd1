// Attention maps: against Hugging Face's (tests/golden/analysis/make_attention_goldens.py), and
// what heads do against closed forms.

#include "analysis/attention_maps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "analysis/attention_figure.h"
#include "checkpoint/safetensors.h"
#include "core/text.h"
#include "tests/support/checkpoint_golden.h"
#include "tests/support/message_of.h"
#include "tests/support/seq2seq_variants.h"
#include "tests/support/small_wordpiece.h"

namespace zoo {
namespace {

using testing::golden;
using testing::message_of;
using Ids = std::vector<int64_t>;

const SafetensorsFile& goldens() {
  static const SafetensorsFile file(fs::path(ZOO_SOURCE_DIR) /
                                    "tests/golden/analysis/attention.safetensors");
  return file;
}

Ids ids_of(const Tensor& tensor) {
  const Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

const std::vector<std::string> kText = {"entropy", "relative_entropy", "distance",
                                        "first",   "previous",         "self"};
const std::vector<std::string> kPicture = {"entropy", "relative_entropy", "distance", "first",
                                           "self"};
const std::vector<std::string> kCross = {"entropy", "relative_entropy", "first", "diagonality"};

double number_of(const HeadSummary& summary, const std::string& wanted) {
  double found = NAN;
  summary.fields([&](const char* name, double value, const char*) {
    if (name == wanted) found = value;
  });
  return found;
}

/// @param summaries what the golden has of each head, in its order
void expect_golden(const AttentionMaps& maps, const std::string& name, int64_t layers,
                   const std::vector<std::string>& summaries) {
  ASSERT_EQ(std::ssize(maps.heads), 2 * layers) << name;
  for (const HeadMap& map : maps.heads) {
    const std::string key = cat(name, ".", map.layer);
    const Tensor wanted = goldens().tensor(key)[map.head.value()];
    ASSERT_EQ(map.weights.sizes(), wanted.sizes()) << key;
    EXPECT_LE((map.weights - wanted).abs().max().item<double>(), 1e-6) << key;
    const Tensor numbers = goldens().tensor(key + ".summary")[*map.head];
    for (size_t i = 0; i < summaries.size(); ++i)
      EXPECT_NEAR(number_of(map.summary, summaries[i]),
                  numbers[static_cast<int64_t>(i)].item<double>(), 1e-5)
          << key << ", " << summaries[i];
  }
}

TEST(AttentionMaps, OfLanguageModelsAreHuggingFaces) {
  const LoadedModel gpt = load_model(golden("gpt2_tied"));
  const Ids tokens =
      ids_of(SafetensorsFile(golden("gpt2_tied") / "expected.safetensors").tensor("tokens")[0]);
  const AttentionMaps maps = attention_maps(*gpt.as<CausalLm>(), tokens);
  expect_golden(maps, "gpt2_tied", 2, kText);
  EXPECT_TRUE(maps.causal);
  EXPECT_EQ(maps.keys[3], std::to_string(tokens[3]));
  for (const HeadMap& map : maps.heads) {
    EXPECT_LE((map.weights.sum(1) - 1).abs().max().item<double>(), 1e-6);
    EXPECT_EQ(map.weights.triu(1).abs().max().item<double>(), 0);
    EXPECT_TRUE(std::isnan(map.summary.next)) << "what comes next is not seen";
    EXPECT_TRUE(std::isnan(map.summary.separators)) << "there is none";
  }
}

TEST(AttentionMaps, OfSharedKeyHeadsHaveAMapForEachQueryHead) {
  const LoadedModel llama = load_model(golden("llama"));
  const Ids tokens =
      ids_of(SafetensorsFile(golden("llama") / "expected.safetensors").tensor("tokens")[0]);
  const AttentionMaps maps = attention_maps(*llama.as<CausalLm>(), tokens);
  ASSERT_EQ(maps.heads.size(), 8);
  for (const HeadMap& map : maps.heads)
    EXPECT_LE((map.weights - goldens().tensor(cat("llama.", map.layer))[map.head.value()])
                  .abs()
                  .max()
                  .item<double>(),
              1e-6);
}

TEST(AttentionMaps, OfEncodersAreHuggingFaces) {
  const LoadedModel bert = load_model(golden("bert_pre_training"));
  const SafetensorsFile expected(golden("bert_pre_training") / "expected.safetensors");
  // The golden's segments alternate; a pair's do not, so the batch is put together here.
  const auto model = bert.as<TextEncoder>();
  const int64_t length = expected.tensor("lengths")[0].item<int64_t>();
  const c10::InferenceMode inference;
  Tap tap;
  tap.want_attention = true;
  model->encode({.tokens = expected.tensor("tokens").slice(0, 0, 1).slice(1, 0, length),
                 .segments = expected.tensor("segments").slice(0, 0, 1).slice(1, 0, length),
                 .lengths = torch::tensor({length})},
                &tap);
  AttentionMaps maps;
  maps.keys = maps.queries = std::vector<std::string>(static_cast<size_t>(length), "x");
  for (int64_t layer = 0; layer < 2; ++layer)
    for (int64_t head = 0; head < 2; ++head) {
      const Tensor weights = tap.attention[static_cast<size_t>(layer)][0][head];
      maps.heads.push_back({layer, head, weights, summarize(weights, maps)});
    }
  expect_golden(maps, "bert_pre_training", 2, kText);
}

TEST(AttentionMaps, OfPicturesAreHuggingFaces) {
  const LoadedModel vit = load_model(golden("vit_square"));
  const Tensor image =
      SafetensorsFile(golden("vit_square") / "expected.safetensors").tensor("images")[0];
  const AttentionMaps maps = attention_maps(*vit.as<ImageEncoder>(), image);
  expect_golden(maps, "vit_square", 2, kPicture);
  EXPECT_EQ(maps.keys, (std::vector<std::string>{"[class]", "0,0", "0,1", "1,0", "1,1"}));
  ASSERT_TRUE(maps.grid);
  EXPECT_TRUE(maps.grid->class_token);
  EXPECT_EQ(maps.grid->patch_size, 4);
  EXPECT_LE((maps.rollout - goldens().tensor("vit_square.rollout")).abs().max().item<double>(),
            1e-6);
}

TEST(AttentionMaps, OfTranslationsAreHuggingFaces) {
  const LoadedModel marian = load_model(golden("marian_shared"));
  const SafetensorsFile expected(golden("marian_shared") / "expected.safetensors");
  const Ids source = ids_of(
      expected.tensor("source")[0].slice(0, 0, expected.tensor("lengths")[0].item<int64_t>()));
  const Ids inputs = ids_of(expected.tensor("inputs")[0]);
  // What is predicted last is not read, so that any id will do.
  Ids target(inputs.begin() + 1, inputs.end());
  target.push_back(7);
  const auto maps = attention_maps(*marian.as<Seq2Seq>(), source, inputs[0], target,
                                   marian.source_tokenizer.get(), marian.tokenizer.get());
  ASSERT_EQ(maps.size(), 3);
  expect_golden(maps[0], "marian_shared.encoder", 2, kText);
  expect_golden(maps[1], "marian_shared.decoder", 1, kText);
  expect_golden(maps[2], "marian_shared.cross", 1, kCross);
  EXPECT_EQ(maps[0].part, AttentionPart::encoder);
  EXPECT_EQ(maps[1].part, AttentionPart::decoder);
  EXPECT_EQ(maps[2].part, AttentionPart::cross);
  EXPECT_EQ(maps[2].queries.back(), marian.tokenizer->piece(7)) << "the token that was chosen";
  EXPECT_EQ(maps[1].queries.front(), marian.tokenizer->piece(inputs[0])) << "the token read";
  EXPECT_FALSE(maps[1].rollout.defined());
  EXPECT_TRUE(maps[0].rollout.defined());
}

/// Maps of `queries` x `keys` without heads.
AttentionMaps shape_of(int64_t queries, int64_t keys, AttentionPart part, bool causal = false) {
  AttentionMaps maps;
  maps.part = part;
  maps.causal = causal;
  maps.queries.assign(static_cast<size_t>(queries), "q");
  maps.keys.assign(static_cast<size_t>(keys), "k");
  return maps;
}

TEST(HeadSummary, OfUniformAttentionHasClosedForms) {
  constexpr int64_t T = 12;
  AttentionMaps both_ways = shape_of(T, T, AttentionPart::self);
  both_ways.separators.assign(T, false);
  both_ways.separators[3] = both_ways.separators[T - 1] = true;
  const HeadSummary free = summarize(torch::full({T, T}, 1.0 / T), both_ways);
  EXPECT_NEAR(free.entropy, std::log(T), 1e-6);
  EXPECT_NEAR(free.relative_entropy, 1, 1e-6);
  EXPECT_NEAR(free.distance, (T * T - 1) / (3.0 * T), 1e-6);
  for (const double share : {free.first, free.self, free.previous, free.next})
    EXPECT_NEAR(share, 1.0 / T, 1e-6);
  EXPECT_NEAR(free.separators, 2.0 / T, 1e-6);
  EXPECT_TRUE(std::isnan(free.diagonality));

  const AttentionMaps causal = shape_of(T, T, AttentionPart::decoder, true);
  const Tensor weights = torch::ones({T, T}).tril() / torch::arange(1, T + 1).unsqueeze(1);
  const HeadSummary hidden = summarize(weights, causal);
  double entropy = 0, share = 0;  // of queries 1 to T - 1, which see 2 to T keys
  for (int64_t n = 2; n <= T; ++n) {
    entropy += std::log(n) / (T - 1);
    share += 1.0 / static_cast<double>(n) / (T - 1);
  }
  EXPECT_NEAR(hidden.entropy, entropy, 1e-6);
  EXPECT_NEAR(hidden.relative_entropy, 1, 1e-6);
  EXPECT_NEAR(hidden.distance, T / 4.0, 1e-6);
  for (const double each : {hidden.first, hidden.self, hidden.previous})
    EXPECT_NEAR(each, share, 1e-6);
}

TEST(HeadSummary, OfOneKeyAtATime) {
  constexpr int64_t T = 6;
  const AttentionMaps causal = shape_of(T, T, AttentionPart::self, true);
  Tensor back = torch::diag(torch::ones({T - 1}), -1);  // each looks at the one before
  back[0][0] = 1;
  const HeadSummary before = summarize(back, causal);
  EXPECT_EQ(before.entropy, 0);
  EXPECT_EQ(before.previous, 1);
  EXPECT_EQ(before.distance, 1);
  EXPECT_EQ(before.self, 0);

  const AttentionMaps cross = shape_of(T, T, AttentionPart::cross);
  EXPECT_NEAR(summarize(torch::eye(T), cross).diagonality, 1, 1e-12);
  EXPECT_NEAR(summarize(torch::eye(T).flip(1), cross).diagonality, -1, 1e-12);
  EXPECT_NEAR(summarize(torch::full({T, T}, 1.0 / T), cross).diagonality, 0, 1e-12);
  Tensor sink = torch::zeros({T, T});
  sink.select(1, 2).fill_(1);
  EXPECT_TRUE(std::isnan(summarize(sink, cross).diagonality)) << "one key for all";
  EXPECT_TRUE(std::isnan(summarize(sink, cross).distance));
}

TEST(HeadSummary, OfNoChoiceIsNothing) {
  const HeadSummary one = summarize(torch::ones({1, 1}), shape_of(1, 1, AttentionPart::self));
  one.fields(
      [](const char* name, double value, const char*) { EXPECT_TRUE(std::isnan(value)) << name; });
  EXPECT_NE(message_of<ShapeError>([] {
              summarize(torch::ones({2, 3}), shape_of(3, 3, AttentionPart::self));
            }).find("attention weights"),
            std::string::npos);
}

/// Weights of 0 make all scores equal, whatever the model.
TEST(AttentionMaps, OfAModelWithoutWeightsAreUniform) {
  const auto zeroed = [](auto model) {
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : model->parameters()) parameter.zero_();
    return model;
  };
  const auto expect_uniform = [](const AttentionMaps& maps) {
    ASSERT_FALSE(maps.heads.empty());
    for (const HeadMap& map : maps.heads) {
      map.summary.fields([&](const char* name, double value, const char*) {
        const double wanted = number_of(maps.uniform, name);
        if (std::isnan(wanted))
          EXPECT_TRUE(std::isnan(value)) << name;
        else
          EXPECT_NEAR(value, wanted, 1e-5) << name;
      });
    }
  };
  BertConfig bert;
  bert.vocab_size = 23;
  bert.num_layers = 2;
  bert.d_model = 16;
  bert.block.attention.num_heads = 2;
  const AttentionMaps text =
      attention_maps(*zeroed(make_text_encoder(bert)), EncodedText{{1, 2, 3, 4, 5, 6, 7}, 4});
  expect_uniform(text);
  EXPECT_NEAR(text.heads[0].summary.entropy, std::log(7), 1e-6);

  GptConfig gpt;
  gpt.vocab_size = 23;
  gpt.num_layers = 2;
  gpt.d_model = 16;
  gpt.block.attention.num_heads = 2;
  expect_uniform(attention_maps(*zeroed(make_causal_lm(gpt)), {1, 2, 3, 4, 5}));

  for (const ImagePooling pooling : {ImagePooling::class_token, ImagePooling::mean}) {
    VitConfig vit = VitConfig::preset("vit-digits");
    vit.pooling = pooling;
    vit.labels = {"a", "b"};
    const AttentionMaps seen =
        attention_maps(*zeroed(make_image_encoder(vit)), torch::randn({1, 8, 12}));
    expect_uniform(seen);
    EXPECT_EQ(std::isnan(seen.uniform.first), pooling == ImagePooling::mean);
    EXPECT_EQ(attention_grid({.input = "x", .second = {}, .maps = {seen}}).rows[0][0].column_count,
              seen.grid->columns);
  }

  for (const testing::Seq2SeqVariant& variant : testing::seq2seq_variants()) {
    // ALiBi's scores fall with the distance, weights or none; the others here have a source vector.
    if (variant.name == "transformer_alibi" || variant.name == "rnn_cho" ||
        variant.name == "rnn_sutskever")
      continue;
    SCOPED_TRACE(variant.name);
    const auto model = zeroed(make_seq2seq(variant.config));
    for (const AttentionMaps& maps : attention_maps(*model, {1, 2, 3, 4}, 1, {5, 6, 7}))
      expect_uniform(maps);
  }
}

TEST(AttentionMaps, OfAModelWithoutAttentionAreRefused) {
  RnnSeq2SeqConfig config = testing::tiny_rnn();
  config.attention = NoSourceAttentionConfig{};
  const auto model = make_seq2seq(config);
  EXPECT_NE(message_of<ConfigError>([&] {
              attention_maps(*model, {1, 2}, 1, {3});
            }).find("this model has no attention"),
            std::string::npos);
}

TEST(AttentionOfText, TranslatesGreedilyAsHuggingFaceDoes) {
  const LoadedModel marian = load_model(golden("marian_shared"));
  const Json expected = read_json_file(golden("marian_shared") / "expected.json");
  for (const Json& line : expected["translate"]) {
    const std::string source = line["text"], begin = line["translation"];  // its first 10 tokens
    const ModelAttention found = attention_of_text(marian, source);
    EXPECT_TRUE(found.second.value().starts_with(begin)) << *found.second;
    ASSERT_EQ(found.maps.size(), 3);
    EXPECT_EQ(found.maps[0].keys.back(), "</s>");
    EXPECT_EQ(found.maps[0].keys, found.maps[2].keys);
    EXPECT_TRUE(found.maps[2].separators.back());
  }
}

LoadedModel small_bert() {
  LoadedModel loaded;
  loaded.tokenizer = testing::small_wordpiece({"a", "b", "c"});
  BertConfig config;
  config.vocab_size = 8;
  config.max_length = 8;
  config.num_layers = 3;
  config.d_model = 16;
  config.block.attention.num_heads = 4;
  torch::manual_seed(5);
  loaded.config = config;
  loaded.model = make_model(config);
  loaded.folder = "here";
  return loaded;
}

TEST(AttentionOfText, ReadsPairsWithTheirSeparators) {
  const ModelAttention found = attention_of_text(small_bert(), "a b", "c");
  ASSERT_EQ(found.maps.size(), 1);
  EXPECT_EQ(found.maps[0].keys,
            (std::vector<std::string>{"[CLS]", "a", "b", "[SEP]", "c", "[SEP]"}));
  EXPECT_EQ(found.maps[0].separators, (std::vector<bool>{false, false, false, true, false, true}));
  EXPECT_NEAR(found.maps[0].uniform.separators, 2.0 / 6, 1e-12);
  const HeadMap& map = found.maps[0].heads[5];
  EXPECT_NEAR(map.summary.separators,
              (map.weights.select(1, 3) + map.weights.select(1, 5)).mean().item<double>(), 1e-6);
  const ModelAttention special =
      attention_of_text(small_bert(), "a [MASK]", std::nullopt, {.special = true});
  EXPECT_EQ(special.maps[0].keys[2], "[MASK]");
}

TEST(AttentionOfText, SaysWhatCannotBeRead) {
  const LoadedModel bert = small_bert();
  const auto message = [](const LoadedModel& loaded, const std::string& text,
                          const std::optional<std::string>& second = {}) {
    return message_of([&] { attention_of_text(loaded, text, second); });
  };
  const auto expect = [&](const std::string& found, const std::string& part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect(message(bert, " "), "the text is blank");
  expect(message(bert, "a", "\t"), "the second text or target is blank");
  expect(message(bert, "a b c a b c a"), "the text has 9 tokens");
  expect(message(bert, "a b c", "a b c"), "the pair of texts has 9 tokens");
  LoadedModel silent = small_bert();
  silent.tokenizer = nullptr;
  expect(message(silent, "a"), "here: holds no tokenizer");
  expect(message(load_model(golden("vit_square")), "a"), "is a vision model");
  LoadedModel gpt = small_bert();
  GptConfig config;
  config.vocab_size = 8;
  config.max_length = 2;
  gpt.model = make_model(config);
  expect(message(gpt, "a", "b"), "is a language model, which reads one text");
  expect(message(gpt, "a b c"),
         "the text has 3 tokens, special ones included, but the model reads 2");
  const LoadedModel marian = load_model(golden("marian_shared"));
  std::string words;
  for (int i = 0; i < 50; ++i) words += " books";
  expect(message(marian, words), "the source has 51 tokens");
  expect(message(marian, "books", words), "the target has ");
}

TEST(AttentionSelection, LeavesWhatIsWanted) {
  const ModelAttention all = attention_of_text(small_bert(), "a b c");
  ASSERT_EQ(all.maps[0].heads.size(), 12);
  AttentionMaps some = all.maps[0];
  select(some, {.layers = {0, 2}, .heads = {1, 3}});
  ASSERT_EQ(some.heads.size(), 4);
  EXPECT_EQ(some.heads[2].layer, 2);
  EXPECT_EQ(some.heads[2].head, 1);
  AttentionMaps means = all.maps[0];
  select(means, {.layers = {1}, .heads = {0, 1}, .mean = true});
  ASSERT_EQ(means.heads.size(), 1);
  EXPECT_FALSE(means.heads[0].head.has_value());
  const Tensor mean = (all.maps[0].heads[4].weights + all.maps[0].heads[5].weights) / 2;
  EXPECT_LE((means.heads[0].weights - mean).abs().max().item<double>(), 1e-7);
  EXPECT_NEAR(means.heads[0].summary.entropy, summarize(mean, all.maps[0]).entropy, 1e-6);
  const auto message = [&](const AttentionSelection& selection) {
    return message_of<ConfigError>([&] {
      AttentionMaps maps = all.maps[0];
      select(maps, selection);
    });
  };
  EXPECT_NE(message({.layers = {3}, .heads = {}})
                .find("there is no layer 3; the attention \"self\" has layers 0 to 2"),
            std::string::npos);
  EXPECT_NE(message({.layers = {}, .heads = {4}}).find("heads 0 to 3"), std::string::npos);
}

TEST(AttentionFiles, JsonReadsBackAsTheSameNumbers) {
  const ModelAttention all = attention_of_text(small_bert(), "a b", "c");
  const Json json = Json::parse(to_json(all).dump());
  EXPECT_EQ(json["input"], "a b");
  EXPECT_EQ(json["second"], "c");
  const Json& maps = json["maps"][0];
  EXPECT_EQ(maps["attention"], "self");
  EXPECT_EQ(maps["causal"], false);
  EXPECT_EQ(maps["distance_unit"], "tokens");
  EXPECT_EQ(maps["keys"].size(), 6);
  EXPECT_FALSE(maps["uniform"].contains("diagonality"));
  ASSERT_EQ(maps["heads"].size(), 12);
  const HeadMap& map = all.maps[0].heads[7];
  const Json& head = maps["heads"][7];
  EXPECT_EQ(head["layer"], 1);
  EXPECT_EQ(head["head"], 3);
  EXPECT_NEAR(head["summary"]["entropy"].get<double>(), map.summary.entropy, 1e-6);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_EQ(static_cast<float>(head["weights"][i][j].get<double>()),
                map.weights[i][j].item<float>());
  EXPECT_EQ(maps["rollout"].size(), 6);
  EXPECT_FALSE(to_json(all, false)["maps"][0]["heads"][0].contains("weights"));
  EXPECT_EQ(matrix_json(torch::tensor({{0.1F, 1.0F}})).dump(), "[[0.1,1.0]]");
}

TEST(AttentionFiles, CsvHasALineForEachWeightOrHead) {
  ModelAttention attention = attention_of_text(small_bert(), "a b");
  attention.maps[0].keys[1] = "a,\"";
  std::ostringstream weights, summaries;
  write_csv_header(weights, true);
  write_csv(weights, attention, 3, true);
  write_csv_header(summaries, false);
  write_csv(summaries, attention, 1, false);
  const auto lines = split(weights.str(), '\n');
  ASSERT_EQ(lines.size(), 1 + 12 * 4 * 4 + 1);
  EXPECT_EQ(lines[0], "input,attention,layer,head,query,key,query_label,key_label,weight");
  EXPECT_TRUE(lines[2].starts_with("3,self,0,0,0,1,[CLS],\"a,\"\"\",0.")) << lines[2];
  EXPECT_TRUE(lines[1 + 16 * 5].starts_with("3,self,1,1,0,0,[CLS],[CLS],0.")) << lines[81];
  const auto heads = split(summaries.str(), '\n');
  ASSERT_EQ(heads.size(), 14);
  EXPECT_EQ(heads[0],
            "input,attention,layer,head,entropy,relative_entropy,distance,first,previous,self,next,"
            "separators,diagonality");
  EXPECT_TRUE(heads[12].starts_with("1,self,2,3,")) << heads[12];
  EXPECT_TRUE(heads[12].ends_with(",")) << "no diagonality: " << heads[12];
}

TEST(AttentionFigure, HasARowForEachLayer) {
  const ModelAttention all = attention_of_text(small_bert(), "a b", "c");
  const HeatMapGrid grid = attention_grid(all);
  ASSERT_EQ(grid.rows.size(), 3);
  ASSERT_EQ(grid.rows[1].size(), 4);
  EXPECT_EQ(grid.title, "a b | c");
  EXPECT_EQ(grid.rows[1][2].title, "layer 1 head 2");
  EXPECT_EQ(grid.rows[1][2].columns, all.maps[0].keys);
  EXPECT_FLOAT_EQ(static_cast<float>(grid.rows[1][2].values[7]),
                  all.maps[0].heads[6].weights[1][1].item<float>());
  EXPECT_EQ(rollout_grid(all).rows[0][0].values.size(), 36);
  // A layer alone fills rows of four.
  ModelAttention one = all;
  one.maps[0].heads.resize(4);
  one.maps[0].heads.push_back(one.maps[0].heads[3]);
  EXPECT_EQ(attention_grid(one).rows.size(), 2);
  one.maps[0].rollout = Tensor();
  EXPECT_NE(message_of<ConfigError>([&] { rollout_grid(one); }).find("rollout: only"),
            std::string::npos);
}

}  // namespace
}  // namespace zoo
