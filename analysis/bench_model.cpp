#include "analysis/bench_model.h"

#include <algorithm>

#include "analysis/median.h"
#include "analysis/memory_meter.h"
#include "analysis/random_batch.h"
#include "analysis/timing.h"
#include "analysis/with_threads.h"
#include "core/stopwatch.h"
#include "decoding/context.h"
#include "models/cost.h"
#include "nn/linear.h"
#include "training/optimizer.h"

namespace zoo {

namespace {

double real(int64_t number) { return static_cast<double>(number); }

double bytes_of(const torch::nn::Module& model) {
  return real(count_parameters(model)) * real(torch::elementSize(dtype_of(model)));
}

/// Seconds of one run.
struct Written {
  double first = 0, all = 0;
};

/// Greedy decoding; reading a result waits for the device.
class Writer {
 public:
  Writer(torch::nn::Module& model, const ModelBenchOptions& options)
      : options_(options),
        causal_(dynamic_cast<CausalLm*>(&model)),
        translator_(dynamic_cast<Seq2Seq*>(&model)) {
    const int64_t vocab_size =
        causal_ != nullptr ? causal_->vocab_size() : translator_->source_vocab_size();
    prompts_ = torch::randint(vocab_size, {options.batch, options.prompt_tokens},
                              torch::dtype(torch::kInt64).device(device_of(model)));
    lengths_ = torch::full({options.batch}, options.prompt_tokens, prompts_.options());
  }

  Written run() const {
    const torch::InferenceMode inference;
    return causal_ != nullptr ? write(*causal_) : write(*translator_);
  }

 private:
  Written write(CausalLm& model) const {
    std::vector<std::vector<int64_t>> rows;
    for (const Tensor& row : prompts_.cpu().unbind()) {
      const auto* ids = row.const_data_ptr<int64_t>();
      rows.emplace_back(ids, ids + row.numel());
    }
    const Stopwatch watch;
    CausalContext context(model, std::move(rows),
                          {.longest = options_.prompt_tokens + options_.new_tokens,
                           .vocabulary = model.vocab_size()});
    Written written;
    for (int64_t i = 0; i < options_.new_tokens; ++i) {
      const Tensor chosen = context.next_logits().argmax(-1).cpu();  // (B)
      if (i == 0) written.first = watch.seconds();
      if (i + 1 < options_.new_tokens)
        context.append({chosen.const_data_ptr<int64_t>(), static_cast<size_t>(options_.batch)});
    }
    written.all = watch.seconds();
    return written;
  }

  Written write(Seq2Seq& model) const {
    const Stopwatch watch;
    const auto state = model.start(model.encode(prompts_, lengths_), options_.new_tokens);
    Tensor tokens = torch::zeros({options_.batch}, prompts_.options());
    Written written;
    for (int64_t i = 0; i < options_.new_tokens; ++i) {
      tokens = model.step(tokens, *state).argmax(-1);
      if (i == 0) {
        tokens.cpu();
        written.first = watch.seconds();
      }
    }
    tokens.cpu();
    written.all = watch.seconds();
    return written;
  }

