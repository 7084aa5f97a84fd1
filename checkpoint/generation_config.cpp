#include "checkpoint/generation_config.h"

#include <cmath>
#include <optional>

#include "checkpoint/known_keys.h"

namespace zoo {

namespace {

/// What the file holds; every value is optional there.
struct HfGeneration {
  std::optional<int64_t> max_new_tokens, min_new_tokens, top_k, no_repeat_ngram_size, num_beams;
  std::optional<int64_t> repeat_last_n;
  std::optional<bool> do_sample, ignore_eos;
  std::optional<double> temperature, top_p, min_p, typical_p, length_penalty;
  std::optional<double> repetition_penalty, presence_penalty, frequency_penalty, patience;
  std::optional<LengthNorm> length_norm;
  std::vector<std::vector<int64_t>> bad_words_ids;
  std::vector<std::string> stop_strings;

  void fields(auto&& visit) {
    visit("do_sample", do_sample, "draw from the distribution");
    visit("max_new_tokens", max_new_tokens, at_least(1), "tokens to generate");
    visit("min_new_tokens", min_new_tokens, non_negative(), "tokens before the end is allowed");
    visit("temperature", temperature, non_negative(), "logits are divided by it");
    visit("top_k", top_k, non_negative(), "keep the k most probable tokens; 0: all");
    visit("top_p", top_p, between(0, 1), "keep the smallest set with this probability");
    visit("min_p", min_p, between(0, 1), "keep tokens this share as probable as the best");
    visit("typical_p", typical_p, between(0, 1), "keep the locally typical set");
    visit("repetition_penalty", repetition_penalty, positive(), "see GenerationOptions");
    visit("presence_penalty", presence_penalty, "see GenerationOptions");
    visit("frequency_penalty", frequency_penalty, "see GenerationOptions");
    visit("repeat_last_n", repeat_last_n, at_least(-1), "see GenerationOptions");
    visit("no_repeat_ngram_size", no_repeat_ngram_size, non_negative(), "0: off");
    visit("num_beams", num_beams, at_least(1), "hypotheses of beam search");
    visit("length_penalty", length_penalty, "exponent of the length");
    visit("length_norm", length_norm, "see GenerationOptions");
    visit("patience", patience, positive(), "see GenerationOptions");
    visit("bad_words_ids", bad_words_ids, "sequences of ids that are not generated");
    visit("stop_strings", stop_strings, "texts that end the output");
    visit("ignore_eos", ignore_eos, "go on after the end token");
  }
};

/// Calls use(theirs, ours) for each value that the two sides hold in the same way.
void for_each_pair(auto& theirs, auto& ours, auto&& use) {
  use(theirs.max_new_tokens, ours.max_new_tokens);
  use(theirs.min_new_tokens, ours.min_new_tokens);
  use(theirs.temperature, ours.temperature);
  use(theirs.top_k, ours.top_k);
  use(theirs.top_p, ours.top_p);
  use(theirs.min_p, ours.min_p);
  use(theirs.typical_p, ours.typical_p);
  use(theirs.repetition_penalty, ours.repetition_penalty);
  use(theirs.presence_penalty, ours.presence_penalty);
  use(theirs.frequency_penalty, ours.frequency_penalty);
  use(theirs.repeat_last_n, ours.repeat_last_n);
  use(theirs.no_repeat_ngram_size, ours.no_repeat_ngram_size);
  use(theirs.num_beams, ours.beam_size);
  use(theirs.length_penalty, ours.length_penalty);
  use(theirs.length_norm, ours.length_norm);
  use(theirs.patience, ours.patience);
  use(theirs.ignore_eos, ours.ignore_eos);
}

/// Biases of single ids: [[[id], bias], …], or the older form {"(id,)": bias}, which JSON cannot
/// hold.
void read_sequence_bias(const Json& json, std::map<int64_t, double>& out,
                        const std::string& where) {
  const auto fail = [&] {
    throw FormatError(where + ": expected a list of [[id], bias] with single ids, found " +
                      json.dump());
  };
  if (!json.is_array()) fail();
  for (const Json& entry : json) {
    const bool usable = entry.is_array() && entry.size() == 2 && entry[0].is_array() &&
                        entry[0].size() == 1 && entry[0][0].is_number_integer() &&
                        entry[1].is_number();
    if (!usable) fail();
    out[entry[0][0].get<int64_t>()] = entry[1].get<double>();
  }
}

/// When a beam search ends, in Hugging Face's words: true, false or "never".
EarlyStopping read_early_stopping(const Json& json, const std::string& where) {
  if (json == true) return EarlyStopping::first;
  if (json == false) return EarlyStopping::heuristic;
  if (json == "never") return EarlyStopping::exact;
  throw FormatError(cat(where, ": expected true, false or \"never\", found ", json.dump()));
}

Json early_stopping_to_hf(EarlyStopping stopping) {
  if (stopping == EarlyStopping::exact) return "never";
  return stopping == EarlyStopping::first;
}

}  // namespace

GenerationOptions generation_from_hf(const Json& json, const std::string& where) {
  HfGeneration theirs;
  // A single stop string may stand without a list.
  Json tidy = json;
  if (tidy.is_object() && tidy.contains("stop_strings") && tidy["stop_strings"].is_string())
    tidy["stop_strings"] = Json::array({tidy["stop_strings"]});
  read_known_keys(tidy, theirs, where);
  GenerationOptions ours;
  for_each_pair(theirs, ours, [](const auto& their, auto& our) {
    if (their) our = *their;
  });
  ours.sample = theirs.do_sample.value_or(theirs.temperature.has_value());
  ours.banned_sequences = theirs.bad_words_ids;
  ours.stop = theirs.stop_strings;
  if (json.contains("early_stopping") && !json["early_stopping"].is_null())
    ours.early_stopping = read_early_stopping(json["early_stopping"], where + "/early_stopping");
  if (json.contains("sequence_bias") && !json["sequence_bias"].is_null())
    read_sequence_bias(json["sequence_bias"], ours.logit_bias, where + "/sequence_bias");
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

Json generation_to_hf(const GenerationOptions& options) {
  const GenerationOptions defaults;
  HfGeneration theirs;
  for_each_pair(theirs, options, [](auto& their, const auto& our) { their = our; });
  HfGeneration untouched;
  for_each_pair(untouched, defaults, [](auto& their, const auto& our) { their = our; });
  theirs.do_sample = untouched.do_sample = options.sample;
  theirs.bad_words_ids = options.banned_sequences;
  theirs.stop_strings = options.stop;
  // JSON has no infinity: a token that can never be drawn is a banned sequence of one.
  for (const auto& [id, bias] : options.logit_bias)
    if (std::isinf(bias)) theirs.bad_words_ids.push_back({id});

  Json json = config_to_json(theirs);
  const Json unset = config_to_json(untouched);
  for (const auto& [key, value] : unset.items())
    if (json[key] == value) json.erase(key);
  json["do_sample"] = options.sample;
  // Hugging Face's default is another one.
  if (options.beam_size > 1 || options.early_stopping != defaults.early_stopping)
    json["early_stopping"] = early_stopping_to_hf(options.early_stopping);
  // Hugging Face draws from the 50 most probable tokens unless told otherwise.
  if (options.sample) {
    json["top_k"] = options.top_k;
    json["temperature"] = options.temperature;
  }
  for (const auto& [id, bias] : options.logit_bias)
    if (std::isfinite(bias))
      json["sequence_bias"].push_back(Json::array({Json::array({id}), bias}));
  return json;
}

void read_special_ids(const Json& json, SpecialIds& ids, const std::string& where) {
  const auto read = [&](const char* key, std::optional<int64_t>& out) {
    if (!json.is_object() || !json.contains(key) || json[key].is_null()) return;
    const Json& value = json[key];
    const Json& first = value.is_array() && !value.empty() ? value[0] : value;
    if (!first.is_number_integer())
      throw FormatError(cat(where, "/", key, ": expected an id, found ", describe_json(first)));
    // -1 is how some files say that there is none.
    if (const auto id = first.get<int64_t>(); id >= 0) out = id;
  };
  read("bos_token_id", ids.bos);
  read("eos_token_id", ids.eos);
  read("pad_token_id", ids.pad);
  read("decoder_start_token_id", ids.start);
}

void write_special_ids(const SpecialIds& ids, Json& json) {
  const auto write = [&](const char* key, const std::optional<int64_t>& id) {
    json[key] = id ? Json(*id) : Json(nullptr);
  };
  write("bos_token_id", ids.bos);
  write("eos_token_id", ids.eos);
  write("pad_token_id", ids.pad);
  if (ids.start) write("decoder_start_token_id", ids.start);
}

void write_generation_config(const fs::path& folder, const GenerationOptions& options,
                             const SpecialIds& ids) {
  Json json = generation_to_hf(options);
  write_special_ids(ids, json);
  write_json_file(folder / "generation_config.json", json);
}

}  // namespace zoo
