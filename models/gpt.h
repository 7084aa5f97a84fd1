#pragma once
// Decoder-only language model: Radford et al. 2019, "Language Models are Unsupervised Multitask
// Learners", section 2.3. Every part is chosen by config. Letters of the shapes: core/shape.h.

#include "models/contracts.h"
#include "models/gpt_config.h"
#include "nn/block.h"
#include "nn/embedding.h"

namespace zoo {

/// What a Gpt remembers of the tokens it has read.
struct GptState final : DecodeState {
  explicit GptState(KvCache kv) : cache(std::move(kv)) {}
  int64_t length() const override { return cache.length(); }
  int64_t capacity() const override { return cache.capacity(); }
  int64_t batch() const override { return cache.batch(); }
  void reorder(const Tensor& rows) override;

  KvCache cache;
  Tensor left_pad;  ///< (B) int64 or undefined
};

class Gpt final : public CausalLm {
 public:
  /// Allocates the parameters without drawing them (see nn/init.h).
  /// @throws ConfigError if vocab_size is 0 or widths do not fit
  explicit Gpt(const GptConfig& config);

  using CausalLm::forward;
  Tensor forward(const Tensor& tokens, const DecodeArgs& args) override;
  std::unique_ptr<DecodeState> start(int64_t batch, int64_t capacity) const override;
  std::shared_ptr<CausalLm> replica() const override;
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_length() const override { return config_.max_length; }
  const GptConfig& config() const { return config_; }

  Embedding token_embedding{nullptr};  ///< (V, D)
  Position position{nullptr};
  torch::nn::ModuleList blocks;  ///< L times BlockImpl
  Norm final_norm{nullptr};      ///< null with post-norm, whose last block ends in one
  Linear output{nullptr};        ///< D to V, null with tied embeddings

 private:
  GptConfig config_;
};

}  // namespace zoo
