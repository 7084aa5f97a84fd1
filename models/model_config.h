#pragma once
// The config's section `model`. The alias is the registry of models. No torch in this header.

#include <variant>

#include "models/gpt_config.h"

namespace zoo {

using ModelConfig = std::variant<GptConfig>;

}  // namespace zoo
