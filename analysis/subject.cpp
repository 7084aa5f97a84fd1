#include "analysis/subject.h"

#include <algorithm>
#include <array>

#include "core/random.h"
#include "decoding/context.h"
#include "decoding/generate.h"
#include "decoding/translate.h"

namespace zoo {

namespace {

using Ids = std::vector<int64_t>;

constexpr int64_t kSamples = 5;
constexpr int64_t kLongest =
    24;  ///< tokens of a sample: enough to show slips, few enough to be fast
/// How the rows of a state are moved: widened, as by beam search, and one left out.
constexpr std::array<int64_t, 7> kOrder = {2, 0, 0, 4, 1, 2, 0};

/// Streams of random numbers, told apart.
enum Stream : uint64_t { kRows, kSources, kTails, kPixels };

/// The tokens behind the reordering of a state.
int64_t tail_of(int64_t longest) { return longest / 4; }

/// The lengths of the samples: all `longest`, or from that down to a third, but more than a tail.
Ids sample_lengths(Lengths lengths, int64_t longest) {
  Ids found(kSamples, longest);
  if (lengths == Lengths::mixed)
    found = {longest, longest * 2 / 3, longest / 3, longest / 2, longest};
  for (int64_t& length : found) length = std::max(length, tail_of(longest) + 1);
  return found;
}

Ids random_ids(RandomStream& stream, int64_t length, int64_t vocab_size) {
  Ids ids;
  for (int64_t i = 0; i < length; ++i)
    ids.push_back(static_cast<int64_t>(stream.next_below(static_cast<uint64_t>(vocab_size))));
  return ids;
}

std::vector<Ids> random_rows(RandomStream stream, const Ids& lengths, int64_t vocab_size) {
  std::vector<Ids> rows;
  for (const int64_t length : lengths) rows.push_back(random_ids(stream, length, vocab_size));
  return rows;
}

Ids lengths_of(const std::vector<Ids>& rows) {
  Ids lengths;
  for (const Ids& row : rows) lengths.push_back(std::ssize(row));
  return lengths;
}

int64_t longest_of(const std::vector<Ids>& rows) {
  const Ids lengths = lengths_of(rows);
  return *std::max_element(lengths.begin(), lengths.end());
}

Ids joined(std::span<const int64_t> beginning, const Ids& end) {
  Ids row(beginning.begin(), beginning.end());
  row.insert(row.end(), end.begin(), end.end());
  return row;
}

enum class Side { left, right };

/// Where rows stand in a batch, and what fills the rest of it.
struct Padding {
  Side side;
  uint64_t seed;
  int64_t vocab_size;  ///< ids of the filling are below it
};

/// (B, T) int64 on the CPU.
Tensor padded(const std::vector<Ids>& rows, const Padding& padding) {
  const int64_t longest = longest_of(rows);
  std::vector<Tensor> all;
  for (size_t i = 0; i < rows.size(); ++i) {
    // Streams of padding start where no other stream is.
    RandomStream stream(padding.seed, (uint64_t{1} << 32) + i);
    const Ids filling = random_ids(stream, longest - std::ssize(rows[i]), padding.vocab_size);
    all.push_back(torch::tensor(padding.side == Side::left ? joined(filling, rows[i])
                                                           : joined(rows[i], filling)));
  }
  return torch::stack(all);
}

Tensor to_host(const Tensor& tensor) { return tensor.to(torch::kCPU, torch::kFloat32); }

/// The real places of each row. @param values (B, T, C)  @return B times (L, C)
Tables real_places(const Tensor& values, const Ids& lengths, Side side) {
  const Tensor host = to_host(values);
  Tables tables;
  for (int64_t i = 0; i < host.size(0); ++i) {
    const int64_t length = lengths[static_cast<size_t>(i)];
    const int64_t start = side == Side::left ? host.size(1) - length : 0;
    tables.push_back(host[i].narrow(0, start, length));
  }
  return tables;
}

/// A place for each text. @param values (B, C)  @return B times (1, C)
Tables texts_of(const Tensor& values) { return to_host(values).split(1); }

/// The two tables of each text, text by text, as reading one after the other gives them.
Tables side_by_side(const Tables& places, const Tables& texts) {
  Tables both;
  for (size_t i = 0; i < places.size(); ++i) {
    both.push_back(places[i]);
    both.push_back(texts[i]);
  }
  return both;
}

/// The last `count` places of each.
Tables last_places(const Tables& tables, int64_t count) {
  Tables last;
  for (const Tensor& table : tables) last.push_back(table.narrow(0, table.size(0) - count, count));
  return last;
}

/// @param prompt what the tokens continue, as decoders of text are told
void add_text(Written& written, const Tokenizer* tokenizer, const Ids& prompt) {
  if (tokenizer == nullptr) return;
  written.has_text = true;
  // The prompt's own text goes before; of a character that it breaks off, nothing is in it yet.
  const auto decoder = tokenizer->stream();
  std::string text;
  for (const int64_t id : prompt) text += decoder->push(id);
  written.streamed = text + written.streamed;
  written.whole = tokenizer->decode(joined(prompt, written.tokens));
}

/// As many tokens as asked for, each the most probable one.
GenerationOptions greedy(int64_t tokens) { return {.max_new_tokens = tokens, .ignore_eos = true}; }

/// What is the same for all contracts, given how a batch of samples is read.
template <class Sample>
class SampledSubject : public Subject {
 public:
  Tables together(Lengths lengths, uint64_t padding) override {
    return read(samples(lengths), padding);
  }
  Tables alone(Lengths lengths) override {
    Tables all;
    for (const Sample& sample : samples(lengths))
      for (Tensor& table : read({sample}, 0)) all.push_back(std::move(table));
    return all;
  }

