#include "decoding/translate.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/token_rows.h"
#include "decoding/search.h"

namespace zoo {

namespace {

using Ids = std::vector<int64_t>;

/// Rows of equal length that an encoder–decoder continues.
class TargetContext final : public DecodeContext {
 public:
  TargetContext(Seq2Seq& model, const Encoded& encoded, std::vector<Ids> rows, int64_t capacity,
                int64_t vocabulary)
      : DecodeContext(std::move(rows)),
        model_(model),
        state_(model.start(encoded, capacity)),
        options_(encoded.lengths.options()),
        vocabulary_(vocabulary) {}

  Tensor next_logits() override {
    Tensor logits;  // (B, V)
    for (; read_ < rows().front().size(); ++read_) {
      Ids column;
      for (const Ids& row : rows()) column.push_back(row[read_]);
      logits = model_.step(torch::tensor(column, options_), *state_);
    }
    return logits.narrow(1, 0, vocabulary_);
  }

 private:
  void reorder(const std::vector<int64_t>& rows) override {
    state_->reorder(torch::tensor(rows, options_));
  }

  Seq2Seq& model_;
  std::unique_ptr<DecodeState> state_;
  torch::TensorOptions options_;  // of ids
  int64_t vocabulary_;
  size_t read_ = 0;  // tokens of each row
};

void check_ids(const Ids& ids, int64_t vocab_size, const std::string& what) {
  for (const int64_t id : ids)
    if (id < 0 || id >= vocab_size)
      throw ConfigError(cat("translate: ", what, " holds the id ", id,
                            ", outside the model's vocabulary; allowed: 0 to ", vocab_size - 1,
                            "; use the model's own tokenizers"));
}

void check_sources(const Seq2Seq& model, const std::vector<Ids>& sources,
                   const TranslateArgs& args) {
  if (!args.prefixes.empty() && args.prefixes.size() != sources.size())
    throw ConfigError(cat("translate: ", sources.size(), " sources and ", args.prefixes.size(),
                          " prefixes; give one for each source, which may be empty, or none"));
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].empty())
      throw ConfigError(cat("translate: source ", i, " has no token; leave it out"));
    if (std::ssize(sources[i]) > model.max_source_length())
      throw ConfigError(cat("translate: source ", i, " has ", sources[i].size(),
                            " tokens; the model reads at most ", model.max_source_length(),
                            " (max_source_length): split it"));
    check_ids(sources[i], model.source_vocab_size(), cat("source ", i));
  }
  for (size_t i = 0; i < args.prefixes.size(); ++i)
    check_ids(args.prefixes[i], model.vocab_size(), cat("prefix ", i));
}

class Translation {
 public:
  Translation(Seq2Seq& model, const std::vector<Ids>& sources, const GenerationOptions& options,
              const TranslateArgs& args)
      : model_(model),
        sources_(sources),
        options_(options),
        args_(args),
        device_(device_of(model)),
        vocabulary_(known_vocabulary(model.vocab_size(), args.search.tokenizer)),
        begin_(args.begin ? *args.begin : begin_token(tokenizer())) {}

  std::vector<std::vector<Generation>> run() {
    std::vector<std::vector<Generation>> outputs(sources_.size());
    for (const std::vector<size_t>& batch : batches()) translate_batch(batch, outputs);
    return outputs;
  }

 private:
  const Tokenizer& tokenizer() const {
    if (args_.search.tokenizer == nullptr)
      throw ConfigError("translate: needs a tokenizer, or TranslateArgs::begin");
    return *args_.search.tokenizer;
  }

  const Ids& prefix(size_t source) const {
    static const Ids kNone;
    return args_.prefixes.empty() ? kNone : args_.prefixes[source];
  }

  /// Sources of like length, whose prefixes are equally long.
  std::vector<std::vector<size_t>> batches() const {
    Ids lengths, prefix_lengths;
    for (size_t i = 0; i < sources_.size(); ++i) {
      lengths.push_back(std::ssize(sources_[i]));
      prefix_lengths.push_back(std::ssize(prefix(i)));
    }
    return batches_of_like_length(lengths, args_.batch_tokens, prefix_lengths);
  }

  int64_t limit(size_t source) const {
    const int64_t room = model_.max_length() - std::ssize(prefix(source));
    if (room < 1)
      throw ConfigError(cat("translate: prefix ", source, " has ", prefix(source).size(),
                            " tokens and fills the model's longest target of ", model_.max_length(),
                            "; shorten it"));
    if (options_.max_new_tokens > 0) return std::min(room, options_.max_new_tokens);
    if (args_.max_length_ratio == 0) return room;
    const auto length = static_cast<double>(sources_[source].size());
    return std::min(room, static_cast<int64_t>(std::ceil(args_.max_length_ratio * length)) + 10);
  }

