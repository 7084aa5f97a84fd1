#pragma once
// The flags of generate and translate that stand for GenerationOptions.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "decoding/options.h"
#include "tokenizer/tokenizer.h"

namespace zoo::cli {

/// A flag for each field of GenerationOptions; what is not given keeps the checkpoint's value.
class DecodingFlags {
 public:
  /// @param names of the flags of some fields, where they are not the field's: {"top_p", "--top-p"}
  /// @param default_beam_size where neither flags nor checkpoint choose a way to decode
  explicit DecodingFlags(std::map<std::string_view, std::string> names,
                         int64_t default_beam_size = 1)
      : names_(std::move(names)), default_beam_size_(default_beam_size) {}

  void declare(Flags& flags);

  /// The checkpoint's options with the flags over them.
  /// @throws ConfigError for flags that contradict one another
  GenerationOptions resolve(GenerationOptions options, const Tokenizer& tokenizer,
                            int64_t num_samples);

 private:
  std::string flag_of(std::string_view key) const;
  std::vector<std::string> given(const std::vector<std::string_view>& keys);

  std::map<std::string_view, std::string> names_;
  int64_t default_beam_size_;
  // By the field's name; the keys live in GenerationOptions::fields().
  std::map<std::string_view, std::optional<int64_t>> integers_;
  std::map<std::string_view, std::optional<double>> numbers_;
  std::map<std::string_view, std::optional<bool>> switches_;
  std::map<std::string_view, std::optional<std::string>> choices_;
  bool greedy_ = false;
  std::vector<std::string> stop_, ban_, logit_bias_;
};

}  // namespace zoo::cli