 protected:
  virtual std::vector<Sample> samples(Lengths lengths) const = 0;
  virtual Tables read(const std::vector<Sample>& samples, uint64_t padding) = 0;
};

// ---- decoder-only models -----------------------------------------------------------------------

class CausalSubject final : public SampledSubject<Ids> {
 public:
  CausalSubject(CausalLm& model, const Tokenizer* tokenizer, uint64_t seed)
      : model_(model),
        tokenizer_(tokenizer),
        seed_(seed),
        device_(device_of(model)),
        vocabulary_(known_vocabulary(model.vocab_size(), tokenizer)),
        longest_(std::min(model.max_length(), kLongest)) {}

  Tables by_state(Lengths lengths, int64_t chunk) override {
    const std::vector<Ids> rows = samples(lengths);
    const Tensor tokens = batch_of(rows, 0);  // (B, T)
    const Tensor left_pad = padding_of(rows);
    const auto state = model_.start(std::ssize(rows), longest_);
    // The padding is read with the first real token of the shortest row.
    const Ids sizes = lengths_of(rows);
    int64_t size = 1 + longest_ - *std::min_element(sizes.begin(), sizes.end());
    std::vector<Tensor> pieces;
    for (int64_t read = 0; read < longest_;
         read += size, size = pieces.size() % 2 == 1 ? chunk : 1) {
      size = std::min(size, longest_ - read);
      pieces.push_back(
          model_.forward(tokens.narrow(1, read, size),
                         {.state = state.get(), .left_pad = read == 0 ? left_pad : Tensor()}));
    }
    return real_places(torch::cat(pieces, 1), sizes, Side::left);
  }

  TwoWays reordered() override {
    const std::vector<Ids> rows = samples(Lengths::mixed);
    const int64_t tail = tail_of(longest_), before = longest_ - tail;
    if (tail == 0) throw NotApplicable{"the model's sequences are too short"};
    const auto state = model_.start(std::ssize(rows), longest_);
    model_.forward(batch_of(rows, 0).narrow(1, 0, before),
                   {.state = state.get(), .left_pad = padding_of(rows)});
    state->reorder(torch::tensor(at::IntArrayRef(kOrder)).to(device_));
    const std::vector<Ids> tails =
        random_rows(RandomStream(seed_, kTails), Ids(kOrder.size(), tail), vocabulary_);
    const Tensor logits = model_.forward(batch_of(tails, 0), {.state = state.get()});

    TwoWays found;
    found.actual = real_places(logits, lengths_of(tails), Side::left);
    for (size_t i = 0; i < kOrder.size(); ++i) {
      const Ids& row = rows[static_cast<size_t>(kOrder[i])];
      const auto kept = std::span(row).first(row.size() - static_cast<size_t>(tail));
      found.expected.push_back(last_places(read({joined(kept, tails[i])}, 0), tail)[0]);
    }
    return found;
  }

