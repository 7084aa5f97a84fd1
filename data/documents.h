#pragma once
// Running text for masked language models: lines of documents, packed into a token file with a
// sequence for each line. Passages of whole lines are its examples. A corpus of any size needs
// little memory: 24 bytes a passage.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/random.h"
#include "data/token_file.h"
#include "tokenizer/text_input.h"

namespace zoo {

/// The packed lines of these files in the folder `cache`, packed if they are not there yet.
/// @param blank_lines_end whether a blank line ends a document, or only the end of a file does
/// @throws DataError if a text is missing or holds no token
fs::path pack_documents_cached(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                               bool blank_lines_end, const fs::path& cache);

/// Lines of one document that stand together.
struct Passage {
  int64_t first = 0, count = 0;  ///< tokens
  int64_t line = 0;              ///< the first line
};

/// A text and what follows it, or does not.
struct SentencePair {
  std::vector<int64_t> a, b;
  bool follows = false;  ///< b follows a in the text
};

class DocumentCorpus {
 public:
  /// Cuts each document into passages of as many whole lines as have at most `max_tokens` tokens; a
  /// longer line is cut by itself. @throws DataError, FormatError
  DocumentCorpus(const fs::path& packed, int64_t max_tokens);

  const TokenFileInfo& info() const { return file_.info(); }
  int64_t size() const { return std::ssize(passages_); }  ///< passages
  int64_t length(int64_t passage) const { return passages_[passage].count; }
  std::vector<int64_t> tokens(int64_t passage) const;

  /// The passage cut in two at a line's end; in half of the cases, and where the passage is one
  /// line, the second part is replaced by lines of another passage: Devlin et al. 2019, section
  /// 3.1, task 2. Both have at most max_tokens tokens together.
  /// @param others passages [first, second) that those lines may come from
  SentencePair pair(int64_t passage, std::pair<int64_t, int64_t> others,
                    RandomStream& random) const;

 private:
  std::vector<int64_t> read(int64_t first, int64_t count) const;
  std::vector<int64_t> line_ends(const Passage& passage) const;

  TokenFile file_;
  int64_t max_tokens_;
  std::vector<Passage> passages_;
};

}  // namespace zoo
