#include "evaluation/perplexity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"

namespace zoo {

namespace {

constexpr int64_t kLargestLogits = int64_t{1} << 26;  // numbers in a forward pass
constexpr int64_t kLargestBatch = 16384;              // tokens in a forward pass
constexpr uint64_t kEstimateStream = uint64_t{9} << 56;

int64_t resolve_context(const CausalLm& model, int64_t context) {
  const int64_t longest = model.max_length();
  if (context < 0 || context > longest)
    throw ConfigError(cat("context: ", context,
                          " tokens are refused; allowed: 1 to the model's max_length ", longest,
                          ", or 0 for that length"));
  return context == 0 ? longest : context;
}

/// Several windows of the same length: T inputs and the T tokens that follow them.
struct Windows {
  Tensor inputs, targets;  ///< (B, T) int64 on the model's device
};

/// Position 0 of the windows is bos, if there is one, and the text follows it.
Windows gather(const TokenSource& text, const std::optional<int64_t>& bos,
               const std::vector<int64_t>& starts, int64_t length, torch::Device device) {
  const auto rows = static_cast<int64_t>(starts.size());
  const Tensor tokens = torch::empty({rows, length + 1}, torch::kInt64);
  auto* row = tokens.mutable_data_ptr<int64_t>();
  for (const int64_t start : starts) {
    const bool with_bos = bos && start == 0;
    if (with_bos) row[0] = *bos;
    const int64_t shift = with_bos ? 1 : 0;
    text.read(start + shift - (bos ? 1 : 0),
              {row + shift, static_cast<size_t>(length + 1 - shift)});
    row += length + 1;
  }
  return {tokens.narrow(1, 0, length).contiguous().to(device),
          tokens.narrow(1, 1, length).contiguous().to(device)};
}

void require_number(double nats) {
  if (!std::isfinite(nats))
    throw NumericError(cat("the loss is ", nats,
                           "; the model's weights or --dtype give values that are no numbers"));
}

/// -ln p of each target. @param logits (B, T, V)  @param targets (B, T)  @return (B, T) float32
Tensor losses(const Tensor& logits, const Tensor& targets) {
  const Tensor wide = logits.to(torch::kFloat32);
  return at::cross_entropy_loss(wide.flatten(0, 1), targets.flatten(), {}, at::Reduction::None)
      .view_as(targets);
}

}  // namespace

PerplexityScore measure_perplexity(CausalLm& model, const TokenSource& text,
                                   const PerplexityOptions& options) {
  const int64_t context = resolve_context(model, options.context);
  const int64_t stride = options.stride == 0 ? context : options.stride;
  if (stride < 1 || stride > context)
    throw ConfigError(cat("stride: ", stride, " tokens are refused; allowed: 1 to the context of ",
                          context, ", or 0 for the context"));
  // With bos, position 0 is bos and the text starts at 1.
  const int64_t size = text.size + (options.bos ? 1 : 0);
  if (size < 2)
    throw DataError(cat("the text has ", text.size, " tokens, so there is nothing to predict; ",
                        "give a longer one, or put a token before it (--bos)"));
  const torch::NoGradGuard no_grad;
  const torch::Device device = device_of(model);
  int64_t rows = options.batch_size;
  if (rows == 0)
    rows = std::clamp<int64_t>(
        std::min(kLargestLogits / model.vocab_size(), kLargestBatch) / context, 1, 256);

  PerplexityScore score;
  // Targets are 1 .. size - 1; those up to `done` are counted.
  int64_t start = 0, done = 0;
  while (done < size - 1) {
    const int64_t length = std::min(context, size - 1 - start);
    const int64_t fresh = start + length - done;  // the last ones of this window
    std::vector<int64_t> starts{start};
    // Windows like this one go along: full, with the same number of new targets.
    while (static_cast<int64_t>(starts.size()) < rows && length == context &&
           (stride == context || start > 0) && starts.back() + stride + context <= size - 1)
      starts.push_back(starts.back() + stride);
    const Windows windows = gather(text, options.bos, starts, length, device);
    const Tensor logits =
        model.forward(windows.inputs).narrow(1, length - fresh, fresh);       // (B, fresh, V)
    const Tensor targets = windows.targets.narrow(1, length - fresh, fresh);  // (B, fresh)
    score.nats += losses(logits, targets).sum(torch::kFloat64).item<double>();
    score.right += logits.argmax(-1).eq(targets).sum().item<int64_t>();
    score.tokens += fresh * static_cast<int64_t>(starts.size());
    done = starts.back() + length;
    start = starts.back() + stride;
    require_number(score.nats);
    if (options.progress) options.progress(done, size - 1);
  }
  return score;
}

double estimate_loss(CausalLm& model, const TokenSource& text, const LossEstimateOptions& options) {
  if (text.size < 2)
    throw DataError(cat("the text has ", text.size,
                        " tokens, so there is nothing to predict; give a longer one"));
  const int64_t context = std::min(resolve_context(model, options.context), text.size - 1);
  const torch::NoGradGuard no_grad;
  const torch::Device device = device_of(model);
  RandomStream random(options.seed, kEstimateStream);
  double sum = 0;
  for (int64_t batch = 0; batch < options.batches; ++batch) {
    std::vector<int64_t> starts;
    for (int64_t row = 0; row < options.batch_size; ++row)
      starts.push_back(
          static_cast<int64_t>(random.next_below(static_cast<uint64_t>(text.size - context))));
    const Windows windows = gather(text, std::nullopt, starts, context, device);
    sum +=
        losses(model.forward(windows.inputs), windows.targets).mean(torch::kFloat64).item<double>();
  }
  require_number(sum);
  return sum / static_cast<double>(options.batches);
}

}  // namespace zoo
