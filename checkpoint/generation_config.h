#pragma once
// generation_config.json: Hugging Face's names for the options of text generation. No torch in this
// header.

#include "core/files.h"
#include "core/json.h"
#include "decoding/options.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

/// The options that the file sets, on top of the defaults; its other keys are passed over. Sampling
/// is on where `do_sample` says so, or where `temperature` is set and `do_sample` is absent.
/// @throws FormatError for a wrong type or a number out of bounds
GenerationOptions generation_from_hf(const Json& json, const std::string& where);

/// The options under Hugging Face's names, those included that only we have (presence_penalty,
/// frequency_penalty, repeat_last_n, ignore_eos, length_norm, patience); what is at its default is
/// left out, except where the defaults of the two sides differ.
Json generation_to_hf(const GenerationOptions& options);

/// bos_token_id, eos_token_id, pad_token_id and decoder_start_token_id, as config.json and
/// generation_config.json have them; of a list of end tokens the first. What the file sets replaces
/// what `ids` holds.
void read_special_ids(const Json& json, SpecialIds& ids, const std::string& where);

/// Sets the keys, null where there is no such token: Hugging Face's own defaults would name tokens
/// of another vocabulary. decoder_start_token_id is set only where there is one.
void write_special_ids(const SpecialIds& ids, Json& json);

/// Writes generation_config.json. @param ids of the tokens with a role
void write_generation_config(const fs::path& folder, const GenerationOptions& options,
                             const SpecialIds& ids);

}  // namespace zoo
