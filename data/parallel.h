#pragma once
// Parallel text: sentences and their translations, line by line, packed into a token file whose
// sequences are source, target, source, target, … A corpus of any size needs next to no memory: the
// text is read a line at a time, the tokens through a memory map.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "data/token_file.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

/// The files of one split: line i of source[k] and line i of target[k] belong together, or both
/// sides stand in one line of a TSV file.
struct ParallelFiles {
  std::vector<fs::path> source, target;  ///< equally many
  std::vector<fs::path> tsv;             ///< "source<TAB>target"
  std::vector<fs::path> all() const;
};

/// A line of text in two languages; a CR within it is a blank.
using UsePair = std::function<void(std::string_view source, std::string_view target)>;

/// Calls use(source, target) for each line, blank ones included. A DataError of `use` gets the
/// file and line put before it.
/// @throws DataError naming both files and their line counts if those differ; for a TSV line with
/// text but without exactly one tab
void for_each_pair(const ParallelFiles& files, const UsePair& use);

/// The same for one TSV file. @param columns names both in messages: "source<TAB>target"
void for_each_tsv_pair(const fs::path& tsv, std::string_view columns, const UsePair& use);

/// What turns pairs into tokens, and which pairs are kept.
struct PairEncoding {
  const Tokenizer& source;  ///< both have an end token
  const Tokenizer& target;
  int64_t max_source_length;  ///< in tokens, the end token included
  int64_t max_target_length;
};

/// Tokens of both sides, each with its end token.
struct EncodedPair {
  std::vector<int64_t> source, target;
};

enum class PairFate { kept, blank, too_long };

/// Encodes a pair into `out` and says whether it is to be used. @throws DataError
PairFate encode_pair(std::string_view source, std::string_view target, const PairEncoding& encoding,
                     EncodedPair& out);

/// The packed pairs of these files in the folder `cache`, packed if they are not there yet. Pairs
/// with a blank or an over-long side are left out and counted.
/// @throws DataError: files, lines or characters that cannot be used; if no pair is left;
/// ConfigError if a tokenizer has no end token
fs::path pack_parallel_cached(const ParallelFiles& files, const PairEncoding& encoding,
                              const fs::path& cache, const PackProgress& progress = {});

/// Packed pairs.
class ParallelCorpus {
 public:
  /// @throws DataError, FormatError if the file holds no pairs
  explicit ParallelCorpus(const fs::path& packed);

  const TokenFileInfo& info() const { return file_.info(); }
  int64_t size() const { return file_.info().sequences / 2; }
  /// Tokens of a side, the end token included.
  int64_t source_length(int64_t pair) const { return file_.sequence(2 * pair).second; }
  int64_t target_length(int64_t pair) const { return file_.sequence(2 * pair + 1).second; }
  /// Copies a side. @param out has the side's length, or more
  void read_source(int64_t pair, std::span<int64_t> out) const { read(2 * pair, out); }
  void read_target(int64_t pair, std::span<int64_t> out) const { read(2 * pair + 1, out); }

 private:
  void read(int64_t sequence, std::span<int64_t> out) const;

  TokenFile file_;
};

}  // namespace zoo
