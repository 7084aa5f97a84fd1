#include "data/documents.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "data/line_place.h"

namespace zoo {

fs::path pack_documents_cached(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                               bool blank_lines_end, const fs::path& cache) {
  require_writable_folder(cache);
  TokenFileInfo info;
  info.source_hash = source_hash(texts);
  info.tokenizer_hash = tokenizer_hash(tokenizer, cache);
  return cached_token_file(
      cache, cat("documents ", blank_lines_end, info.source_hash, info.tokenizer_hash),
      [&](const fs::path& path) {
        int64_t lines = 0;
        for (const fs::path& text : texts)
          for_each_line(MappedFile(text).text(), [&](std::string_view) { ++lines; });
        write_file(path, [&](std::ostream& out) {
          TokenFileWriter writer(out, tokenizer.vocab_size(), lines + std::ssize(texts));
          for (const fs::path& text : texts) {
            int64_t number = 0;
            const MappedFile file(text);
            for_each_line(file.text(), [&](std::string_view line) {
              ++number;
              with_place(utf8(text), number, [&] {
                if (!is_blank(line)) writer.append(tokenizer.encode(line));
              });
              // Without tokens: the document's end.
              if (blank_lines_end || !is_blank(line)) writer.end_sequence();
            });
            writer.end_sequence();
          }
          if (writer.count() == 0)
            throw DataError(
                cat(utf8(texts.empty() ? path : texts[0]), ": holds no text; nothing to learn"));
          writer.finish(info);
        });
      });
}

DocumentCorpus::DocumentCorpus(const fs::path& packed, int64_t max_tokens)
    : file_(packed), max_tokens_(max_tokens) {
  Passage open;
  const auto close = [&] {
    if (open.count > 0) passages_.push_back(open);
    open.count = 0;
  };
  for (int64_t line = 0; line < info().sequences; ++line) {
    auto [first, count] = file_.sequence(line);
    if (count == 0 || open.count + count > max_tokens) close();
    for (; count > max_tokens; first += max_tokens, count -= max_tokens)
      passages_.push_back({first, max_tokens, line});
    if (open.count == 0) open = {first, 0, line};
    open.count += count;
  }
  close();
  if (passages_.empty())
    throw FormatError(cat(utf8(packed),
                          ": holds no lines; remove the file, and it is packed "
                          "again"));
}

std::vector<int64_t> DocumentCorpus::read(int64_t first, int64_t count) const {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  file_.read(first, ids);
  return ids;
}

std::vector<int64_t> DocumentCorpus::tokens(int64_t passage) const {
  return read(passages_[passage].first, passages_[passage].count);
}

std::vector<int64_t> DocumentCorpus::line_ends(const Passage& passage) const {
  std::vector<int64_t> ends;
  for (int64_t line = passage.line; line < info().sequences; ++line) {
    const auto [first, count] = file_.sequence(line);
    if (first + count >= passage.first + passage.count) break;
    if (count > 0 && first + count > passage.first) ends.push_back(first + count);
  }
  return ends;
}

SentencePair DocumentCorpus::pair(int64_t index, std::pair<int64_t, int64_t> others,
                                  RandomStream& random) const {
  const Passage& passage = passages_[index];
  const std::vector<int64_t> ends = line_ends(passage);
  SentencePair pair;
  pair.follows = !ends.empty() && random.next_below(2) == 0;
  // A passage of one line may fill max_tokens: then its first half is all that is used.
  const int64_t end = ends.empty() ? passage.first + std::min(passage.count, (max_tokens_ + 1) / 2)
                                   : ends[random.next_below(ends.size())];
  pair.a = read(passage.first, end - passage.first);
  if (pair.follows) {
    pair.b = read(end, passage.first + passage.count - end);
    return pair;
  }
  int64_t other =
      others.first + static_cast<int64_t>(random.next_below(others.second - others.first));
  if (other == index) other = other + 1 < others.second ? other + 1 : others.first;
  const Passage& source = passages_[other];
  const std::vector<int64_t> starts = line_ends(source);
  const uint64_t start = random.next_below(starts.size() + 1);
  const int64_t first = start == 0 ? source.first : starts[start - 1];
  const int64_t room = max_tokens_ - std::ssize(pair.a);
  pair.b = read(first, std::min(room, source.first + source.count - first));
  return pair;
}

}  // namespace zoo
