#include "nn/source_attention.h"

#include <cmath>

#include "nn/mask.h"

namespace zoo {

namespace {

/// Scores that are products with the keys.
class ProductSteps final : public SourceScoreImpl::Steps {
 public:
  explicit ProductSteps(const Tensor& keys) : product_(keys.transpose(1, 2)) {}
  Tensor operator()(const Tensor& query) const override { return product_(query); }

 private:
  StepProduct product_;
};

/// s . h, s W h and s . h / sqrt(D): they differ in what they make of the memory.
class DotScore final : public SourceScoreImpl {
 public:
  DotScore(const SourceAttentionShape& shape, double scale) : scale_(scale) {
    if (shape.d_query != shape.d_memory)
      throw ConfigError(
          cat("attention: a dot product needs vectors of one width, but the decoder's "
              "are ",
              shape.d_query, " wide and the encoder's ", shape.d_memory,
              "; set d_encoder, or take \"general\""));
  }
  Tensor keys(const Tensor& memory) override { return scale_ == 1 ? memory : memory * scale_; }
  std::unique_ptr<Steps> steps(const Tensor& keys) const override {
    return std::make_unique<ProductSteps>(keys);
  }

 private:
  double scale_;
};

class GeneralScore final : public SourceScoreImpl {
 public:
  explicit GeneralScore(const SourceAttentionShape& shape) {
    key = register_module("key", Linear(shape.d_memory, shape.d_query, /*with_bias=*/false));
  }
  Tensor keys(const Tensor& memory) override { return key->forward(memory); }
  std::unique_ptr<Steps> steps(const Tensor& keys) const override {
    return std::make_unique<ProductSteps>(keys);
  }

  Linear key{nullptr};  ///< M to D
};

class AdditiveScore final : public SourceScoreImpl {
 public:
  AdditiveScore(const BahdanauAttentionConfig& config, const SourceAttentionShape& shape) {
    const int64_t width = config.width(shape.d_query);
    query = register_module("query", Linear(shape.d_query, width, /*with_bias=*/false));
    key = register_module("key", Linear(shape.d_memory, width, /*with_bias=*/false));
    score = register_module("score", Linear(width, 1, /*with_bias=*/false));
  }
  Tensor keys(const Tensor& memory) override { return key->forward(memory); }
  std::unique_ptr<Steps> steps(const Tensor& keys) const override {
    return std::make_unique<AdditiveSteps>(keys, query->weight, score->weight.squeeze(0));
  }

  Linear query{nullptr}, key{nullptr};  ///< D to A, M to A
  Linear score{nullptr};                ///< A to 1

 private:
  class AdditiveSteps final : public Steps {
   public:
    AdditiveSteps(const Tensor& keys, const Tensor& query_weight, const Tensor& v)
        : query_(query_weight.t()), scores_(keys, v) {}
    Tensor operator()(const Tensor& query) const override {
      // One query at a time: all of them would take B T S A numbers.
      std::vector<Tensor> scores;
      for (const Tensor& step : query.unbind(1)) scores.push_back(scores_(query_(step)));
      return scores.size() == 1 ? scores[0].unsqueeze(1) : torch::stack(scores, 1);
    }

   private:
    StepProduct query_;
    StepAdditiveScores scores_;
  };
};

std::shared_ptr<SourceScoreImpl> build(const NoSourceAttentionConfig&,
                                       const SourceAttentionShape&) {
  return nullptr;
}
std::shared_ptr<SourceScoreImpl> build(const BahdanauAttentionConfig& config,
                                       const SourceAttentionShape& shape) {
  return std::make_shared<AdditiveScore>(config, shape);
}
std::shared_ptr<SourceScoreImpl> build(const DotAttentionConfig&,
                                       const SourceAttentionShape& shape) {
  return std::make_shared<DotScore>(shape, 1);
}
std::shared_ptr<SourceScoreImpl> build(const GeneralAttentionConfig&,
                                       const SourceAttentionShape& shape) {
  return std::make_shared<GeneralScore>(shape);
}
std::shared_ptr<SourceScoreImpl> build(const ScaledDotAttentionConfig&,
                                       const SourceAttentionShape& shape) {
  return std::make_shared<DotScore>(shape, 1 / std::sqrt(static_cast<double>(shape.d_query)));
}

}  // namespace

SourceScore make_source_score(const SourceAttentionConfig& config,
                              const SourceAttentionShape& shape) {
  return std::visit([&](const auto& variant) { return SourceScore(build(variant, shape)); },
                    config);
}

SourceView::SourceView(SourceScoreImpl& score, const Tensor& memory, const Tensor& lengths)
    : memory_(memory), keys_(score.keys(memory)), lengths_(lengths) {
  prepare(score);
}

void SourceView::prepare(const SourceScoreImpl& score) {
  const Tensor real = real_tokens(lengths_, memory_.size(1));  // (B, S)
  padding_ = real.defined() ? real.logical_not().unsqueeze(1) : Tensor();
  scores_ = score.steps(keys_);
  values_ = StepProduct(memory_);
}

Attended SourceView::attend(const Tensor& query) const {
  Tensor scores = (*scores_)(query);  // (B, T, S)
  if (padding_.defined())
    scores = scores.masked_fill(padding_, -std::numeric_limits<double>::infinity());
  const Tensor weights = scores.softmax(-1);
  return {values_(weights), weights};
}

void SourceView::keep(const SourceScoreImpl& score, const Tensor& kept, int64_t longest) {
  for (Tensor* part : {&memory_, &keys_}) *part = part->narrow(1, 0, longest).index_select(0, kept);
  lengths_ = lengths_.index_select(0, kept);
  prepare(score);
}

}  // namespace zoo
