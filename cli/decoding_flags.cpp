#include "cli/decoding_flags.h"

#include <algorithm>
#include <charconv>

#include "cli/lines.h"
#include "core/config.h"
#include "core/error.h"
#include "core/text.h"

namespace zoo::cli {

namespace {

void ban(const std::string& text, const Tokenizer& tokenizer, GenerationOptions& options) {
  if (text.empty()) throw ConfigError("--ban: the text is empty; give at least one character");
  options.banned_sequences.push_back(tokenizer.encode(text));
  try {
    options.banned_sequences.push_back(tokenizer.encode(" " + text));
  } catch (const DataError&) {  // a vocabulary without a blank
  }
}

void add_bias(const std::string& text, GenerationOptions& options) {
  const size_t equals = text.find('=');
  int64_t id = 0;
  double bias = 0;
  const auto parse = [&](size_t from, size_t to, auto& value) {
    const char* const end = text.data() + to;
    const auto [rest, error] = std::from_chars(text.data() + from, end, value);
    return from < to && rest == end && error == std::errc();
  };
  if (equals == std::string::npos || !parse(0, equals, id) || !parse(equals + 1, text.size(), bias))
    throw ConfigError(cat("--logit-bias: \"", text,
                          "\" is refused; allowed: ID=X, such as 50256=-2.5 or 11=-inf"));
  options.logit_bias[id] = bias;
}

}  // namespace

/// "top_p" is the flag "--top-p", unless it was named otherwise.
std::string DecodingFlags::flag_of(std::string_view key) const {
  if (const auto named = names_.find(key); named != names_.end()) return named->second;
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void DecodingFlags::declare(Flags& flags) {
  GenerationOptions().fields(config_detail::Visitor{
      [&](std::string_view key, const auto& member, const Bound& bound, std::string_view doc) {
        using Member = std::decay_t<decltype(member)>;
        const std::string name = flag_of(key);
        if constexpr (std::is_same_v<Member, int64_t>) {
          const int64_t fallback = key == "beam_size" ? default_beam_size_ : member;
          flags.number(name, integers_[key], bound, cat(doc, "; default: ", fallback));
        } else if constexpr (std::is_same_v<Member, double>) {
          flags.number(name, numbers_[key], bound, cat(doc, "; default: ", member));
        } else if constexpr (std::is_same_v<Member, bool>) {
          flags.flag(name, switches_[key], std::string(doc));
        } else if constexpr (std::is_enum_v<Member>) {
          flags.choice(name, choices_[key], enum_names<Member>(),
                       cat(doc, "; default: ", enum_name(member)));
        }
      }});
  flags.flag("--greedy", greedy_, "always take the most probable token");
  flags.texts("--stop", stop_, "TEXT",
              R"(end the output before this text; \n, \t, \r, \\ are understood; repeatable)");
  flags.texts("--ban", ban_, "TEXT",
              "never write this text, at a word's start or within, as the tokenizer splits it; "
              "repeatable");
  flags.texts("--logit-bias", logit_bias_, "ID=X",
              "add X to the logit of a token id (-inf bans it); repeatable");
}

GenerationOptions DecodingFlags::resolve(GenerationOptions options, const Tokenizer& tokenizer,
                                         int64_t num_samples) {
  const std::vector<std::string> truncation = given({"top_k", "top_p", "min_p", "typical_p"});
  const std::optional<double> temperature = numbers_["temperature"];
  const bool cold = temperature == 0.0;
  std::vector<std::string> sampling = truncation;
  if (temperature && !cold) sampling.emplace_back("--temperature");
  if (switches_["sample"]) sampling.emplace_back("--sample");
  const bool beam = integers_["beam_size"].value_or(1) > 1;
  if (num_samples > 1 && !beam) sampling.emplace_back("--num-samples");

  const auto exclude = [&](bool active, const std::string& flag, const char* meaning) {
    if (active && !sampling.empty())
      throw ConfigError(cat(flag, " ", meaning, ", ", join(sampling, ", "),
                            sampling.size() > 1 ? " draw" : " draws",
                            " from the distribution; "
                            "leave out the one or the other"));
  };
  exclude(greedy_, "--greedy", "takes the most probable token");
  exclude(cold, "--temperature 0", "takes the most probable token");
  exclude(beam, "--beam-size", "searches for the most probable text");
  if (greedy_ && beam)
    throw ConfigError(
        "--greedy and --beam-size contradict each other; leave out the one or the other");

  options.fields(config_detail::Visitor{
      [&](std::string_view key, auto& member, const Bound&, std::string_view) {
        using Member = std::decay_t<decltype(member)>;
        if constexpr (std::is_same_v<Member, int64_t>)
          member = integers_[key].value_or(member);
        else if constexpr (std::is_same_v<Member, double>)
          member = numbers_[key].value_or(member);
        else if constexpr (std::is_same_v<Member, bool>)
          member = switches_[key].value_or(member);
        else if constexpr (std::is_enum_v<Member>) {
          if (choices_[key]) read_config(Json(*choices_[key]), member, flag_of(key));
        }
      }});
  if (!sampling.empty()) {
    options.sample = true;
    options.beam_size = 1;
    if (options.temperature == 0) options.temperature = 1;  // the checkpoint's way to be greedy
  } else if (!greedy_ && !cold && !options.sample && !integers_["beam_size"] &&
             options.beam_size == 1) {
    options.beam_size = default_beam_size_;
  }
  if (greedy_ || cold) options.beam_size = 1;
  if (greedy_ || cold || beam) options.sample = false;

  if (!stop_.empty()) options.stop.clear();
  for (const std::string& text : stop_) options.stop.push_back(unescaped("--stop", text));
  for (const std::string& text : ban_) ban(unescaped("--ban", text), tokenizer, options);
  for (const std::string& text : logit_bias_) add_bias(text, options);
  return options;
}

std::vector<std::string> DecodingFlags::given(const std::vector<std::string_view>& keys) {
  std::vector<std::string> flags;
  for (const std::string_view key : keys)
    if ((integers_.contains(key) && integers_[key]) || (numbers_.contains(key) && numbers_[key]))
      flags.push_back(flag_of(key));
  return flags;
}

}  // namespace zoo::cli