  const ModelBenchOptions& options_;
  CausalLm* causal_;
  Seq2Seq* translator_;
  Tensor prompts_, lengths_;  // (B, T), (B) int64
};

/// The sum over all contexts on the way; an encoder-decoder's is not known in closed form.
std::optional<double> written_flops(const ModelConfig& config, const ModelBenchOptions& options) {
  const auto* gpt = std::get_if<GptConfig>(&config);
  if (gpt == nullptr) return std::nullopt;
  // The last token is chosen but not read.
  const int64_t read = options.prompt_tokens + options.new_tokens - 1;
  const double unread_logits =
      real(options.prompt_tokens - 1) * forward_flops_by_part(config, 1).output;
  return real(options.batch) * (generation_flops(*gpt, read).with_cache - unread_logits);
}

ModelBenchRow write(torch::nn::Module& model, const ModelConfig& config,
                    const ModelBenchOptions& options) {
  const EvaluationMode evaluation(model);
  const Writer writer(model, options);
  ModelBenchRow row{.work = "write"};
  {
    const MemoryMeter meter(device_of(model));
    writer.run();
    row.peak_bytes = bytes_of(model) + real(meter.peak());
  }
  std::vector<double> first, all, behind_first;
  for (int64_t i = 0; i < options.repeat; ++i) {
    const Written written = writer.run();
    first.push_back(written.first);
    all.push_back(written.all);
    behind_first.push_back(written.all - written.first);
  }
  row.seconds = median(all);
  row.first_token = median(first);
  row.tokens_per_second = options.new_tokens == 1 ? real(options.batch) / row.seconds
                                                  : real(options.batch * (options.new_tokens - 1)) /
                                                        median(behind_first);
  if (const auto flops = written_flops(config, options))
    row.flops_per_second = *flops / row.seconds;
  return row;
}

/// What reads or learns whole batches, `step` of `tokens` tokens and `flops` FLOPs.
ModelBenchRow repeat_step(torch::nn::Module& model, const std::function<void()>& step,
                          int64_t tokens, double flops, int64_t repeat) {
  ModelBenchRow row;
  row.seconds = time_calls({step}, repeat, device_of(model)).front().median;
  {
    const MemoryMeter meter(device_of(model));
    step();
    row.peak_bytes = bytes_of(model) + real(meter.peak());
  }
  row.tokens_per_second = real(tokens) / row.seconds;
  row.flops_per_second = flops / row.seconds;
  return row;
}

ModelBenchRow read(torch::nn::Module& model, const ModelConfig& config,
                   const ModelBenchOptions& options) {
  const EvaluationMode evaluation(model);
  const RandomBatch batch(model, config, options.batch, options.prompt_tokens);
  const int64_t length = batch.tokens() / options.batch;
  ModelBenchRow row = repeat_step(
      model,
      [&] {
        const torch::InferenceMode inference;
        batch.loss();
      },
      batch.tokens(), real(batch.tokens()) * forward_flops(config, length), options.repeat);
  row.work = "read";
  return row;
}

ModelBenchRow train(torch::nn::Module& model, const ModelConfig& config,
                    const ModelBenchOptions& options) {
  const bool was_training = model.is_training();
  model.train();
  const RandomBatch batch(model, config, options.batch, options.prompt_tokens);
  const int64_t length = batch.tokens() / options.batch;
  Optimizer optimizer(AdamWConfig{}, model);
  ModelBenchRow row = repeat_step(
      model,
      [&] {
        batch.loss().backward();
        optimizer.step(/*learning_rate=*/0);
        optimizer.zero_grad();
      },
      batch.tokens(), real(batch.tokens()) * training_flops(config, length), options.repeat);
  double state = 0;
  for (const auto& [name, tensor] : optimizer.state()) state += real(tensor.nbytes());
  row.peak_bytes += state;
  row.work = "train";
  model.train(was_training);
  return row;
}

void require_room(const torch::nn::Module& model, const ModelBenchOptions& options) {
  const auto require = [](const char* flag, int64_t wanted, int64_t longest) {
    if (wanted > longest)
      throw ConfigError(
          cat(flag, ": ", wanted, " tokens do not fit into the model; allowed: 1 to ", longest));
  };
  if (const auto* writer = dynamic_cast<const CausalLm*>(&model)) {
    require("--prompt-tokens plus --new-tokens", options.prompt_tokens + options.new_tokens,
            writer->max_length());
  } else if (const auto* translator = dynamic_cast<const Seq2Seq*>(&model)) {
    require("--prompt-tokens", options.prompt_tokens, translator->max_source_length());
    require("--new-tokens", options.new_tokens, translator->max_length());
    if (options.train) require("--prompt-tokens", options.prompt_tokens, translator->max_length());
  } else if (const auto* encoder = dynamic_cast<const TextEncoder*>(&model)) {
    require("--prompt-tokens", options.prompt_tokens, encoder->max_length());
  }
}

}  // namespace

double best_flops_per_second(const torch::nn::Module& model) {
  constexpr int64_t kRows = 2048, kWidth = 1024, kTimings = 5;
  const torch::InferenceMode inference;
  const auto options = torch::dtype(dtype_of(model)).device(device_of(model));
  const Tensor x = torch::randn({kRows, kWidth}, options),
               w = torch::randn({kWidth, kWidth}, options);
  const Timing timing =
      time_calls({[&] { project(x, w, {}); }}, kTimings, device_of(model)).front();
  return 2 * real(kRows * kWidth * kWidth) / timing.fastest;
}

std::vector<ModelBenchRow> bench_model(torch::nn::Module& model, const ModelConfig& config,
                                       const ModelBenchOptions& options) {
  require_room(model, options);
  const bool writes =
      dynamic_cast<CausalLm*>(&model) != nullptr || dynamic_cast<Seq2Seq*>(&model) != nullptr;
  std::vector<ModelBenchRow> rows;
  std::vector<int> threads = options.threads;
  if (threads.empty()) threads.push_back(at::get_num_threads());
  for (const int count : threads) {
    const WithThreads with_threads(count);
    const double best = best_flops_per_second(model);
    const size_t before = rows.size();
    rows.push_back(writes ? write(model, config, options) : read(model, config, options));
    if (options.train) rows.push_back(train(model, config, options));
    for (size_t i = before; i < rows.size(); ++i) {
      rows[i].threads = count;
      rows[i].best_flops_per_second = best;
    }
  }
  return rows;
}

}  // namespace zoo
