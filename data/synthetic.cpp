#include "data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/random.h"

namespace zoo {

namespace {

constexpr uint64_t kTextStream = uint64_t{5} << 56, kSplitStream = uint64_t{6} << 56,
                   kSumStream = uint64_t{7} << 56;

std::string random_text(RandomStream& random, int64_t length, int64_t symbols, char first) {
  std::string text;
  for (int64_t i = 0; i < length; ++i)
    text += static_cast<char>(first + random.next_below(symbols));
  return text;
}

std::string digits_of(int64_t number, int64_t width) {
  std::string text(width, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number /= 10)
    *digit = static_cast<char>('0' + number % 10);
  return text;
}

int64_t power_of_ten(int64_t exponent) {
  int64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

std::string copy_line(RandomStream& random, int64_t length, int64_t symbols, bool reverse) {
  const auto size = 1 + static_cast<int64_t>(random.next_below(length));
  const std::string text = random_text(random, size, symbols, 'a');
  return text + ">\t" + (reverse ? std::string(text.rbegin(), text.rend()) : text) + ".";
}

std::string induction_line(RandomStream& random, int64_t length, int64_t symbols) {
  std::string text = random_text(random, length, symbols, 'a');
  const auto mark = random.next_below(length - 1);
  text[mark] = '?';
  return text + "?\t" + text[mark + 1];
}

/// Half of the texts must repeat a digit often, as in minGPT's demonstration: these are the hard
/// ones.
std::string sort_text(RandomStream& random, int64_t length, int64_t symbols) {
  for (;;) {
    std::string text = random_text(random, length, symbols, '0');
    const auto unique = static_cast<int64_t>(std::set<char>(text.begin(), text.end()).size());
    if (random.next_uniform() < 0.5 && unique > length / 2) continue;
    return text;
  }
}

bool is_for_valid(const std::string& text) {
  uint64_t number = 0;
  for (const char c : text) number = number * 10 + static_cast<uint64_t>(c - '0');
  return philox(0, kSplitStream, number)[0] % 4 == 0;
}

std::vector<std::string> sort_lines(RandomStream& random, int64_t lines, int64_t length,
                                    int64_t symbols, bool valid) {
  std::vector<std::string> result;
  while (static_cast<int64_t>(result.size()) < lines) {
    const std::string text = sort_text(random, length, symbols);
    if (is_for_valid(text) != valid) continue;
    std::string sorted = text;
    std::sort(sorted.begin(), sorted.end());
    result.push_back(text + "\t" + sorted);
  }
  return result;
}

std::string sum_line(int64_t index, int64_t digits) {
  const int64_t limit = power_of_ten(digits);
  const int64_t a = index / limit, b = index % limit;
  const std::string sum = digits_of(a + b, digits + 1);
  return digits_of(a, digits) + digits_of(b, digits) + "\t" + std::string(sum.rbegin(), sum.rend());
}

std::string numbers_text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += cat(text.empty() ? "" : " ", number);
  return text;
}

std::string translation_line(RandomStream& random, SyntheticTask task, int64_t length,
                             int64_t symbols) {
  std::vector<int64_t> numbers(1 + random.next_below(length));
  for (int64_t& number : numbers) number = static_cast<int64_t>(random.next_below(symbols));
  std::string line = numbers_text(numbers) + "\t";
  if (task == SyntheticTask::reverse) std::reverse(numbers.begin(), numbers.end());
  if (task == SyntheticTask::sort) std::sort(numbers.begin(), numbers.end());
  return line + numbers_text(numbers);
}

SyntheticData make_translations(const SyntheticOptions& options) {
  const int64_t length = options.length == 0 ? 25 : options.length;
  const int64_t valid_length = options.valid_length == 0 ? length : options.valid_length;
  SyntheticData data;
  const auto fill = [&](std::vector<std::string>& lines, uint64_t part, int64_t count,
                        int64_t longest) {
    RandomStream random(static_cast<uint64_t>(options.seed), kTextStream | part);
    for (int64_t i = 0; i < count; ++i)
      lines.push_back(translation_line(random, options.task, longest,
                                       options.symbols == 0 ? 50 : options.symbols));
  };
  fill(data.train, 0, options.train, length);
  fill(data.valid, 1, options.valid, valid_length);
  fill(data.test, 2, options.test, valid_length);
  return data;
}

int64_t default_length(SyntheticTask task) {
  switch (task) {
    case SyntheticTask::sort:
      return 6;
    case SyntheticTask::add:
      return 2;
    case SyntheticTask::induction:
      return 16;
    default:
      return 10;
  }
}

int64_t default_symbols(SyntheticTask task) {
  switch (task) {
    case SyntheticTask::sort:
      return 3;
    case SyntheticTask::add:
      return 10;
    case SyntheticTask::induction:
      return 16;
    default:
      return 26;
  }
}

}  // namespace

std::string SyntheticOptions::check() const {
  const std::string name(enum_name(task));
  if (translation) {
    if (task == SyntheticTask::add || task == SyntheticTask::induction)
      return cat("translation: there is copy, reverse and sort, found ", name);
    if (length < 0 || length > 100000 || valid_length < 0 || valid_length > 100000)
      return cat("length, valid_length: must be in [1, 100000], found ", length, " and ",
                 valid_length);
    if (symbols != 0 && symbols < 2) return cat("symbols: must be at least 2, found ", symbols);
    if (train < 1 || valid < 1 || test < 0)
      return cat("train, valid, test: must be at least 1, 1 and 0, found ", train, ", ", valid,
                 " and ", test);
    return "";
  }
  const bool adds = task == SyntheticTask::add, sorts = task == SyntheticTask::sort;
  const int64_t max_length = adds ? 8 : sorts ? 18 : 100000, max_symbols = adds || sorts ? 10 : 26;
  const int64_t min_length =
      adds || task == SyntheticTask::copy || task == SyntheticTask::reverse ? 1 : 2;
  if (length != 0 && (length < min_length || length > max_length))
    return cat("length: must be in [", min_length, ", ", max_length, "] for ", name, ", found ",
               length);
  if (symbols != 0 && (symbols < 2 || symbols > max_symbols || (adds && symbols != 10)))
    return cat("symbols: must be ", adds ? "10" : cat("in [2, ", max_symbols, "]"), " for ", name,
               ", found ", symbols);
  const auto texts = std::pow(symbols == 0 ? default_symbols(task) : symbols,
                              length == 0 ? default_length(task) : length);
  if (sorts && texts < 64)
    return cat("length, symbols: ", texts, " texts are too few to split for sort; at least 64");
  if (train < 1 || valid < 1)
    return cat("train, valid: must be at least 1, found ", train, " and ", valid);
  if (adds) {
    const int64_t all = power_of_ten(2 * (length == 0 ? 2 : length));
    if (valid >= all) return cat("valid: there are ", all, " sums in all, found ", valid);
  }
  return "";
}

SyntheticData make_synthetic(const SyntheticOptions& options) {
  if (const std::string problem = options.check(); !problem.empty())
    throw ConfigError("synthetic data: " + problem);
  if (options.translation) return make_translations(options);
  const int64_t length = options.length == 0 ? default_length(options.task) : options.length;
  const int64_t symbols = options.symbols == 0 ? default_symbols(options.task) : options.symbols;
  const auto seed = static_cast<uint64_t>(options.seed);
  const int64_t counts[] = {options.train, options.valid};
  SyntheticData data;

  if (options.task == SyntheticTask::add) {
    const int64_t all = power_of_ten(2 * length);
    const int64_t train = std::min(options.train, all - options.valid);
    for (int64_t i = 0; i < options.valid + train; ++i)
      (i < options.valid ? data.valid : data.train)
          .push_back(
              sum_line(static_cast<int64_t>(permuted_index(i, all, seed, kSumStream)), length));
    return data;
  }
  for (int part = 0; part < 2; ++part) {
    RandomStream random(seed, kTextStream | static_cast<uint64_t>(part));
    std::vector<std::string>& lines = part == 0 ? data.train : data.valid;
    if (options.task == SyntheticTask::sort) {
      lines = sort_lines(random, counts[part], length, symbols, part == 1);
      continue;
    }
    for (int64_t i = 0; i < counts[part]; ++i)
      lines.push_back(
          options.task == SyntheticTask::induction
              ? induction_line(random, length, symbols)
              : copy_line(random, length, symbols, options.task == SyntheticTask::reverse));
  }
  return data;
}

}  // namespace zoo