  void translate_batch(const std::vector<size_t>& batch,
                       std::vector<std::vector<Generation>>& outputs) {
    std::vector<std::span<const int64_t>> rows;
    std::vector<Ids> prompts;
    Ids lengths, limits;
    for (const size_t i : batch) {
      rows.emplace_back(sources_[i]);
      lengths.push_back(std::ssize(sources_[i]));
      prompts.push_back({begin_});
      prompts.back().insert(prompts.back().end(), prefix(i).begin(), prefix(i).end());
      limits.push_back(limit(i));
    }
    const Encoded encoded =
        model_.encode(pad_rows(rows).to(device_), torch::tensor(lengths).to(device_));
    const int64_t longest = *std::max_element(limits.begin(), limits.end());
    // The last token is only written.
    TargetContext context(model_, encoded, prompts, std::ssize(prompts.front()) + longest - 1,
                          vocabulary_);

    GenerateArgs search_args = args_.search;
    search_args.row_numbers.clear();
    for (const size_t i : batch) search_args.row_numbers.push_back(args_.search.row_number(i));
    auto found = search({context, prompts, limits, vocabulary_, options_, search_args});
    for (size_t i = 0; i < batch.size(); ++i) {
      outputs[batch[i]] = std::move(found[i]);
      if (prefix(batch[i]).empty() || args_.search.tokenizer == nullptr) continue;
      const std::string text = tokenizer().decode(prefix(batch[i]));
      for (Generation& output : outputs[batch[i]]) output.text = text + output.text;
    }
  }

  Seq2Seq& model_;
  const std::vector<Ids>& sources_;
  const GenerationOptions& options_;
  const TranslateArgs& args_;
  torch::Device device_;
  int64_t vocabulary_, begin_;
};

}  // namespace

int64_t begin_token(const Tokenizer& tokenizer) {
  if (const auto start = tokenizer.special_ids().decoder_start()) return *start;
  throw ConfigError(cat("translate: the ", tokenizer.type(),
                        " tokenizer of the target has neither a bos nor an eos token, so that no "
                        "translation could begin or end; use one that has"));
}

std::vector<std::vector<Generation>> translate(Seq2Seq& model, const std::vector<Ids>& sources,
                                               const GenerationOptions& options,
                                               const TranslateArgs& args) {
  check_search(options, args.search);
  check_sources(model, sources, args);
  TranslateArgs resolved = args;
  if (!resolved.search.eos && args.search.tokenizer != nullptr)
    resolved.search.eos = args.search.tokenizer->special_ids().eos;
  const torch::InferenceMode inference;
  const EvaluationMode evaluation(model);
  return Translation(model, sources, options, resolved).run();
}

TranslationAttention translation_attention(Seq2Seq& model, const Ids& source, int64_t begin,
                                           const Ids& target) {
  const torch::InferenceMode inference;
  const EvaluationMode evaluation(model);
  const torch::Device device = device_of(model);
  const Tensor tokens = torch::tensor(source).unsqueeze(0).to(device);    // (1, S)
  const Tensor lengths = torch::tensor({std::ssize(source)}).to(device);  // (1)
  Ids inputs = {begin};
  inputs.insert(inputs.end(), target.begin(), target.end() - 1);
  Tap encoder, decoder, cross;
  for (Tap* tap : {&encoder, &decoder, &cross}) tap->want_attention = true;
  TeachArgs args;
  args.tap = &cross;
  args.self_tap = &decoder;
  model.decode(model.encode(tokens, lengths, &encoder),
               torch::tensor(inputs).unsqueeze(0).to(device), args);
  const auto of_the_row = [](const Tap& tap) {
    std::vector<Tensor> layers;
    for (const Tensor& weights : tap.attention)
      layers.push_back(weights[0].to(torch::kCPU, torch::kFloat32));
    return layers;
  };
  return {of_the_row(encoder), of_the_row(decoder), of_the_row(cross)};
}

Tensor source_attention(Seq2Seq& model, const Ids& source, int64_t begin, const Ids& target) {
  const auto cross = translation_attention(model, source, begin, target).cross;
  return cross.empty() ? Tensor() : cross.back().mean(0);
}

}  // namespace zoo
