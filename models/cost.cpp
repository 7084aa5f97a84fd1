#include "models/cost.h"

namespace zoo {

namespace {

struct Sizes {
  int64_t d_model, heads, kv_heads, head_dim, d_ff;
  bool gated;
};

Sizes sizes_of(const GptConfig& config) {
  const AttentionConfig& attention = config.block.attention;
  const int64_t d_ff = std::visit([&](const auto& f) { return f.inner_width(config.d_model); },
                                  config.block.feed_forward);
  return {config.d_model,
          attention.num_heads,
          attention.kv_heads(),
          config.d_model / attention.num_heads,
          d_ff,
          std::holds_alternative<GatedFeedForwardConfig>(config.block.feed_forward)};
}

/// Collects parameters as the modules register them.
class Collector {
 public:
  void add(const char* part, const std::string& name, const std::string& letters,
           std::vector<int64_t> shape) {
    found_.push_back({part, prefix_ + name, letters, std::move(shape), copies_});
  }
  void norm(const NormConfig& config, const std::string& name, const std::string& letter,
            int64_t size) {
    add("norm", name + ".weight", "(" + letter + ")", {size});
    const auto* layer = std::get_if<LayerNormConfig>(&config);
    if (layer != nullptr && layer->bias) add("norm", name + ".bias", "(" + letter + ")", {size});
  }
  void linear(const char* part, const std::string& name, const std::string& out,
              const std::string& in, int64_t out_size, int64_t in_size, bool bias) {
    add(part, name + ".weight", "(" + out + ", " + in + ")", {out_size, in_size});
    if (bias) add(part, name + ".bias", "(" + out + ")", {out_size});
  }
  void enter(const std::string& prefix, int64_t copies) {
    prefix_ = prefix;
    copies_ = copies;
  }
  std::vector<ParameterCost> take() { return std::move(found_); }

