#include "evaluation/rouge.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "core/unicode.h"

namespace zoo {

namespace {

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

size_t order_of(RougeKind kind) { return kind == RougeKind::rouge2 ? 2 : 1; }

}  // namespace

Rouge::Rouge(RougeKind kind) : kind_(kind), matcher_(order_of(kind)), matches_(order_of(kind)) {}

void Rouge::read(std::string_view text, std::string& kept, std::vector<uint32_t>& words,
                 bool is_hypothesis) {
  kept.clear();
  append_lower_case(text, kept);
  words.clear();
  const std::string_view all = kept;
  for (size_t start = 0; start < all.size();) {
    size_t end = start;
    while (end < all.size() && is_alphanumeric(all[end])) ++end;
    if (end > start) {
      const std::string_view word = all.substr(start, end - start);
      words.push_back(is_hypothesis ? numbers_.add(word) : numbers_.find(word));
    }
    start = end + 1;
  }
}

/// One bit for each word of the hypothesis; a row is a handful of operations on 64 of them (Hyyrö
/// 2004, "Bit-parallel LCS-length computation revisited"). Zeros in the last row are its length.
size_t Rouge::longest_common_subsequence() {
  const size_t blocks = (hypothesis_.size() + 63) / 64;
  places_.assign(blocks * numbers_.size(), 0);
  for (size_t i = 0; i < hypothesis_.size(); ++i)
    places_[hypothesis_[i] * blocks + i / 64] |= uint64_t{1} << (i % 64);
  row_.assign(blocks, ~uint64_t{0});
  for (const uint32_t word : reference_) {
    if (word == WordNumbers::kUnknown) continue;
    uint64_t carry = 0;
    for (size_t b = 0; b < blocks; ++b) {
      const uint64_t row = row_[b], places = places_[word * blocks + b], hit = row & places;
      const uint64_t sum = row + hit, with_carry = sum + carry;
      carry = (sum < row || with_carry < sum) ? 1 : 0;
      row_[b] = with_carry | (row & ~places);
    }
  }
  size_t length = 0;
  for (size_t b = 0; b < blocks; ++b) {
    const size_t bits = std::min<size_t>(64, hypothesis_.size() - 64 * b);
    const uint64_t used = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    length += static_cast<size_t>(std::popcount(~row_[b] & used));
  }
  return length;
}

void Rouge::measure(std::string_view hypothesis, std::span<const std::string_view> references,
                    std::span<double> statistics) {
  numbers_.clear();
  read(hypothesis, hypothesis_text_, hypothesis_, true);
  if (kind_ != RougeKind::rouge_l) matcher_.set_hypothesis(hypothesis_);
  double best = -1;
  for (const std::string_view reference : references) {
    read(reference, reference_text_, reference_, false);
    double shared = 0;
    if (kind_ == RougeKind::rouge_l) {
      shared = static_cast<double>(longest_common_subsequence());
    } else {
      std::fill(matches_.begin(), matches_.end(), 0.0);
      matcher_.forget_references();
      matcher_.match(reference_, matches_);
      shared = matches_.back();
    }
    const auto share_of = [&](const std::vector<uint32_t>& words) {
      const size_t less = order_of(kind_) - 1;
      return shared / static_cast<double>(words.size() > less ? words.size() - less : 1);
    };
    const double precision = share_of(hypothesis_), recall = share_of(reference_);
    const double f = shared > 0 ? 2 * precision * recall / (precision + recall) : 0;
    if (f <= best) continue;
    best = f;
    statistics[0] = precision;
    statistics[1] = recall;
    statistics[2] = f;
    statistics[3] = 1;
  }
}

MetricScore Rouge::score(std::span<const double> sums) const {
  const auto mean = [&](size_t i) { return sums[3] == 0 ? 0 : 100 * sums[i] / sums[3]; };
  const char* const names[] = {"rouge1", "rouge2", "rougeL"};
  char details[80];
  std::snprintf(details, sizeof details, "(P = %.1f R = %.1f)", mean(0), mean(1));
  return {names[static_cast<size_t>(kind_)], mean(2), details};
}

std::vector<std::pair<std::string, std::string>> Rouge::settings() const {
  return {{"case", "lc"}, {"stem", "no"}, {"package", "rouge-score"}, {"version", "0.1.2"}};
}

}  // namespace zoo
