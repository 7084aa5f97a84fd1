#include "analysis/measured_cost.h"

#include "analysis/flop_counter.h"
#include "analysis/memory_meter.h"
#include "analysis/random_batch.h"
#include "core/system.h"
#include "core/text.h"
#include "models/cost.h"
#include "training/optimizer.h"

namespace zoo {

namespace {

double real(int64_t number) { return static_cast<double>(number); }

void require_memory(double needed) {
  const int64_t free = free_memory_bytes();
  if (free > 0 && needed > real(free))
    throw ConfigError(cat("cost: measuring takes about ", human_bytes(needed), ", but ",
                          human_bytes(real(free)),
                          " are free; give fewer tokens, a smaller batch or a smaller model"));
}

/// Bytes of what a decoder keeps of a batch's tokens; 0 for models that write nothing.
int64_t cache_bytes(torch::nn::Module& model, int64_t batch, int64_t tokens) {
  const torch::NoGradGuard no_grad;
  const Tensor source = torch::zeros({batch, tokens}, torch::kInt64);
  const Tensor lengths = torch::full({batch}, tokens, torch::kInt64);
  const MemoryMeter meter(torch::kCPU);
  if (auto* writer = dynamic_cast<CausalLm*>(&model)) {
    const auto state = writer->start(batch, tokens);
    return meter.live();
  }
  if (auto* translator = dynamic_cast<Seq2Seq*>(&model)) {
    // What the encoder found is freed here, unless the state refers to it.
    const auto state = translator->start(translator->encode(source, lengths), tokens);
    return meter.live();
  }
  return 0;
}

}  // namespace

std::vector<MeasuredCost> measure_cost(const ModelConfig& config, int64_t batch, int64_t tokens) {
  if (std::holds_alternative<VitConfig>(config)) tokens = longest_context(config);
  const double parameters = real(parameter_count(config)), read = real(batch * tokens);
  const TrainingMemory memory = training_memory(config, {.batch = batch, .tokens = tokens});
  require_memory(memory.total());
  std::vector<MeasuredCost> found;

  std::shared_ptr<torch::nn::Module> model;
  {
    const MemoryMeter meter(torch::kCPU);
    model = make_model(config);
    found.push_back({"parameters", "", parameters, real(count_parameters(*model))});
    found.push_back({"weights", "bytes", memory.weights, real(meter.live())});
  }
  const RandomBatch random(*model, config, batch, tokens);
  // Counted first, which also fills what modules and kernels prepare once.
  const double flops = count_flops([&] { random.loss(); });
  found.push_back({"forward pass", "FLOPs", read * forward_flops(config, tokens), flops});
  {
    const MemoryMeter meter(torch::kCPU);
    Tensor loss = random.loss();
    found.push_back({"kept for the backward pass", "bytes", memory.kept, real(meter.live())});
    loss.backward();
    loss.reset();
    found.push_back({"gradients", "bytes", memory.gradients, real(meter.live())});
    found.push_back({"most in a step, weights left out", "bytes",
                     memory.activations + memory.gradients, real(meter.peak())});
  }
  {
    const MemoryMeter meter(torch::kCPU);
    Optimizer optimizer(AdamWConfig{}, *model);
    optimizer.step(1e-4);
    found.push_back({"optimizer's state", "bytes", memory.optimizer, real(meter.live())});
  }
  model->eval();
  // A recurrent decoder's state also holds its weights as the steps read them.
  if (!kv_cache_forms(config, batch, tokens, 4).empty())
    found.push_back({"KV cache", "bytes", kv_cache_bytes(config, batch, tokens, 4),
                     real(cache_bytes(*model, batch, tokens))});
  return found;
}

}  // namespace zoo
