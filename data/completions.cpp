#include "data/completions.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "data/parallel.h"

namespace zoo {

namespace {

constexpr uint64_t kOrderStream = uint64_t{4} << 56;

}  // namespace

Completions::Completions(const std::vector<fs::path>& files, const Tokenizer& tokenizer,
                         int64_t max_length) {
  for (const fs::path& path : files)
    for_each_tsv_pair(path, "prompt<TAB>completion",
                      [&](std::string_view prompt, std::string_view completion) {
                        add(prompt, completion, tokenizer, max_length);
                      });
  if (size() == 0)
    throw DataError(cat(files.empty() ? "task.train" : utf8(files[0]),
                        ": no usable pair of prompt and completion; blank: ", blank_,
                        ", longer than the model's max_length ", max_length, ": ", too_long_));
}

void Completions::add(std::string_view prompt, std::string_view completion,
                      const Tokenizer& tokenizer, int64_t max_length) {
  if (is_blank(prompt) || is_blank(completion)) {
    ++blank_;
    return;
  }
  const std::vector<int64_t> prompt_ids = tokenizer.encode(prompt);
  const std::vector<int64_t> completion_ids = encode_sentence(tokenizer, completion);
  // The last token is only predicted, never read.
  if (static_cast<int64_t>(prompt_ids.size() + completion_ids.size()) > max_length + 1) {
    ++too_long_;
    return;
  }
  tokens_.insert(tokens_.end(), prompt_ids.begin(), prompt_ids.end());
  tokens_.insert(tokens_.end(), completion_ids.begin(), completion_ids.end());
  ends_.push_back(tokens_.size());
  prompt_lengths_.push_back(static_cast<int32_t>(prompt_ids.size()));
}

Completions::Pair Completions::operator[](int64_t index) const {
  const size_t first = index == 0 ? 0 : ends_[index - 1];
  return {{tokens_.data() + first, ends_[index] - first}, prompt_lengths_[index]};
}

int64_t shuffled_pair(int64_t position, int64_t size, uint64_t seed) {
  const auto epoch = static_cast<uint64_t>(position / size);
  return static_cast<int64_t>(permuted_index(static_cast<uint64_t>(position % size),
                                             static_cast<uint64_t>(size), seed,
                                             kOrderStream | epoch));
}

}  // namespace zoo