 private:
  std::string prefix_;
  int64_t copies_ = 1;
  std::vector<ParameterCost> found_;
};

std::vector<ParameterCost> costs(const GptConfig& config) {
  const Sizes s = sizes_of(config);
  const BlockConfig& block = config.block;
  Collector parameters;
  parameters.add("embedding", "token_embedding.weight", "(V, D)", {config.vocab_size, s.d_model});
  if (std::holds_alternative<LearnedPositionConfig>(config.position))
    parameters.add("position", "position.weight", "(N, D)", {config.max_length, s.d_model});

  parameters.enter("blocks.*.", config.num_layers);
  parameters.norm(block.norm, "norm1", "D", s.d_model);
  parameters.linear("attention", "attention.qkv", "(H + 2G) E", "D",
                    (s.heads + 2 * s.kv_heads) * s.head_dim, s.d_model, block.attention.bias);
  parameters.linear("attention", "attention.out", "D", "H E", s.d_model, s.heads * s.head_dim,
                    block.attention.bias);
  if (block.attention.qk_norm) {
    parameters.norm(RmsNormConfig{}, "attention.q_norm", "E", s.head_dim);
    parameters.norm(RmsNormConfig{}, "attention.k_norm", "E", s.head_dim);
  }
  parameters.norm(block.norm, "norm2", "D", s.d_model);
  const bool bias = std::visit([](const auto& f) { return f.bias; }, block.feed_forward);
  if (s.gated)
    parameters.linear("feed_forward", "feed_forward.gate_up", "2F", "D", 2 * s.d_ff, s.d_model,
                      bias);
  else
    parameters.linear("feed_forward", "feed_forward.up", "F", "D", s.d_ff, s.d_model, bias);
  parameters.linear("feed_forward", "feed_forward.down", "D", "F", s.d_model, s.d_ff, bias);

  parameters.enter("", 1);
  if (block.placement == NormPlacement::pre)
    parameters.norm(block.norm, "final_norm", "D", s.d_model);
  if (!config.tie_embeddings)
    parameters.linear("output", "output", "V", "D", config.vocab_size, s.d_model, false);
  return parameters.take();
}

double flops(const GptConfig& config, int64_t keys) {
  const Sizes s = sizes_of(config);
  const double attention_width = static_cast<double>(s.heads * s.head_dim);
  const double projections =
      static_cast<double>(s.d_model) *
      static_cast<double>((s.heads + 2 * s.kv_heads) * s.head_dim + s.heads * s.head_dim);
  const double feed_forward =
      static_cast<double>(s.d_model) * static_cast<double>(s.d_ff) * (s.gated ? 3 : 2);
  const double scores_and_values = 2 * static_cast<double>(keys) * attention_width;
  const double output = static_cast<double>(s.d_model) * static_cast<double>(config.vocab_size);
  return 2 * (static_cast<double>(config.num_layers) *
                  (projections + feed_forward + scores_and_values) +
              output);
}

/// Numbers that autograd keeps of one token in one block.
double kept_in_block(const GptConfig& config, int64_t tokens) {
  const Sizes s = sizes_of(config);
  const auto d_model = static_cast<double>(s.d_model);
  const auto d_ff = static_cast<double>(s.d_ff);
  const auto queries = static_cast<double>(s.heads * s.head_dim);
  const auto keys = static_cast<double>(s.kv_heads * s.head_dim);
  double kept = 4 * d_model;              // inputs and outputs of both norms
  kept += queries + 2 * keys;             // q, k, v
  kept += 2 * queries;                    // attended values, before and after the heads are joined
  kept += s.gated ? 4 * d_ff : 2 * d_ff;  // products and activations
  if (config.block.attention.qk_norm) kept += queries + keys;
  if (std::holds_alternative<RopePositionConfig>(config.position)) kept += queries + keys;
  if (config.dropout.residual > 0) kept += 2 * d_model;
  // With attention dropout the weights themselves are kept: scores, softmax, dropped.
  if (config.dropout.attention > 0)
    kept += 3 * static_cast<double>(s.heads) * static_cast<double>(tokens);
  return kept;
}

double activations(const GptConfig& config, const TrainingShape& shape) {
  const double tokens = static_cast<double>(shape.batch) * static_cast<double>(shape.tokens);
  const double bytes = shape.half_precision ? 2 : 4;
  const double blocks =
      static_cast<double>(config.num_layers) * kept_in_block(config, shape.tokens);
  const double ends = 3 * static_cast<double>(config.d_model);
  const double logits = static_cast<double>(config.vocab_size);
  // Logits, their log-softmax and their gradient; the last two are float32 in any case.
  return tokens * (bytes * (blocks + ends + logits) + 8 * logits);
}

}  // namespace

int64_t ParameterCost::count() const {
  int64_t product = copies;
  for (const int64_t size : shape) product *= size;
  return product;
}

std::vector<ParameterCost> parameter_costs(const ModelConfig& config) {
  return std::visit([](const auto& model) { return costs(model); }, config);
}

int64_t parameter_count(const ModelConfig& config) {
  int64_t total = 0;
  for (const ParameterCost& parameter : parameter_costs(config)) total += parameter.count();
  return total;
}

double forward_flops(const ModelConfig& config, int64_t keys) {
  return std::visit([&](const auto& model) { return flops(model, keys); }, config);
}

TrainingMemory training_memory(const ModelConfig& config, const TrainingShape& shape) {
  const double parameters = static_cast<double>(parameter_count(config));
  TrainingMemory memory;
  memory.weights = memory.gradients = 4 * parameters;
  memory.optimizer = 4 * parameters * static_cast<double>(shape.optimizer_states);
  memory.activations =
      std::visit([&](const auto& model) { return activations(model, shape); }, config);
  return memory;
}

double kv_cache_bytes(const ModelConfig& config, int64_t batch, int64_t tokens,
                      int64_t bytes_per_number) {
  return std::visit(
      [&](const auto& model) {
        const Sizes s = sizes_of(model);
        return 2.0 * static_cast<double>(model.num_layers * s.kv_heads * s.head_dim) *
               static_cast<double>(batch) * static_cast<double>(tokens) *
               static_cast<double>(bytes_per_number);
      },
      config);
}

}  // namespace zoo
