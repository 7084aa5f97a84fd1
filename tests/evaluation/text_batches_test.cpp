#include "evaluation/text_batches.h"

#include <gtest/gtest.h>

#include "models/zoo.h"

namespace zoo {
namespace {

class TextBatchesTest : public ::testing::Test {
 protected:
  TextBatchesTest() {
    torch::manual_seed(1);
    for (const auto& [length, first] : {std::pair{5, 5}, {9, 4}, {2, 2}, {7, 7}, {5, 3}}) {
      std::vector<int64_t> text;
      for (int64_t i = 0; i < length; ++i) text.push_back((7 * i + length) % 20);
      ids_.push_back(text);
      firsts_.push_back(first);
    }
    for (size_t i = 0; i < ids_.size(); ++i) rows_.push_back({ids_[i], firsts_[i]});
  }
  static std::shared_ptr<TextEncoder> model(TextHeadConfig head) {
    BertConfig config;
    config.vocab_size = 20;
    config.max_length = 12;
    config.num_layers = 1;
    config.d_model = 16;
    config.block.attention.num_heads = 2;
    config.head = std::move(head);
    auto made = make_text_encoder(config);
    made->eval();
    return made;
  }
  std::vector<std::vector<int64_t>> ids_;
  std::vector<int64_t> firsts_;
  std::vector<TextRow> rows_;
};

TEST_F(TextBatchesTest, SegmentsTellThePairsApart) {
  const TextBatch batch = pad_texts({rows_[0], rows_[1]});
  EXPECT_TRUE(at::equal(batch.lengths, torch::tensor({5, 9}, torch::kInt64)));
  EXPECT_TRUE(
      at::equal(batch.segments[1], torch::tensor({0, 0, 0, 0, 1, 1, 1, 1, 1}, torch::kInt64)));
  EXPECT_EQ(batch.segments[0].narrow(0, 0, 5).sum().item<int64_t>(), 0);
  EXPECT_FALSE(pad_texts({rows_[0], rows_[3]}).segments.defined());
}

TEST_F(TextBatchesTest, NoResultDependsOnTheBatch) {
  const auto classifier = model(ClassifierHeadConfig{.labels = {"a", "b", "c"}});
  const auto tagger = model(TaggerHeadConfig{.labels = {"a", "b"}});
  const Tensor together = class_logits(*classifier, rows_, 1000);
  const Tensor vectors = text_vectors(*classifier, rows_, std::nullopt, 1000);
  const Tensor means = text_vectors(*classifier, rows_, Pooling::mean, 1000);
  const std::vector<Tensor> tags = tag_logits(*tagger, rows_, 1000);
  ASSERT_EQ(together.sizes(), (std::vector<int64_t>{5, 3}));
  ASSERT_EQ(vectors.sizes(), (std::vector<int64_t>{5, 16}));
  const auto near = [](const Tensor& a, const Tensor& b) {
    return (a - b).abs().max().item<double>() < 1e-5;
  };
  EXPECT_TRUE(near(class_logits(*classifier, rows_, 1), together));
  EXPECT_TRUE(near(text_vectors(*classifier, rows_, std::nullopt, 10), vectors));
  for (size_t i = 0; i < rows_.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    EXPECT_TRUE(near(class_logits(*classifier, {rows_[i]})[0], together[row]));
    const Tensor alone = tag_logits(*tagger, {rows_[i]})[0];
    EXPECT_EQ(tags[i].sizes(), (std::vector<int64_t>{std::ssize(ids_[i]), 2}));
    EXPECT_TRUE(near(alone, tags[i]));
    const torch::NoGradGuard no_grad;
    const Tensor hidden = classifier->encode(pad_texts({rows_[i]}));  // (1, T, D)
    EXPECT_TRUE(near(hidden[0].mean(0), means[row]));
  }
}

}  // namespace
}  // namespace zoo
