#include "decoding/generate.h"

#include "core/error.h"
#include "decoding/context.h"
#include "decoding/search.h"

namespace zoo {

namespace {

void check_prompts(const CausalLm& model, const std::vector<std::vector<int64_t>>& prompts) {
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].empty())
      throw ConfigError(cat("generate: prompt ", i,
                            " has no token; begin with one (encode_prompt() does for empty text)"));
    for (const int64_t id : prompts[i])
      if (id < 0 || id >= model.vocab_size())
        throw ConfigError(cat("generate: prompt ", i, " holds the id ", id,
                              ", outside the model's vocabulary; allowed: 0 to ",
                              model.vocab_size() - 1, "; use the model's own tokenizer"));
  }
}

/// The most new tokens of each prompt.
std::vector<int64_t> length_limits(const CausalLm& model,
                                   const std::vector<std::vector<int64_t>>& prompts,
                                   int64_t max_new_tokens) {
  std::vector<int64_t> limits;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const int64_t room = model.max_length() - std::ssize(prompts[i]);
    if (max_new_tokens == 0 && room < 1)
      throw ConfigError(
          cat("generate: prompt ", i, " has ", prompts[i].size(),
              " tokens and fills the model's context of ", model.max_length(),
              "; set max_new_tokens (--max-new-tokens) to go on in a sliding window"));
    limits.push_back(max_new_tokens > 0 ? max_new_tokens : room);
  }
  return limits;
}

}  // namespace

std::vector<std::vector<Generation>> generate(CausalLm& model,
                                              const std::vector<std::vector<int64_t>>& prompts,
                                              const GenerationOptions& options,
                                              const GenerateArgs& args) {
  check_search(options, args);
  check_prompts(model, prompts);
  if (prompts.empty()) return {};
  GenerateArgs resolved = args;
  if (!resolved.eos && args.tokenizer) resolved.eos = args.tokenizer->special_ids().eos;
  const std::vector<int64_t> limits = length_limits(model, prompts, options.max_new_tokens);
  const int64_t vocabulary = known_vocabulary(model.vocab_size(), args.tokenizer);

  const torch::InferenceMode inference;
  const EvaluationMode evaluation(model);
  CausalContext context(model, prompts, {longest_row(prompts, limits), vocabulary, args.use_cache});
  return search({context, prompts, limits, vocabulary, options, resolved});
}

std::vector<int64_t> encode_prompt(const Tokenizer& tokenizer, std::string_view text,
                                   const EncodeOptions& options) {
  std::vector<int64_t> ids = tokenizer.encode(text, options);
  if (!ids.empty()) return ids;
  const SpecialIds special = tokenizer.special_ids();
  if (special.bos) return {*special.bos};
  if (special.eos) return {*special.eos};
  try {
    ids = tokenizer.encode("\n");
  } catch (const DataError&) {  // no token for a newline
  }
  if (ids.empty())
    throw DataError(cat("prompt: the text is empty, and this ", tokenizer.type(),
                        " tokenizer has neither a bos, an eos nor a newline token to begin with; "
                        "give a prompt (-p)"));
  return ids;
}

}  // namespace zoo
