#include "evaluation/score_files.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/lines.h"
#include "core/unicode.h"

namespace zoo {

namespace {

constexpr int64_t kBucketWidth = 10;
constexpr size_t kBuckets = 7;
constexpr int64_t kSuspicious = 100;  // lines that end in " ." before sacreBLEU warns

bool is_utf8(std::string_view text) {
  bool valid = true;
  for_each_code_point(
      text, [&](char32_t c, std::string_view bytes) { valid &= c != 0xFFFD || bytes == "\uFFFD"; });
  return valid;
}

/// Signs that text is not what a reader sees.
class Doubts {
 public:
  explicit Doubts(const HypothesisFiles& files)
      : files_(files), invalid_(files.references.size() + 1) {}

  void look_at(std::string_view hypothesis, std::span<const std::string_view> references) {
    ++line_;
    if (hypothesis.ends_with(" .")) ++spaced_periods_;
    if (hypothesis.find("@@ ") != std::string_view::npos || hypothesis.ends_with("@@"))
      ++joined_pieces_;
    if (hypothesis.find("\u2581") != std::string_view::npos) ++joined_pieces_;
    note_invalid(0, hypothesis);
    for (size_t i = 0; i < references.size(); ++i) note_invalid(i + 1, references[i]);
  }

  std::vector<std::string> notices() const {
    std::vector<std::string> notices;
    if (spaced_periods_ >= kSuspicious)
      notices.push_back(
          cat(files_.hypotheses, ": ", spaced_periods_,
              " lines end in a period with a blank before it, as tokenized text does; "
              "score detokenized text"));
    if (joined_pieces_ > 0)
      notices.push_back(cat(files_.hypotheses, ": ", joined_pieces_,
                            " lines hold pieces of words (@@ or ▁); join them before scoring"));
    for (size_t i = 0; i < invalid_.size(); ++i)
      if (invalid_[i] > 0)
        notices.push_back(cat(i == 0 ? files_.hypotheses : files_.references[i - 1], ": line ",
                              invalid_[i],
                              " is the first that is not UTF-8; its bytes are scored as "
                              "they are"));
    return notices;
  }

 private:
  void note_invalid(size_t file, std::string_view text) {
    if (invalid_[file] == 0 && !is_utf8(text)) invalid_[file] = line_;
  }

  const HypothesisFiles& files_;
  int64_t line_ = 0, spaced_periods_ = 0, joined_pieces_ = 0;
  std::vector<int64_t> invalid_;  // the first line of each file with such bytes; 0: none
};

int64_t num_words(std::string_view text) {
  int64_t words = 0;
  for_each_word(text, [&](std::string_view) { ++words; });
  return words;
}

std::vector<LengthBucket> empty_buckets(size_t width) {
  std::vector<LengthBucket> buckets(kBuckets);
  for (size_t i = 0; i < kBuckets; ++i) {
    buckets[i].shortest = static_cast<int64_t>(i) * kBucketWidth;
    buckets[i].longest = i + 1 == kBuckets ? -1 : buckets[i].shortest + kBucketWidth - 1;
    buckets[i].sums.resize(width);
  }
  return buckets;
}

void add_to(std::vector<double>& sums, std::span<const double> line) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += line[i];
}

}  // namespace

void for_each_hypothesis(
    const HypothesisFiles& files,
    const std::function<void(std::string_view hypothesis,
                             std::span<const std::string_view> references)>& use) {
  std::vector<LineReader> readers;
  readers.reserve(files.references.size() + 1);
  readers.emplace_back(files.hypotheses);
  for (const std::string& path : files.references) readers.emplace_back(path);
  std::vector<std::optional<std::string>> lines(readers.size());
  std::vector<std::string_view> texts(readers.size());
  for (int64_t number = 0;; ++number) {
    for (size_t i = 0; i < readers.size(); ++i) lines[i] = readers[i].next();
    const auto ended = static_cast<size_t>(
        std::count_if(lines.begin(), lines.end(), [](const auto& line) { return !line; }));
    if (ended == lines.size()) return;
    if (ended > 0) {
      std::string counts;
      for (size_t i = 0; i < readers.size(); ++i) {
        int64_t found = number + (lines[i] ? 1 : 0);
        while (lines[i] && readers[i].next()) ++found;
        counts += cat(i == 0 ? "" : ", ", readers[i].name(), " has ", found);
      }
      throw DataError(cat("unequal numbers of lines: ", counts,
                          "; line i of the hypotheses belongs to line i of each reference"));
    }
    for (size_t i = 0; i < lines.size(); ++i) texts[i] = trim_unicode_end(*lines[i]);
    use(texts[0], std::span(texts).subspan(1));
  }
}

ScoredFiles score_files(const HypothesisFiles& files,
                        const std::vector<std::unique_ptr<Metric>>& metrics,
                        const ScoreFilesOptions& options) {
  ScoredFiles scored;
  std::vector<std::vector<double>> statistics;
  for (const auto& metric : metrics) {
    const size_t width = metric->num_statistics();
    statistics.emplace_back(width);
    ScoredMetric& result = scored.metrics.emplace_back();
    result.sums.resize(width);
    if (options.by_length) result.buckets = empty_buckets(width);
  }
  Doubts doubts(files);
  for_each_hypothesis(files, [&](std::string_view hypothesis,
                                 std::span<const std::string_view> references) {
    ++scored.lines;
    doubts.look_at(hypothesis, references);
    const size_t bucket =
        options.by_length
            ? std::min(kBuckets - 1, static_cast<size_t>(num_words(references[0]) / kBucketWidth))
            : 0;
    for (size_t m = 0; m < metrics.size(); ++m) {
      metrics[m]->measure(hypothesis, references, statistics[m]);
      ScoredMetric& result = scored.metrics[m];
      add_to(result.sums, statistics[m]);
      if (options.keep_lines)
        result.lines.insert(result.lines.end(), statistics[m].begin(), statistics[m].end());
      if (!options.by_length) continue;
      ++result.buckets[bucket].lines;
      add_to(result.buckets[bucket].sums, statistics[m]);
    }
  });
  if (scored.lines == 0)
    throw DataError(cat(files.hypotheses, ": holds no line; there is nothing to score"));
  scored.notices = doubts.notices();
  return scored;
}

}  // namespace zoo
