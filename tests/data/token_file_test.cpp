#include "data/token_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;
using testing::TempFolder;

std::vector<int64_t> all_tokens(const fs::path& path) {
  const TokenFile file(path);
  std::vector<int64_t> tokens(static_cast<size_t>(file.size()));
  file.read(0, tokens);
  return tokens;
}

class TokenFileTest : public ::testing::Test {
 protected:
  TempFolder folder_;
  fs::path text(const std::string& name, std::string_view content) {
    write_file(folder_ / name, content);
    return folder_ / name;
  }
};

TEST_F(TokenFileTest, HoldsWhatTheTokenizerSays) {
  const fs::path a = text("a.txt", "hello\r\nworld\n");
  const auto tokenizer = train_tokenizer(CharTokenizerConfig{}, {a});
  const TokenFileInfo info = pack_texts({a}, *tokenizer, folder_ / "a.tokens");
  EXPECT_EQ(all_tokens(folder_ / "a.tokens"), tokenizer->encode("hello\nworld\n"));
  const TokenFile file(folder_ / "a.tokens");
  EXPECT_EQ(file.info().vocab_size, tokenizer->vocab_size());
  EXPECT_EQ(file.info().source_hash, sha256_file(a));
  EXPECT_EQ(file.info().tokenizer_hash, info.tokenizer_hash);
  EXPECT_EQ(fs::file_size(folder_ / "a.tokens"), 128u + 2 * 12);
  std::vector<int64_t> part(3);
  file.read(2, part);
  EXPECT_EQ(part, tokenizer->encode("llo"));
}

TEST_F(TokenFileTest, AnEndTokenStandsBetweenTexts) {
  const fs::path a = text("a.txt", "one one one"), b = text("b.txt", "two two");
  const auto tokenizer = train_tokenizer(BpeTokenizerConfig{.vocab_size = 260}, {a, b});
  pack_texts({a, b}, *tokenizer, folder_ / "ab.tokens");
  std::vector<int64_t> wanted = tokenizer->encode("one one one");
  wanted.push_back(tokenizer->special_ids().eos.value());
  for (const int64_t id : tokenizer->encode("two two")) wanted.push_back(id);
  EXPECT_EQ(all_tokens(folder_ / "ab.tokens"), wanted);
}

TEST_F(TokenFileTest, TheCacheKnowsTextAndTokenizer) {
  const fs::path a = text("a.txt", "abcabc");
  const auto tokenizer = train_tokenizer(CharTokenizerConfig{}, {a});
  const fs::path first = pack_cached({a}, *tokenizer, folder_ / "cache");
  const auto time = fs::last_write_time(first);
  EXPECT_EQ(pack_cached({a}, *tokenizer, folder_ / "cache"), first);
  EXPECT_EQ(fs::last_write_time(first), time);
  text("a.txt", "abcabca");
  EXPECT_NE(pack_cached({a}, *tokenizer, folder_ / "cache"), first);
  const auto other = train_tokenizer(CharTokenizerConfig{}, {text("b.txt", "abcd")});
  EXPECT_NE(pack_cached({a}, *other, folder_ / "cache"),
            pack_cached({a}, *tokenizer, folder_ / "cache"));
}

TEST_F(TokenFileTest, RefusesBrokenFiles) {
  const fs::path a = text("a.txt", "hello"), packed = folder_ / "a.tokens";
  const auto tokenizer = train_tokenizer(CharTokenizerConfig{}, {a});
  pack_texts({a}, *tokenizer, packed);
  EXPECT_EQ(message_of<FormatError>([&] { TokenFile{a}; }),
            utf8(a) + ": is no packed token file; make one with `data pack`");
  fs::resize_file(packed, 133);
  EXPECT_EQ(message_of<FormatError>([&] { TokenFile{packed}; }),
            utf8(packed) +
                ": 133 bytes, but 5 ids need 138; the file was cut or added to; pack the "
                "text again");
  std::fstream(packed, std::ios::in | std::ios::out | std::ios::binary).seekp(8).put(9);
  EXPECT_EQ(message_of<FormatError>([&] { TokenFile{packed}; }),
            utf8(packed) +
                ": token file of version 9 with ids of 2 bytes; this program reads version 1 "
                "with 2 or 4; pack the text again");
}

TEST_F(TokenFileTest, NamesTheTextThatCannotBePacked) {
  const auto tokenizer = train_tokenizer(CharTokenizerConfig{}, {text("a.txt", "abc")});
  const fs::path foreign = text("foreign.txt", "xyz"), empty = text("empty.txt", "");
  EXPECT_TRUE(message_of<DataError>([&] {
                pack_texts({foreign}, *tokenizer, folder_ / "t");
              }).starts_with(utf8(foreign) + ": "));
  EXPECT_EQ(message_of<DataError>([&] { pack_texts({empty}, *tokenizer, folder_ / "t"); }),
            utf8(empty) + ": holds no text; nothing to pack");
  EXPECT_FALSE(fs::exists(folder_ / "t"));
}

// The address space that a process may write to (RLIMIT_DATA) is held below the text's size.
TEST_F(TokenFileTest, PacksATextLargerThanMemoryAllows) {
  const fs::path big = folder_ / "big.txt";
  constexpr int64_t kLine = 64, kLines = 1 << 19;  // 32 MiB
  {
    std::ofstream out(big, std::ios::binary);
    const std::string line = std::string(kLine - 1, 'a') + "\n";
    std::string block;
    for (int i = 0; i < 1024; ++i) block += line;
    for (int64_t i = 0; i < kLines / 1024; ++i) out << block;
  }
  const auto tokenizer = train_tokenizer(CharTokenizerConfig{}, {text("a.txt", "a\n")});
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream status("/proc/self/statm");
    int64_t pages[6];
    for (int64_t& value : pages) status >> value;
    const rlim_t limit =
        static_cast<rlim_t>(pages[5] * ::sysconf(_SC_PAGESIZE)) + (rlim_t{24} << 20);
    const rlimit data = {limit, limit};
    ::setrlimit(RLIMIT_DATA, &data);
    int code = 1;
    try {
      code = pack_texts({big}, *tokenizer, folder_ / "big.tokens").count == kLine * kLines ? 0 : 2;
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
