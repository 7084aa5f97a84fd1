#include "decoding/text_output.h"

#include <algorithm>

namespace zoo {

std::string StopMatcher::push(std::string_view piece) {
  if (stopped_) return "";
  pending_ += piece;
  // The stop text that ends first, so that the result does not depend on where the pieces end.
  size_t first_end = std::string::npos, first_start = 0;
  for (const std::string& stop : stops_) {
    const size_t start = pending_.find(stop);
    if (start == std::string::npos) continue;
    const size_t end = start + stop.size();
    if (end < first_end || (end == first_end && start < first_start)) {
      first_end = end;
      first_start = start;
    }
  }
  if (first_end != std::string::npos) {
    stopped_ = true;
    std::string text = pending_.substr(0, first_start);
    pending_.clear();
    return text;
  }
  size_t held = 0;
  for (const std::string& stop : stops_)
    for (size_t length = std::min(stop.size() - 1, pending_.size()); length > held; --length)
      if (pending_.ends_with(std::string_view(stop).substr(0, length))) held = length;
  std::string text = pending_.substr(0, pending_.size() - held);
  pending_.erase(0, text.size());
  return text;
}

std::string StopMatcher::finish() { return std::exchange(pending_, {}); }

TextOutput::TextOutput(const Tokenizer* tokenizer, std::span<const int64_t> prompt,
                       const std::vector<std::string>& stops)
    : stops_(stops) {
  if (!tokenizer) return;
  decoder_ = tokenizer->stream();
  for (const int64_t id : prompt) decoder_->push(id);
}

std::string TextOutput::push(int64_t id) { return decoder_ ? stops_.push(decoder_->push(id)) : ""; }

std::string TextOutput::finish() {
  if (!decoder_) return "";
  std::string text = stops_.push(decoder_->finish());
  return text + stops_.finish();
}

}  // namespace zoo
