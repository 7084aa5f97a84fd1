#include "cli/line_translator.h"

#include <chrono>
#include <cmath>

#include "cli/lines.h"
#include "cli/runtime.h"
#include "core/config.h"
#include "core/text.h"

namespace zoo::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// Lines that are read before any of them is translated: among so many, batches of like length are
/// found, and memory stays bounded.
constexpr size_t kLinesAtOnce = 4096;

}  // namespace

void LineTranslator::declare(Flags& flags) {
  decoding_.declare(flags);
  flags.number("--max-length-ratio", max_length_ratio_, non_negative(),
               "without --max-length: most tokens for each source token, and 10 more; 0: the "
               "model's longest");
  flags.flag("--no-unk", no_unk_, "never write the unknown token");
}

void LineTranslator::declare_batches(Flags& flags) {
  flags.number("--batch-size", batch_size_, between(1, 1 << 24),
               "source tokens or sentences computed together; changes no translation; default: "
               "1024 tokens");
  flags.choice("--batch-type", batch_type_, {"tokens", "sentences"}, "what --batch-size counts");
}

void LineTranslator::prepare(const std::string& model, const GlobalOptions& globals,
                             int64_t num_samples, int64_t n_best) {
  const Runtime runtime = start_runtime(globals);
  loaded_ = load_model(utf8_path(model), {.device = runtime.device, .dtype = runtime.dtype});
  model_ = loaded_.as<Seq2Seq>();
  if (!loaded_.tokenizer || !loaded_.source_tokenizer)
    throw DataError(model +
                    ": holds no tokenizer, so no text can be read or written; add its files");
  if (!source_tokenizer().special_ids().eos)
    throw DataError(model + ": its source tokenizer has no end token, so no sentence can end");
  options_ = decoding_.resolve(loaded_.generation, tokenizer(), num_samples);
  if (n_best > options_.beam_size)
    throw ConfigError(cat("--n-best: ", n_best, " is refused; allowed: 1 to --beam-size ",
                          options_.beam_size, "; widen the beam"));
  unk_ = tokenizer().special_ids().unk;
  if (no_unk_ && unk_) options_.logit_bias[*unk_] = -INFINITY;
  if (const std::string problem = options_.check(); !problem.empty())
    throw ConfigError("translate: " + problem);
  args_.search.tokenizer = loaded_.tokenizer.get();
  args_.search.eos = loaded_.special_ids.eos;
  args_.begin = loaded_.special_ids.decoder_start();
  args_.search.num_samples = std::max(num_samples, n_best);
  args_.search.seed = static_cast<uint64_t>(globals.seed);
  args_.max_length_ratio = max_length_ratio_;
  log_debug("decoding: ", config_to_json(options_).dump(), ", seed ", globals.seed);
}

void LineTranslator::translate(LineReader& reader, LineReader* prefixes, bool one_by_one,
                               const Use& use) {
  Progress progress;
  std::vector<SourceLine> lines;
  const auto flush = [&] {
    translate_some(lines, use);
    lines.clear();
    if (progress.due()) progress.show(cat("translated ", with_thousands(line_count_), " lines"));
  };
  while (std::optional<std::string> text = reader.next()) {
    lines.push_back(encode(std::move(*text)));
    if (prefixes != nullptr) {
      const auto prefix = prefixes->next();
      if (!prefix)
        throw DataError(cat(prefixes->name(), ": has ", line_count_ - 1, " lines, but ",
                            reader.name(),
                            " has more; give one for each line, blank for no prefix"));
      if (!is_blank(*prefix)) lines.back().prefix = tokenizer().encode(*prefix);
    }
    if (one_by_one || lines.size() == kLinesAtOnce) flush();
  }
  if (prefixes != nullptr && prefixes->next())
    throw DataError(cat(prefixes->name(), ": has more lines than the ", line_count_, " of ",
                        reader.name(), "; give one for each line"));
  flush();
}

