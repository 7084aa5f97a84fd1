#pragma once
// Which tokens begin, end and pad a text.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/files.h"
#include "core/json.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

using PieceLookup = std::function<std::optional<int64_t>(std::string_view)>;

/// The roles that the field's usual names have: "<|endoftext|>" begins and ends a text, "<s>"
/// begins,
/// "</s>" ends, "<pad>" pads, "<unk>" stands for what is unknown, and so on.
SpecialIds conventional_roles(const PieceLookup& id_of);

/// The roles named in a Hugging Face folder's tokenizer_config.json or special_tokens_map.json; the
/// conventional ones where there is neither. Names that are no tokens are passed over.
SpecialIds read_roles(const fs::path& folder, const PieceLookup& id_of);

/// Adds bos_token, eos_token, pad_token, unk_token and, where they are there, cls_token, sep_token
/// and mask_token to a tokenizer_config.json.
void write_roles(const SpecialIds& roles, const std::function<std::string(int64_t)>& piece,
                 Json& tokenizer_config);

}  // namespace zoo
