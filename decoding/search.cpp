#include "decoding/search.h"

#include "core/error.h"

namespace zoo {

void check_search(const GenerationOptions& options, const GenerateArgs& args) {
  if (const std::string problem = options.check(); !problem.empty())
    throw ConfigError("generation options: " + problem);
  if (!options.stop.empty() && !args.tokenizer)
    throw ConfigError("generate: stop texts need a tokenizer; pass one in GenerateArgs::tokenizer");
  if (args.num_samples < 1)
    throw ConfigError(cat("generate: num_samples ", args.num_samples, "; allowed: >= 1"));
  const bool greedy = !options.sample || options.temperature == 0;
  const int64_t most = options.beam_size > 1 ? options.beam_size : greedy ? 1 : args.num_samples;
  if (args.num_samples > most)
    throw ConfigError(cat("generate: num_samples ", args.num_samples,
                          " without sampling; allowed: up to beam_size (", options.beam_size,
                          "); sample, or widen the beam"));
}

std::vector<std::vector<Generation>> search(const DecodeJob& job) {
  return job.options.beam_size > 1 ? beam_search(job) : draw(job);
}

}  // namespace zoo