  Written write() override {
    if (longest_ < 2) throw NotApplicable{"the model has no room for a new token"};
    Ids row = samples(Lengths::equal)[0];
    row.resize(row.size() / 2);
    const int64_t prompt = std::ssize(row);
    Written written;
    const auto outputs =
        generate(model_, {row}, greedy(longest_ - prompt),
                 {.tokenizer = tokenizer_,
                  .on_text = [&](size_t, std::string_view piece) { written.streamed += piece; }});
    written.tokens = outputs[0][0].tokens;
    add_text(written, tokenizer_, row);
    row.insert(row.end(), written.tokens.begin(), written.tokens.end() - 1);
    written.logits = last_places(read({row}, 0), longest_ - prompt)[0].narrow(1, 0, vocabulary_);
    return written;
  }

 private:
  std::vector<Ids> samples(Lengths lengths) const override {
    return random_rows(RandomStream(seed_, kRows), sample_lengths(lengths, longest_), vocabulary_);
  }

  Tables read(const std::vector<Ids>& rows, uint64_t padding) override {
    const Tensor logits = model_.forward(batch_of(rows, padding), {.left_pad = padding_of(rows)});
    return real_places(logits, lengths_of(rows), Side::left);
  }

  Tensor batch_of(const std::vector<Ids>& rows, uint64_t padding) const {
    return padded(rows, {Side::left, padding, vocabulary_}).to(device_);
  }

  /// (B), undefined if there is no padding.
  Tensor padding_of(const std::vector<Ids>& rows) const {
    const Tensor padding = longest_of(rows) - torch::tensor(lengths_of(rows));
    return padding.any().item<bool>() ? padding.to(device_) : Tensor();
  }

  CausalLm& model_;
  const Tokenizer* tokenizer_;
  uint64_t seed_;
  torch::Device device_;
  int64_t vocabulary_, longest_;
};

// ---- encoder–decoders --------------------------------------------------------------------------

struct Pair {
  Ids source, target;  ///< the target as it is read: behind a begin token, without its end
};

class Seq2SeqSubject final : public SampledSubject<Pair> {
 public:
  Seq2SeqSubject(Seq2Seq& model, const Tokenizer* tokenizer, int64_t begin, uint64_t seed)
      : model_(model),
        tokenizer_(tokenizer),
        begin_(begin),
        seed_(seed),
        device_(device_of(model)),
        vocabulary_(known_vocabulary(model.vocab_size(), tokenizer)),
        longest_(std::min(model.max_length(), kLongest)),
        longest_source_(std::min(model.max_source_length(), kLongest)) {}

  Tables by_state(Lengths lengths, int64_t chunk) override {
    if (chunk > 1) throw NotApplicable{"the decoder reads a token at a time"};
    const std::vector<Pair> pairs = samples(lengths);
    const auto state = model_.start(encoded(pairs, 0), longest_);
    const Tensor logits = steps(batch_of(targets_of(pairs), 0), *state);
    return real_places(logits, lengths_of(targets_of(pairs)), Side::right);
  }

