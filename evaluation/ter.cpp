#include "evaluation/ter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <tuple>

#include "core/unicode.h"
#include "evaluation/text_passes.h"

namespace zoo {

namespace {

constexpr size_t kMaxShiftLength = 10;
constexpr int64_t kMaxShiftDistance = 50;
constexpr int64_t kMaxCandidates = 1000;
constexpr int64_t kBeamWidth = 25;
constexpr int kInfinite = 1 << 29;

// Edits of a cell of the table.
constexpr char kKeep = ' ', kReplace = 's', kInsert = 'i', kDelete = 'd', kUnset = 'x';

template <size_t N>
bool is_in(const char32_t (&ranges)[N][2], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const auto& range) { return c >= range[0] && c <= range[1]; });
}

bool is_asian_punctuation(char32_t c) {
  static constexpr char32_t kRanges[][2] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F},
                                            {0x30FB, 0x30FB}, {0xFF01, 0xFF02}, {0xFF08, 0xFF09},
                                            {0xFF0C, 0xFF0C}, {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1B},
                                            {0xFF1F, 0xFF1F}, {0xFF61, 0xFF65}};
  return c >= 0x3001 && is_in(kRanges, c);
}

/// Ideographs and what stands beside them. The range that sacreBLEU means for enclosed letters is
/// written as U+3200 … U+3F22. Its rules for kana match nothing after the rules for Western text.
bool is_asian_word(char32_t c) {
  static constexpr char32_t kRanges[][2] = {{0x2E80, 0x2EFF}, {0x31C0, 0x31EF}, {0x3200, 0x4DBF},
                                            {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};
  return c >= 0x2E80 && is_in(kRanges, c);
}

bool is_western_punctuation(char c) {
  return std::string_view(".,?:;!\"()").find(c) != std::string_view::npos;
}

template <class Fits>
void copy_without(std::string_view text, std::string& out, const Fits& fits) {
  out.clear();
  for_each_code_point(text, [&](char32_t c, std::string_view bytes) {
    if (!fits(c)) out += bytes;
  });
}

}  // namespace

void ShiftSearch::shift_words(const Words& words, const Shift& shift, Words& shifted) {
  const auto at = [&](size_t i) {
    return words.begin() + static_cast<int64_t>(std::min(i, words.size()));
  };
  const auto [gain, length, start, target] = shift;
  // [from, middle) and [middle, to) change places. A target inside the run or right behind it moves
  // the run to the right by as much as the target is away from its start.
  const size_t from = std::min(start, target);
  const size_t middle = target < start ? start : start + length;
  const size_t to = target < start            ? start + length
                    : target > start + length ? target
                                              : target + length;
  shifted.assign(words.begin(), at(from));
  shifted.insert(shifted.end(), at(middle), at(to));
  shifted.insert(shifted.end(), at(from), at(middle));
  shifted.insert(shifted.end(), at(to), words.end());
}

void ShiftSearch::fill_row(size_t i, uint32_t word, const Words& reference, const int* above,
                           int* row, char* operations) const {
  const auto size = static_cast<int64_t>(reference.size());
  const double ratio = static_cast<double>(size) / static_cast<double>(rows_);
  const int64_t beam = static_cast<double>(kBeamWidth) < ratio / 2
                           ? static_cast<int64_t>(std::ceil(ratio / 2 + kBeamWidth))
                           : kBeamWidth;
  const auto diagonal = static_cast<int64_t>(std::floor(static_cast<double>(i) * ratio));
  const int64_t first = std::max<int64_t>(0, diagonal - beam);
  const int64_t end = i == rows_ ? size + 1 : std::min(size + 1, diagonal + beam);
  std::fill(row, row + size + 1, kInfinite);
  if (operations != nullptr) std::fill(operations, operations + size + 1, kUnset);
  for (int64_t j = first; j < end; ++j) {
    if (j == 0) {
      row[0] = above[0] + 1;
      if (operations != nullptr) operations[0] = kDelete;
      continue;
    }
    const bool same = word == reference[static_cast<size_t>(j - 1)];
    int cost = above[j - 1] + (same ? 0 : 1);
    if (operations != nullptr) {  // of equal costs the first counts
      if (cost < kInfinite) operations[j] = same ? kKeep : kReplace;
      if (above[j] + 1 < std::min(cost, kInfinite)) operations[j] = kDelete;
      if (row[j - 1] + 1 < std::min({cost, above[j] + 1, kInfinite})) operations[j] = kInsert;
    }
    row[j] = std::min({cost, above[j] + 1, row[j - 1] + 1, kInfinite});
  }
}

