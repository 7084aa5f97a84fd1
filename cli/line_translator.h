#pragma once
// Lines of text through an encoder–decoder: what translate and eval share.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "core/lines.h"
#include "decoding/translate.h"

namespace zoo::cli {

/// A line of input.
struct SourceLine {
  std::string text;
  std::vector<int64_t> source;  ///< with the end token; empty: the line is blank
  std::vector<int64_t> prefix;
  uint64_t number = 0;  ///< counted from 0
};

class LineTranslator {
 public:
  /// The flags that decide what a translation is.
  void declare(Flags& flags);
  /// The flags that change its speed alone.
  void declare_batches(Flags& flags);

  /// Loads the model and settles the options. @param outputs of each line, with or without sampling
  void prepare(const std::string& model, const GlobalOptions& globals, int64_t num_samples,
               int64_t n_best);

  /// Called for each line, in order; no outputs: the line is blank.
  using Use = std::function<void(const SourceLine& line, std::vector<Generation>& outputs)>;
  /// @param prefixes null: none  @param one_by_one translate a line as soon as it comes
  void translate(LineReader& reader, LineReader* prefixes, bool one_by_one, const Use& use);

  /// (T, S) of a line and one of its outputs. @throws ConfigError for a model without attention
  Tensor attention(const SourceLine& line, const Generation& output) const;
  /// The output's text with a source word in place of each unknown token.
  std::string with_source_words(const SourceLine& line, const Generation& output) const;

  const Tokenizer& tokenizer() const { return *loaded_.tokenizer; }
  const Tokenizer& source_tokenizer() const { return *loaded_.source_tokenizer; }
  const GenerationOptions& options() const { return options_; }
  TranslateArgs& args() { return args_; }

  /// Says on standard error how fast it went and what was cut off.
  void report() const;

 private:
  SourceLine encode(std::string text);
  void translate_some(const std::vector<SourceLine>& lines, const Use& use);
  std::vector<std::string> words_of(const SourceLine& line) const;

  DecodingFlags decoding_{{{"max_new_tokens", "--max-length"},
                           {"min_new_tokens", "--min-length"},
                           {"temperature", "--temperature,--temp"},
                           {"repetition_penalty", "--repetition-penalty,--repeat-penalty"},
                           {"beam_size", "--beam-size,--num-beams,--beam"}},
                          /*default_beam_size=*/5};
  double max_length_ratio_ = TranslateArgs().max_length_ratio;
  bool no_unk_ = false;
  std::optional<int64_t> batch_size_;
  std::string batch_type_ = "tokens";

  LoadedModel loaded_;
  std::shared_ptr<Seq2Seq> model_;
  GenerationOptions options_;
  TranslateArgs args_;
  std::optional<int64_t> unk_;
  uint64_t line_count_ = 0;
  int64_t sentences_ = 0, tokens_ = 0, cut_ = 0;
  double seconds_ = 0;
};

}  // namespace zoo::cli