  TwoWays reordered() override {
    const std::vector<Pair> pairs = samples(Lengths::mixed);
    const int64_t tail = tail_of(longest_);  // read before, and behind
    if (tail == 0) throw NotApplicable{"the model's targets are too short"};
    const auto state = model_.start(encoded(pairs, 0), 2 * tail);
    steps(batch_of(targets_of(pairs), 0).narrow(1, 0, tail), *state);
    state->reorder(torch::tensor(at::IntArrayRef(kOrder)).to(device_));
    const std::vector<Ids> tails =
        random_rows(RandomStream(seed_, kTails), Ids(kOrder.size(), tail), vocabulary_);

    TwoWays found;
    found.actual = real_places(steps(batch_of(tails, 0), *state), lengths_of(tails), Side::right);
    for (size_t i = 0; i < kOrder.size(); ++i) {
      const Pair& pair = pairs[static_cast<size_t>(kOrder[i])];
      const auto kept = std::span(pair.target).first(static_cast<size_t>(tail));
      found.expected.push_back(
          last_places(read({{pair.source, joined(kept, tails[i])}}, 0), tail)[0]);
    }
    return found;
  }

  Written write() override {
    const Ids source = samples(Lengths::equal)[0].source;
    Written written;
    TranslateArgs args;
    args.search.tokenizer = tokenizer_;
    args.search.on_text = [&](size_t, std::string_view piece) { written.streamed += piece; };
    args.begin = begin_;
    written.tokens = translate(model_, {source}, greedy(longest_), args)[0][0].tokens;
    add_text(written, tokenizer_, {begin_});
    Ids target = joined(Ids{begin_}, written.tokens);
    target.pop_back();
    written.logits = read({{source, target}}, 0)[0].narrow(1, 0, vocabulary_);
    return written;
  }

 private:
  std::vector<Pair> samples(Lengths lengths) const override {
    std::vector<Ids> sources =
        random_rows(RandomStream(seed_, kSources), sample_lengths(lengths, longest_source_),
                    model_.source_vocab_size());
    const std::vector<Ids> targets =
        random_rows(RandomStream(seed_, kRows), sample_lengths(lengths, longest_), vocabulary_);
    // Short sources stand beside long targets too.
    std::rotate(sources.begin(), sources.begin() + 1, sources.end());
    std::vector<Pair> pairs;
    for (size_t i = 0; i < sources.size(); ++i) pairs.push_back({sources[i], targets[i]});
    return pairs;
  }

  Tables read(const std::vector<Pair>& pairs, uint64_t padding) override {
    const std::vector<Ids> targets = targets_of(pairs);
    const Tensor hidden = model_.decode(encoded(pairs, padding), batch_of(targets, padding));
    return real_places(model_.logits(hidden), lengths_of(targets), Side::right);
  }

  Encoded encoded(const std::vector<Pair>& pairs, uint64_t padding) {
    const std::vector<Ids> sources = side_of(pairs, &Pair::source);
    const Tensor tokens = padded(sources, {Side::right, padding, model_.source_vocab_size()});
    return model_.encode(tokens.to(device_), torch::tensor(lengths_of(sources)).to(device_));
  }

  /// @param tokens (B, T)  @return (B, T, V)
  Tensor steps(const Tensor& tokens, DecodeState& state) {
    std::vector<Tensor> logits;
    for (int64_t t = 0; t < tokens.size(1); ++t)
      logits.push_back(model_.step(tokens.select(1, t), state));
    return torch::stack(logits, 1);
  }

  static std::vector<Ids> side_of(const std::vector<Pair>& pairs, Ids Pair::*side) {
    std::vector<Ids> rows;
    rows.reserve(pairs.size());
    for (const Pair& pair : pairs) rows.push_back(pair.*side);
    return rows;
  }
  static std::vector<Ids> targets_of(const std::vector<Pair>& pairs) {
    return side_of(pairs, &Pair::target);
  }

  Tensor batch_of(const std::vector<Ids>& targets, uint64_t padding) const {
    return padded(targets, {Side::right, padding, vocabulary_}).to(device_);
  }

  Seq2Seq& model_;
  const Tokenizer* tokenizer_;
  int64_t begin_;
  uint64_t seed_;
  torch::Device device_;
  int64_t vocabulary_, longest_, longest_source_;
};

// ---- encoders ----------------------------------------------------------------------------------

class TextSubject final : public SampledSubject<Ids> {
 public:
  TextSubject(TextEncoder& model, uint64_t seed)
      : model_(model), seed_(seed), longest_(std::min(model.max_length(), kLongest)) {}

