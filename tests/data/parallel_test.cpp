#include "data/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "data/length_batches.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;
using testing::TempFolder;
using Lines = std::vector<std::pair<std::string, std::string>>;

class ParallelTest : public ::testing::Test {
 protected:
  TempFolder folder_;

  fs::path file(const std::string& name, std::string_view content) {
    write_file(folder_ / name, content);
    return folder_ / name;
  }
  /// Bytes, and an end token: a tokenizer whose ids can be written down.
  const Tokenizer& bytes() {
    if (!bytes_)
      bytes_ = train_tokenizer(BpeTokenizerConfig{.vocab_size = 257}, {file("train.txt", "a b")});
    return *bytes_;
  }
  static Lines lines(const ParallelFiles& files) {
    Lines found;
    for_each_pair(files, [&](auto source, auto target) { found.emplace_back(source, target); });
    return found;
  }
  fs::path pack(const ParallelFiles& files, int64_t max_length = 100) {
    return pack_parallel_cached(files, {bytes(), bytes(), max_length, max_length},
                                folder_ / "cache");
  }
  std::string text(std::span<const int64_t> ids) {
    EXPECT_EQ(ids.back(), bytes().special_ids().eos.value());
    return bytes().decode(ids);
  }
  /// What the corpus holds, as text.
  Lines pairs(const ParallelCorpus& corpus) {
    Lines found;
    for (int64_t i = 0; i < corpus.size(); ++i) {
      std::vector<int64_t> source(corpus.source_length(i)), target(corpus.target_length(i));
      corpus.read_source(i, source);
      corpus.read_target(i, target);
      found.emplace_back(text(source), text(target));
    }
    return found;
  }

 private:
  std::unique_ptr<Tokenizer> bytes_;
};

// behaviours.md TXT-1.
TEST_F(ParallelTest, OnlyLineFeedsEndLines) {
  const Lines wanted = {{"one two", "eins"}, {"", "leer"}, {"three", "drei vier"}};
  const auto target = file("target", "eins\nleer\ndrei\rvier\n");
  for (const char* source : {"one two\n\nthree\n", "one two\r\n\r\nthree\r\n", "one two\n\nthree",
                             "one\rtwo\n\nthree\r\n"})
    EXPECT_EQ(lines({.source = {file("source", source)}, .target = {target}}), wanted);
  EXPECT_EQ(lines({.tsv = {file("a.tsv", "one\rtwo\teins\r\n\tleer\nthree\tdrei\rvier")}}), wanted);
}

TEST_F(ParallelTest, FilesFollowEachOther) {
  const ParallelFiles files{.source = {file("a1", "a\n"), file("a2", "b")},
                            .target = {file("b1", "x\n"), file("b2", "y\n")},
                            .tsv = {file("c.tsv", "c\tz\n\n")}};
  EXPECT_EQ(lines(files), (Lines{{"a", "x"}, {"b", "y"}, {"c", "z"}, {"", ""}}));
}

// behaviours.md BLEU-3: training's half.
TEST_F(ParallelTest, UnequalLineCountsAreAnError) {
  const fs::path source = file("train.de", "1\n2\n3"), target = file("train.en", "1\n2\n");
  EXPECT_EQ(message_of<DataError>([&] { pack({.source = {source}, .target = {target}}); }),
            utf8(source) + " has 3 lines, " + utf8(target) +
                " has 2; line i of one belongs to line i of the other, so they need equally many");
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
}

TEST_F(ParallelTest, NamesTheLineThatIsWrong) {
  const fs::path tsv = file("a.tsv", "a\tb\nab\n");
  EXPECT_EQ(
      message_of<DataError>([&] { lines({.tsv = {tsv}}); }),
      utf8(tsv) + ":2: expected source<TAB>target, found 0 tabs; every line needs exactly one");
  const fs::path source = file("s", "a\nb\n"), target = file("t", "x\ny\n");
  EXPECT_EQ(message_of<DataError>([&] {
              for_each_pair({.source = {source}, .target = {target}}, [](auto, auto t) {
                if (t == "y") throw DataError("no y");
              });
            }),
            utf8(source) + " + " + utf8(target) + ":2: no y");
}

