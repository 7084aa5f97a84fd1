#include <ATen/Parallel.h>

#include <chrono>

#include "core/error.h"
#include "core/random.h"
#include "decoding/processors.h"
#include "decoding/sampler.h"
#include "decoding/search.h"
#include "decoding/text_output.h"

namespace zoo {

namespace {

using Clock = std::chrono::steady_clock;

/// One output in the making.
struct Row {
  size_t output;
  uint64_t stream;
  int64_t limit;
  TextOutput text;
  Sampler sampler;
  std::vector<float> logits;  // (V), a copy that the steps may change
};

class Drawing {
 public:
  explicit Drawing(const DecodeJob& job)
      : options_(job.options),
        args_(job.args),
        vocabulary_(job.vocabulary),
        processors_(options_, args_.eos, vocabulary_),
        greedy_(Sampler(options_).greedy()),
        context_(job.context),
        outputs_(job.prompts.size() * static_cast<size_t>(args_.num_samples)) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const size_t prompt = i / samples(), sample = i % samples();
      // The first sample of a prompt is the same however many there are.
      const uint64_t stream = uint64_t{sample} << 40 | args_.row_number(prompt);
      rows_.push_back({i,
                       stream,
                       job.limits[prompt],
                       TextOutput(args_.tokenizer, job.prompts[prompt], options_.stop),
                       Sampler(options_),
                       {}});
      prompt_of_.push_back(static_cast<int64_t>(prompt));
    }
  }

  std::vector<std::vector<Generation>> run() {
    for (int64_t step = 0; !rows_.empty(); ++step) {
      Tensor logits = context_.next_logits();  // (B, V)
      if (step == 0 && args_.num_samples > 1) {
        // Each prompt was read once; its samples part from here.
        context_.keep(prompt_of_);
        logits = logits.index_select(0, torch::tensor(prompt_of_).to(logits.device()));
      }
      choose(logits, step);
      context_.append(chosen_);
      keep_unfinished();
    }
    std::vector<std::vector<Generation>> results(outputs_.size() / samples());
    for (size_t i = 0; i < outputs_.size(); ++i)
      results[i / samples()].push_back(std::move(outputs_[i]));
    return results;
  }

 private:
  size_t samples() const { return static_cast<size_t>(args_.num_samples); }

  /// Fills chosen_ and, if scores are wanted, log_probabilities_. @param logits (B, V)
  void choose(const Tensor& logits, int64_t step) {
    const size_t batch = rows_.size();
    chosen_.resize(batch);
    Tensor ids;  // (B) int64, on the model's device
    if (greedy_ && processors_.empty()) {
      Tensor best;
      std::tie(best, ids) = logits.max(1);
      copy_to(chosen_, ids);
      if (!best.isfinite().all().item<bool>())
        throw NumericError(
            "the logits hold NaN or infinity; the weights are broken or the dtype is too "
            "narrow: check the checkpoint, or use float32");
    } else {
      const Tensor host = logits.to(torch::kCPU, torch::kFloat32).contiguous();
      const float* data = host.data_ptr<float>();
      at::parallel_for(0, static_cast<int64_t>(batch), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          chosen_[static_cast<size_t>(i)] = choose_row(i, data + i * vocabulary_, step);
      });
    }
    if (args_.scores == Scores::none) return;
    if (!ids.defined()) ids = torch::tensor(chosen_).to(logits.device());
    const Tensor precise = logits.to(torch::kFloat32);
    log_probabilities_.resize(batch);
    copy_to(log_probabilities_,
            (precise.gather(1, ids.unsqueeze(1)).squeeze(1) - precise.logsumexp(1))
                .to(torch::kFloat64));
  }

  int64_t choose_row(int64_t index, const float* logits, int64_t step) {
    Row& row = rows_[static_cast<size_t>(index)];
    row.logits.assign(logits, logits + vocabulary_);
    const RowHistory history{context_.row(index), step};
    processors_.adjust(row.logits, history);
    processors_.forbid(row.logits, history);
    return row.sampler.choose(
        row.logits,
        RandomStream(args_.seed, row.stream, static_cast<uint64_t>(step)).next_uniform());
  }

  template <class T>
  static void copy_to(std::vector<T>& values, const Tensor& tensor) {
    const Tensor host = tensor.to(torch::kCPU).contiguous();
    std::copy_n(host.data_ptr<T>(), values.size(), values.begin());
  }

  /// Books the chosen tokens and drops the rows that end with them.
  void keep_unfinished() {
    std::vector<int64_t> alive;
    for (size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      Generation& output = outputs_[row.output];
      output.tokens.push_back(chosen_[i]);
      if (args_.scores != Scores::none) output.log_probability += log_probabilities_[i];
      if (args_.scores == Scores::token)
        output.token_log_probabilities.push_back(log_probabilities_[i]);
      show(row, row.text.push(chosen_[i]));
      if (!is_finished(row, output, chosen_[i])) {
        alive.push_back(static_cast<int64_t>(i));
        continue;
      }
      show(row, row.text.finish());
      output.score = output.log_probability;
      output.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    }
    if (alive.size() == rows_.size()) return;
    std::vector<Row> rows;
    for (const int64_t i : alive) rows.push_back(std::move(rows_[static_cast<size_t>(i)]));
    rows_ = std::move(rows);
    context_.keep(alive);
  }

  bool is_finished(const Row& row, Generation& output, int64_t token) const {
    if (token == args_.eos && !options_.ignore_eos) {
      output.finish_reason = FinishReason::eos;
    } else if (row.text.stopped()) {
      output.finish_reason = FinishReason::stop;
    } else if (std::ssize(output.tokens) == row.limit) {
      output.finish_reason = FinishReason::length;
    } else {
      return false;
    }
    return true;
  }

  void show(const Row& row, const std::string& piece) {
    if (piece.empty()) return;
    outputs_[row.output].text += piece;
    if (args_.on_text) args_.on_text(row.output, piece);
  }

  const GenerationOptions& options_;
  const GenerateArgs& args_;
  int64_t vocabulary_;
  LogitsProcessors processors_;
  bool greedy_;
  DecodeContext& context_;
  std::vector<Row> rows_;
  std::vector<int64_t> prompt_of_;  // of each output
  std::vector<int64_t> chosen_;
  std::vector<double> log_probabilities_;
  std::vector<Generation> outputs_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::vector<std::vector<Generation>> draw(const DecodeJob& job) { return Drawing(job).run(); }

}  // namespace zoo