void ShiftSearch::fill_table(const Words& reference, size_t first_row) {
  for (size_t i = first_row; i <= rows_; ++i)
    fill_row(i, words_[i - 1], reference, &costs_[(i - 1) * width_], &costs_[i * width_],
             &operations_[i * width_]);
}

/// Follows the edits back from the end.
void ShiftSearch::align() {
  path_.clear();
  for (size_t i = rows_, j = width_ - 1; i > 0 || j > 0;) {
    const char operation = operations_[i * width_ + j];
    path_.push_back(operation);
    if (operation != kInsert) --i;
    if (operation != kDelete) --j;
  }
  aligned_.clear();
  wrong_words_.assign(1, 0);
  wrong_references_.assign(1, 0);
  int64_t word = -1;
  for (auto operation = path_.rbegin(); operation != path_.rend(); ++operation) {
    const int wrong = *operation == kKeep ? 0 : 1;
    if (*operation != kInsert) {
      ++word;
      wrong_words_.push_back(wrong_words_.back() + wrong);
    }
    if (*operation != kDelete) {
      aligned_.push_back(word);
      wrong_references_.push_back(wrong_references_.back() + wrong);
    }
  }
}

int ShiftSearch::cost_of_shifted(const Shift& shift, const Words& reference) {
  shift_words(words_, shift, shifted_);
  // Rows before the first change are those of words_; from the last change on, one that is equal to
  // that of words_ leads to the same end.
  const size_t unchanged = std::min(shift.start, shift.target);
  size_t changed_until = rows_;
  while (changed_until > unchanged && shifted_[changed_until - 1] == words_[changed_until - 1])
    --changed_until;
  if (changed_until == unchanged) return costs_.back();
  const int* above = &costs_[unchanged * width_];
  int* row = row_a_.data();
  int* spare = row_b_.data();
  for (size_t i = unchanged + 1; i <= rows_; ++i) {
    fill_row(i, shifted_[i - 1], reference, above, row, nullptr);
    if (i >= changed_until && std::equal(row, row + width_, &costs_[i * width_]))
      return costs_.back();
    above = row;
    std::swap(row, spare);
  }
  return above[width_ - 1];
}

void ShiftSearch::try_targets(const Run& run, const Words& reference, Shift& best, bool& found) {
  const auto rank =
      [](const Shift& shift) {  // more gain, longer, from further left, to further left
        return std::tuple(-shift.gain, -static_cast<int64_t>(shift.length), shift.start,
                          shift.target);
      };
  int64_t tried = -1;
  for (size_t place = run.reference_start; place <= run.reference_start + run.length; ++place) {
    // Behind the word that is aligned to the one before `place`.
    const int64_t target = place == 0 ? 0 : aligned_[place - 1] + 1;
    if (target == tried) continue;
    tried = target;
    Shift shift{0, run.length, run.start, static_cast<size_t>(target)};
    shift.gain = costs_.back() - cost_of_shifted(shift, reference);
    ++candidates_;
    if (!found || rank(shift) < rank(best)) best = shift;
    found = true;
  }
}

bool ShiftSearch::find_best_shift(const Words& reference, Shift& best) {
  bool found = false;
  for (size_t start = 0; start < words_.size(); ++start)
    for (size_t other = 0; other < reference.size(); ++other) {
      if (std::abs(static_cast<int64_t>(other) - static_cast<int64_t>(start)) > kMaxShiftDistance)
        continue;
      const size_t longest =
          std::min({kMaxShiftLength, words_.size() - start, reference.size() - other});
      for (size_t length = 1; length <= longest; ++length) {
        if (words_[start + length - 1] != reference[other + length - 1]) break;
        // Both sides must have an error in the run, and it must not stand there already.
        if (wrong_words_[start + length] == wrong_words_[start] ||
            wrong_references_[other + length] == wrong_references_[other])
          continue;
        const int64_t place = aligned_[other];
        if (place >= static_cast<int64_t>(start) && place < static_cast<int64_t>(start + length))
          continue;
        try_targets({start, other, length}, reference, best, found);
        if (candidates_ >= kMaxCandidates) return found;
      }
    }
  return found;
}

