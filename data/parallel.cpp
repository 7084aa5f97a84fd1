#include "data/parallel.h"

#include <algorithm>

#include "core/error.h"
#include "core/lines.h"
#include "core/text.h"
#include "data/line_place.h"
#include "data/text_chunks.h"

namespace zoo {

namespace {

int64_t count_lines(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view text = file.text();
  const bool unfinished = !text.empty() && text.back() != '\n';
  return std::count(text.begin(), text.end(), '\n') + (unfinished ? 1 : 0);
}

/// A line with the CRs within it turned to blanks.
class Line {
 public:
  explicit Line(std::string_view line) : view_(line) {
    if (line.find('\r') == std::string_view::npos) return;
    normal_ = normalize_line_ends(line);
    view_ = normal_;
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  std::string_view view() const { return view_; }

 private:
  std::string normal_;
  std::string_view view_;
};

void for_each_line_pair(const fs::path& source, const fs::path& target, const UsePair& use) {
  const int64_t source_lines = count_lines(source), target_lines = count_lines(target);
  if (source_lines != target_lines)
    throw DataError(cat(utf8(source), " has ", source_lines, " lines, ", utf8(target), " has ",
                        target_lines,
                        "; line i of one belongs to line i of the other, so they need equally "
                        "many"));
  const std::string both = utf8(source) + " + " + utf8(target);
  LineReader sources(utf8(source)), targets(utf8(target));
  for (int64_t number = 1; number <= source_lines; ++number) {
    const std::string left = sources.next().value_or(""), right = targets.next().value_or("");
    const Line source_line(left), target_line(right);
    with_place(both, number, [&] { use(source_line.view(), target_line.view()); });
  }
}

void require_end_token(const Tokenizer& tokenizer, const char* side) {
  if (!tokenizer.special_ids().eos)
    throw ConfigError(cat("tokenizer: the ", side, "'s, of type \"", tokenizer.type(),
                          "\", has no end token, without which no output would end; use "
                          "sentencepiece or bpe"));
}

int64_t count_pairs(const ParallelFiles& files) {
  int64_t lines = 0;
  for (const auto* list : {&files.source, &files.tsv})
    for (const fs::path& file : *list) lines += count_lines(file);
  return lines;
}

}  // namespace

std::vector<fs::path> ParallelFiles::all() const {
  std::vector<fs::path> files = source;
  files.insert(files.end(), target.begin(), target.end());
  files.insert(files.end(), tsv.begin(), tsv.end());
  return files;
}

void for_each_tsv_pair(const fs::path& tsv, std::string_view columns, const UsePair& use) {
  const MappedFile file(tsv);
  int64_t number = 0;
  for_each_line(file.text(), [&](std::string_view text) {
    const Line line(text);
    with_place(utf8(tsv), ++number, [&] {
      if (is_blank(line.view())) return use("", "");
      const auto tabs = std::count(line.view().begin(), line.view().end(), '\t');
      if (tabs != 1)
        throw DataError(
            cat("expected ", columns, ", found ", tabs, " tabs; every line needs exactly one"));
      const size_t tab = line.view().find('\t');
      use(line.view().substr(0, tab), line.view().substr(tab + 1));
    });
  });
}

void for_each_pair(const ParallelFiles& files, const UsePair& use) {
  for (size_t i = 0; i < files.source.size(); ++i)
    for_each_line_pair(files.source[i], files.target.at(i), use);
  for (const fs::path& tsv : files.tsv) for_each_tsv_pair(tsv, "source<TAB>target", use);
}

PairFate encode_pair(std::string_view source, std::string_view target, const PairEncoding& encoding,
                     EncodedPair& out) {
  if (is_blank(source) || is_blank(target)) return PairFate::blank;
  out.source = encode_sentence(encoding.source, source);
  out.target = encode_sentence(encoding.target, target);
  // Characters that a tokenizer throws away may be all there is: then only the end token is left.
  if (out.source.size() < 2 || out.target.size() < 2) return PairFate::blank;
  const bool fits = static_cast<int64_t>(out.source.size()) <= encoding.max_source_length &&
                    static_cast<int64_t>(out.target.size()) <= encoding.max_target_length;
  return fits ? PairFate::kept : PairFate::too_long;
}

fs::path pack_parallel_cached(const ParallelFiles& files, const PairEncoding& encoding,
                              const fs::path& cache, const PackProgress& progress) {
  require_end_token(encoding.source, "source");
  require_end_token(encoding.target, "target");
  require_writable_folder(cache);
  TokenFileInfo info;
  info.source_hash = source_hash(files.all());
  info.tokenizer_hash = tokenizer_hash(encoding.target, cache);
  if (&encoding.source != &encoding.target)
    info.tokenizer_hash = sha256(tokenizer_hash(encoding.source, cache) + info.tokenizer_hash);
  // Which file is which side makes a difference that the hash of all does not tell.
  const std::string key =
      cat(info.source_hash, info.tokenizer_hash, " ", files.source.size(), " ", files.tsv.size(),
          " ", encoding.max_source_length, " ", encoding.max_target_length);
  return cached_token_file(cache, key, [&](const fs::path& path) {
    const int64_t pairs = count_pairs(files);
    write_file(path, [&](std::ostream& out) {
      TokenFileWriter writer(
          out, std::max(encoding.source.vocab_size(), encoding.target.vocab_size()), 2 * pairs);
      EncodedPair pair;
      int64_t done = 0;
      for_each_pair(files, [&](std::string_view source, std::string_view target) {
        const PairFate fate = encode_pair(source, target, encoding, pair);
        info.blank += fate == PairFate::blank;
        info.too_long += fate == PairFate::too_long;
        if (fate == PairFate::kept)
          for (const auto* side : {&pair.source, &pair.target}) {
            writer.append(*side);
            writer.end_sequence();
          }
        if (progress) progress(static_cast<double>(++done) / static_cast<double>(pairs));
      });
      if (writer.sequences() == 0)
        throw DataError(cat(utf8(files.all().empty() ? path : files.all()[0]),
                            ": no usable pair of sentences; blank: ", info.blank, ", longer than ",
                            encoding.max_source_length, " tokens (source) or ",
                            encoding.max_target_length, " (target): ", info.too_long));
      writer.finish(info);
    });
  });
}

ParallelCorpus::ParallelCorpus(const fs::path& packed) : file_(packed) {
  if (info().sequences == 0 || info().sequences % 2 != 0)
    throw FormatError(cat(utf8(packed), ": holds ", info().sequences,
                          " sequences, but pairs of them are needed; remove the file, and it is "
                          "packed again"));
}

void ParallelCorpus::read(int64_t sequence, std::span<int64_t> out) const {
  const auto [first, length] = file_.sequence(sequence);
  file_.read(first, out.first(static_cast<size_t>(length)));
}

}  // namespace zoo