SourceLine LineTranslator::encode(std::string text) {
  SourceLine line{.text = std::move(text), .source = {}, .prefix = {}, .number = line_count_++};
  if (is_blank(line.text)) return line;
  try {
    line.source = encode_sentence(source_tokenizer(), line.text);
  } catch (const DataError& error) {
    throw DataError(cat("line ", line.number + 1, ": ", error.what()));
  }
  const int64_t length = std::ssize(line.source), longest = model_->max_source_length();
  if (length > longest) {
    log_warning("line ", line.number + 1, ": ", with_thousands(length),
                " tokens are more than the model reads (", with_thousands(longest),
                ", the end token included); the rest is left out");
    const int64_t end = line.source.back();
    line.source.resize(static_cast<size_t>(longest));
    line.source.back() = end;
  }
  return line;
}

void LineTranslator::translate_some(const std::vector<SourceLine>& lines, const Use& use) {
  std::vector<std::vector<int64_t>> sources;
  args_.prefixes.clear();
  args_.search.row_numbers.clear();
  int64_t longest = 1;
  for (const SourceLine& line : lines) {
    if (line.source.empty()) continue;
    sources.push_back(line.source);
    args_.prefixes.push_back(line.prefix);
    args_.search.row_numbers.push_back(line.number);
    longest = std::max(longest, std::ssize(line.source));
  }
  if (batch_size_)
    args_.batch_tokens = batch_type_ == "tokens" ? *batch_size_ : *batch_size_ * longest;
  const Clock::time_point start = Clock::now();
  auto outputs = zoo::translate(*model_, sources, options_, args_);
  seconds_ += std::chrono::duration<double>(Clock::now() - start).count();

  auto next = outputs.begin();
  std::vector<Generation> none;
  for (const SourceLine& line : lines) {
    if (line.source.empty()) {
      use(line, none);
      continue;
    }
    for (const Generation& output : *next) {
      ++sentences_;
      tokens_ += std::ssize(output.tokens);
      if (output.finish_reason == FinishReason::length) ++cut_;
    }
    use(line, *next++);
  }
}

Tensor LineTranslator::attention(const SourceLine& line, const Generation& output) const {
  std::vector<int64_t> target = line.prefix;
  target.insert(target.end(), output.tokens.begin(), output.tokens.end());
  const Tensor attention = source_attention(*model_, line.source, args_.begin.value(), target);
  if (!attention.defined())
    throw ConfigError(
        "--attention, --replace-unk: this model has no attention over its source; leave them out");
  return attention;
}

std::string LineTranslator::with_source_words(const SourceLine& line,
                                              const Generation& output) const {
  std::vector<int64_t> ids = line.prefix;
  ids.insert(ids.end(), output.tokens.begin(), output.tokens.end());
  if (!unk_ || std::find(ids.begin(), ids.end(), *unk_) == ids.end()) return output.text;

  const std::vector<std::string> words = words_of(line);
  const Tensor most =
      attention(line, output).narrow(1, 0, std::ssize(line.source) - 1).argmax(1);  // (T)
  std::vector<std::string> parts;
  std::vector<int64_t> known;
  const auto flush = [&] {
    const std::string text(trim(tokenizer().decode(known)));
    if (!text.empty()) parts.push_back(text);
    known.clear();
  };
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != *unk_) {
      known.push_back(ids[i]);
      continue;
    }
    flush();
    parts.push_back(words[static_cast<size_t>(most[static_cast<int64_t>(i)].item<int64_t>())]);
  }
  flush();
  return join(parts, " ");
}

/// What each source token stands for: its word, where every word is one token; else its own text.
std::vector<std::string> LineTranslator::words_of(const SourceLine& line) const {
  std::vector<std::string> words;
  for (const std::string& word : split(line.text, ' '))
    if (!word.empty()) words.push_back(word);
  if (words.size() + 1 == line.source.size()) return words;
  words.clear();
  for (const int64_t id : line.source)
    words.emplace_back(trim(source_tokenizer().decode(std::vector<int64_t>{id})));
  return words;
}

void LineTranslator::report() const {
  if (cut_ > 0)
    log_warning(cut_, " of ", with_thousands(sentences_),
                " translations were cut off at the longest length; raise --max-length-ratio or "
                "--max-length if they should go on");
  log_info(with_thousands(static_cast<int64_t>(line_count_)), " lines, ", with_thousands(tokens_),
           " tokens, ", std::llround(static_cast<double>(sentences_) / std::max(seconds_, 1e-9)),
           " sentences/s");
}

}  // namespace zoo::cli