 private:
  std::vector<Ids> samples(Lengths lengths) const override {
    return random_rows(RandomStream(seed_, kRows), sample_lengths(lengths, longest_),
                       model_.vocab_size());
  }

  Tables read(const std::vector<Ids>& rows, uint64_t padding) override {
    const torch::Device device = device_of(model_);
    const Ids sizes = lengths_of(rows);
    const TextBatch batch{
        .tokens = padded(rows, {Side::right, padding, model_.vocab_size()}).to(device),
        .segments = {},
        .lengths = torch::tensor(sizes).to(device)};
    const Tensor hidden = model_.encode(batch);  // (B, T, D)
    if (std::holds_alternative<ClassifierHeadConfig>(model_.head()))
      return texts_of(model_.logits(hidden, batch.lengths));
    if (std::holds_alternative<NoHeadConfig>(model_.head()))
      return side_by_side(real_places(hidden, sizes, Side::right),
                          texts_of(model_.pool(hidden, batch.lengths)));
    Tables places = real_places(model_.logits(hidden, batch.lengths), sizes, Side::right);
    const auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&model_.head());
    if (masked_lm == nullptr || !masked_lm->next_sentence) return places;
    return side_by_side(places, texts_of(model_.next_sentence_logits(hidden, batch.lengths)));
  }

  TextEncoder& model_;
  uint64_t seed_;
  int64_t longest_;
};

class ImageSubject final : public SampledSubject<Tensor> {
 public:
  ImageSubject(ImageEncoder& model, uint64_t seed) : model_(model), seed_(seed) {}

 private:
  /// kSamples times (X, Y, Z).
  std::vector<Tensor> samples(Lengths lengths) const override {
    if (lengths == Lengths::mixed) throw NotApplicable{"pictures of a batch have one size"};
    const ImageShape shape = model_.image_shape();
    std::vector<Tensor> images;
    RandomStream stream(seed_, kPixels);
    for (int64_t i = 0; i < kSamples; ++i) {
      images.push_back(torch::empty({shape.channels, shape.height, shape.width}));
      float* pixels = images.back().data_ptr<float>();
      std::generate_n(pixels, images.back().numel(),
                      [&] { return static_cast<float>(4 * stream.next_uniform() - 2); });
    }
    return images;
  }

  Tables read(const std::vector<Tensor>& images, uint64_t /*padding*/) override {
    const Tensor batch = torch::stack(images).to(device_of(model_), dtype_of(model_));
    return texts_of(model_.logits(model_.encode(batch)));
  }

  ImageEncoder& model_;
  uint64_t seed_;
};

}  // namespace

Tables Subject::by_state(Lengths /*lengths*/, int64_t /*chunk*/) {
  throw NotApplicable{"an encoder keeps no state"};
}
TwoWays Subject::reordered() { throw NotApplicable{"an encoder keeps no state"}; }
Written Subject::write() { throw NotApplicable{"an encoder writes no text"}; }

std::unique_ptr<Subject> make_subject(torch::nn::Module& model, const Tokenizer* tokenizer,
                                      int64_t begin, uint64_t seed) {
  if (auto* causal = dynamic_cast<CausalLm*>(&model))
    return std::make_unique<CausalSubject>(*causal, tokenizer, seed);
  if (auto* seq2seq = dynamic_cast<Seq2Seq*>(&model))
    return std::make_unique<Seq2SeqSubject>(*seq2seq, tokenizer, begin, seed);
  if (auto* text = dynamic_cast<TextEncoder*>(&model))
    return std::make_unique<TextSubject>(*text, seed);
  if (auto* image = dynamic_cast<ImageEncoder*>(&model))
    return std::make_unique<ImageSubject>(*image, seed);
  throw ConfigError(cat("verify: the model is none of a ", CausalLm::kKind, ", a ", Seq2Seq::kKind,
                        ", a ", TextEncoder::kKind, " and a ", ImageEncoder::kKind));
}

}  // namespace zoo