int64_t ShiftSearch::edits(const Words& hypothesis, const Words& reference) {
  if (reference.empty()) return static_cast<int64_t>(hypothesis.size());
  words_ = hypothesis;
  rows_ = words_.size();
  width_ = reference.size() + 1;
  costs_.resize((rows_ + 1) * width_);
  operations_.resize((rows_ + 1) * width_);
  row_a_.resize(width_);
  row_b_.resize(width_);
  for (size_t j = 0; j < width_; ++j) costs_[j] = static_cast<int>(j);
  std::fill_n(operations_.begin(), width_, kInsert);
  fill_table(reference, 1);
  candidates_ = 0;
  int64_t shifts = 0;
  // Shifts are made as long as they lower the distance.
  for (;;) {
    align();
    Shift best;
    if (!find_best_shift(reference, best) || candidates_ >= kMaxCandidates || best.gain <= 0) break;
    ++shifts;
    shift_words(words_, best, shifted_);
    words_.swap(shifted_);
    fill_table(reference, std::min(best.start, best.target) + 1);
  }
  return shifts + costs_.back();
}

void Ter::normalize(std::string& text) {
  unescape_xml(text);
  spaced_.assign(1, ' ').append(text) += ' ';
  set_apart(spaced_, next_,
            [](char c) { return is_free_punctuation(static_cast<unsigned char>(c)); });
  text.swap(next_);
  replace_all(text, "'s ", " 's ");
  split_western_period_and_dash(text, next_);
  if (!options_.asian_support) return;
  next_.clear();
  append_apart(text, next_, [](char32_t c) { return is_asian_word(c) || is_asian_punctuation(c); });
  text.swap(next_);
}

std::string_view Ter::tokenized(std::string_view line, std::string& text) {
  text.clear();
  line = trim_unicode_end(line);
  if (options_.case_sensitive)
    text += line;
  else
    append_lower_case(line, text);
  if (options_.normalized) normalize(text);
  if (options_.no_punct) {
    std::erase_if(text, is_western_punctuation);
    if (options_.asian_support) {
      copy_without(text, next_, is_asian_punctuation);
      text.swap(next_);
    }
  }
  return text;
}

/// sacreBLEU tokenizes references twice. It matters where the first time makes a blank of other
/// white space, before which a possessive is split, or an escape of an escaped one.
std::string_view Ter::tokenized_twice(std::string_view line) {
  const std::string_view once = tokenized(line, reference_text_);
  if (!options_.normalized && !options_.no_punct) return once;  // then it changes nothing
  once_.clear();
  for_each_word(once, [&](std::string_view word) {
    if (!once_.empty()) once_ += ' ';
    once_ += word;
  });
  return tokenized(once_, reference_text_);
}

void Ter::measure(std::string_view hypothesis, std::span<const std::string_view> references,
                  std::span<double> statistics) {
  numbers_.clear();
  hypothesis_.clear();
  for_each_word(tokenized(hypothesis, hypothesis_text_),
                [&](std::string_view word) { hypothesis_.push_back(numbers_.add(word)); });
  int64_t fewest = std::numeric_limits<int64_t>::max();
  size_t words = 0;
  for (const std::string_view reference : references) {
    reference_.clear();
    for_each_word(tokenized_twice(reference),
                  [&](std::string_view word) { reference_.push_back(numbers_.find(word)); });
    words += reference_.size();
    fewest = std::min(fewest, search_.edits(hypothesis_, reference_));
  }
  statistics[0] = static_cast<double>(fewest);
  statistics[1] = static_cast<double>(words) / static_cast<double>(references.size());
}

MetricScore Ter::score(std::span<const double> sums) const {
  const double edits = sums[0], words = sums[1];
  if (words > 0) return {"TER", 100 * (edits / words), ""};
  return {"TER", edits > 0 ? 100.0 : 0.0, ""};
}

std::vector<std::pair<std::string, std::string>> Ter::settings() const {
  const auto yes_or_no = [](bool value) { return std::string(value ? "yes" : "no"); };
  return {
      {"case", options_.case_sensitive ? "mixed" : "lc"}, {"tok", "tercom"},
      {"norm", yes_or_no(options_.normalized)},           {"punct", yes_or_no(!options_.no_punct)},
      {"asian", yes_or_no(options_.asian_support)},       {"version", kSacrebleuVersion}};
}

}  // namespace zoo