// behaviours.md TXT-3: training's half.
TEST_F(ParallelTest, BlankAndOverlongPairsAreLeftOutAndCounted) {
  const fs::path source = file("s", "a\n\nc\n   \ne\ntoo long\nok\n");
  const fs::path target = file("t", "A\nB\n \t\nD\n\nF\ntoo long too\n");
  const ParallelCorpus corpus(pack({.source = {source}, .target = {target}}, 8));
  EXPECT_EQ(pairs(corpus), (Lines{{"a", "A"}}));
  EXPECT_EQ(corpus.info().blank, 4);
  EXPECT_EQ(corpus.info().too_long, 2);
  // At the limit, end token included, a pair is kept.
  EXPECT_EQ(ParallelCorpus(pack({.source = {source}, .target = {target}}, 9)).size(), 2);
  EXPECT_EQ(
      message_of<DataError>([&] { pack({.tsv = {file("b.tsv", "\tx\nlong\tlonger\n")}}, 3); }),
      utf8(folder_ / "b.tsv") +
          ": no usable pair of sentences; blank: 1, longer than 3 tokens (source) or 3 "
          "(target): 1");
}

TEST_F(ParallelTest, NeedsATokenizerWithAnEnd) {
  const auto chars = train_tokenizer(CharTokenizerConfig{}, {file("a.tsv", "a\tb\n")});
  EXPECT_EQ(message_of<ConfigError>([&] {
              pack_parallel_cached({.tsv = {folder_ / "a.tsv"}}, {bytes(), *chars, 9, 9},
                                   folder_ / "cache");
            }),
            "tokenizer: the target's, of type \"char\", has no end token, without which no output "
            "would end; use sentencepiece or bpe");
}

TEST_F(ParallelTest, TheCacheKnowsFilesSidesAndLimits) {
  const fs::path a = file("a", "x\n"), b = file("b", "y\n");
  const fs::path first = pack({.source = {a}, .target = {b}});
  const auto time = fs::last_write_time(first);
  EXPECT_EQ(pack({.source = {a}, .target = {b}}), first);
  EXPECT_EQ(fs::last_write_time(first), time);
  EXPECT_NE(pack({.source = {b}, .target = {a}}), first);
  EXPECT_NE(pack({.source = {a}, .target = {b}}, 50), first);
  file("b", "z\n");
  EXPECT_NE(pack({.source = {a}, .target = {b}}), first);
}

TEST_F(ParallelTest, RefusesFilesThatHoldNoPairs) {
  pack_texts({file("a", "abc")}, bytes(), folder_ / "text.tokens");
  EXPECT_EQ(message_of<FormatError>([&] { ParallelCorpus{folder_ / "text.tokens"}; }),
            utf8(folder_ / "text.tokens") +
                ": holds 0 sequences, but pairs of them are needed; remove the file, and it is "
                "packed again");
  const fs::path packed = pack({.tsv = {file("a.tsv", "ab\tc\n")}});
  std::fstream(packed, std::ios::in | std::ios::out | std::ios::binary).seekp(128).put(9);
  EXPECT_EQ(message_of<FormatError>([&] { ParallelCorpus(packed).source_length(0); }),
            utf8(packed) +
                ": sequence 0 ends after 9 ids of 5; the file is damaged; remove it and pack the "
                "text again");
  fs::resize_file(packed, 150);
  EXPECT_EQ(message_of<FormatError>([&] { ParallelCorpus{packed}; }),
            utf8(packed) +
                ": 150 bytes, but 5 ids need 154; the file was cut or added to; pack the text "
                "again");
}

// Packing a corpus and going through an epoch of it, with less memory than the corpus has bytes
// (RLIMIT_DATA: the address space that a process may write to).
TEST_F(ParallelTest, APackedEpochNeedsLittleMemory) {
  constexpr int64_t kPairs = 1 << 18, kLength = 63;  // 32 MiB of text
  const fs::path source = folder_ / "s", target = folder_ / "t";
  for (const fs::path& path : {source, target}) {
    std::ofstream out(path, std::ios::binary);
    std::string block;
    for (int i = 0; i < 1024; ++i) block += std::string(kLength, 'a') + "\n";
    for (int64_t i = 0; i < kPairs / 1024; ++i) out << block;
  }
  bytes();
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream status("/proc/self/statm");
    int64_t pages[6];
    for (int64_t& value : pages) status >> value;
    const rlim_t limit =
        static_cast<rlim_t>(pages[5] * ::sysconf(_SC_PAGESIZE)) + (rlim_t{16} << 20);
    const rlimit data = {limit, limit};
    ::setrlimit(RLIMIT_DATA, &data);
    int code = 1;
    try {
      const ParallelCorpus corpus(pack({.source = {source}, .target = {target}}));
      const auto lengths = [&](int64_t pair) {
        return PairLengths{corpus.source_length(pair), corpus.target_length(pair)};
      };
      const LengthBatches batches(corpus.size(), lengths, {.tokens = 4096}, 1);
      int64_t position = 0;
      while (position < kPairs) position += static_cast<int64_t>(batches.at(position).size());
      code = position == kPairs ? 0 : 2;
    } catch (const std::exception&) {
    }
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace zoo
