#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstring>
#include <set>

#include "core/error.h"
#include "core/random.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using ::zoo::testing::TempFolder;

/// The message of the DataError that `use` throws, "" if it throws none.
std::string message_of(const std::function<void()>& use) {
  try {
    use();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_MESSAGE(statement, part)                                   \
  EXPECT_NE(message_of([&] { statement; }).find(part), std::string::npos) \
      << message_of([&] { statement; })

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(utf8(entry.path().filename()));
  return names;
}

// FIPS 180-4's examples, and lengths around the padding's edges (values from Python's hashlib).
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256(std::string(63, 'a')),
            "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(sha256(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(sha256(std::string(119, 'a')),
            "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
  EXPECT_EQ(sha256(std::string(120, 'a')),
            "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c");
}

TEST(Sha256, OfAFile) {
  const TempFolder folder;
  write_file(folder / "abc", "abc");
  EXPECT_EQ(sha256_file(folder / "abc"), sha256("abc"));
  write_file(folder / "empty", "");
  EXPECT_EQ(sha256_file(folder / "empty"), sha256(""));
}

TEST(ReadFile, SaysWhatIsWrong) {
  const TempFolder folder;
  EXPECT_MESSAGE(read_file(folder / "none"), "none: cannot be opened: No such file or directory");
  EXPECT_MESSAGE(read_file(folder.path()), "is a folder; a file is needed");
}

TEST(WriteFile, ReplacesAndMakesParents) {
  const TempFolder folder;
  const fs::path path = folder / "a/b/file";
  write_file(path, "old");
  write_file(path, std::string("new\0content", 11));
  EXPECT_EQ(read_file(path), std::string("new\0content", 11));
  EXPECT_EQ(names_in(path.parent_path()), std::set<std::string>{"file"});
}

TEST(WriteFile, KeepsTheOldFileWhenWritingFails) {
  const TempFolder folder;
  const fs::path path = folder / "file";
  write_file(path, "old");
  EXPECT_THROW(write_file(path,
                          [](std::ostream& out) {
                            out << "half";
                            throw DataError("no more");
                          }),
               DataError);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"file"});
  EXPECT_MESSAGE(write_file(path / "below", "x"), "file: is a file; a folder is needed there");
}

/// Runs `work` in a child process; its exit status as waitpid() gives it.
int status_of_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(99);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// CKP-1: a full disk, here a limit on the size of files as `ulimit -f` sets it.
TEST(WriteFile, AFullDiskLosesNothing) {
  const TempFolder folder;
  const fs::path path = folder / "file";
  write_file(path, "old");
  const int status = status_of_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = message_of([&] { write_file(path, std::string(1 << 20, 'x')); });
    write_file(folder / "message", message);
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_file(folder / "message"), utf8(path) + ": cannot be written: File too large");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"file", "message"}));
}

/// A folder of three files that all hold `version`, large enough to take some time.
void write_version(const fs::path& path, int version) {
  write_folder(path, [&](const fs::path& inside) {
    std::string content;
    while (content.size() < 200'000) content += std::to_string(version) + "\n";
    for (const char* name : {"a", "b", "sub/c"}) write_file(inside / name, content);
  });
}

void expect_whole(const fs::path& path) {
  ASSERT_TRUE(fs::exists(path));
  EXPECT_EQ(names_in(path), (std::set<std::string>{"a", "b", "sub"}));
  const std::string content = read_file(path / "a");
  EXPECT_GE(content.size(), 200'000U);
  EXPECT_EQ(read_file(path / "b"), content);
  EXPECT_EQ(read_file(path / "sub/c"), content);
}

TEST(WriteFolder, ReplacesAsAWhole) {
  const TempFolder folder;
  write_version(folder / "x/checkpoint", 1);
  write_version(folder / "x/checkpoint", 2);
  expect_whole(folder / "x/checkpoint");
  EXPECT_EQ(read_file(folder / "x/checkpoint/a").substr(0, 2), "2\n");
  EXPECT_EQ(names_in(folder / "x"), std::set<std::string>{"checkpoint"});
}

TEST(WriteFolder, KeepsTheOldFolderWhenFillingFails) {
  const TempFolder folder;
  write_version(folder / "checkpoint", 1);
  EXPECT_THROW(write_folder(folder / "checkpoint",
                            [](const fs::path& inside) {
                              write_file(inside / "a", "half");
                              throw DataError("no more");
                            }),
               DataError);
  expect_whole(folder / "checkpoint");
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"checkpoint"});
}

// CKP-1: kill -9 at random moments.
TEST(WriteFolder, AKillLosesNothing) {
  const TempFolder folder;
  const fs::path path = folder / "checkpoint";
  write_version(path, 0);
  RandomStream random(1, 0);
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int version = 1; version < 1000; ++version) write_version(path, version);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(random.next_below(20'000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ASSERT_NO_FATAL_FAILURE(expect_whole(path));
  }
  // What the killed ones left is cleared by the next that writes there.
  write_version(path, 0);
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"checkpoint"});
}

TEST(WriteFolder, AFullDiskLosesNothing) {
  const TempFolder folder;
  write_version(folder / "checkpoint", 1);
  const int status = status_of_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    if (message_of([&] { write_version(folder / "checkpoint", 2); }).empty()) _exit(1);
  });
  EXPECT_EQ(status, 0);
  expect_whole(folder / "checkpoint");
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"checkpoint"});
}

TEST(ReplaceLink, PointsToTheNewTarget) {
  const TempFolder folder;
  write_file(folder / "one/name", "1");
  write_file(folder / "two/name", "2");
  replace_link(folder / "last", "one");
  EXPECT_EQ(read_file(folder / "last/name"), "1");
  replace_link(folder / "last", "two");
  EXPECT_EQ(read_file(folder / "last/name"), "2");
  EXPECT_EQ(fs::read_symlink(folder / "last"), fs::path("two"));
  EXPECT_MESSAGE(replace_link(folder / "one/name/last", "two"), "the link cannot be made");
}

// SYS-5.
TEST(RequireWritableFolder, MakesItOrSaysWhy) {
  const TempFolder folder;
  require_writable_folder(folder / "three/missing/levels");
  EXPECT_TRUE(fs::is_directory(folder / "three/missing/levels"));
  EXPECT_TRUE(fs::is_empty(folder / "three/missing/levels"));
  write_file(folder / "file", "x");
  EXPECT_MESSAGE(require_writable_folder(folder / "file"), "file: ");
  EXPECT_MESSAGE(require_writable_folder(folder / "file/below"), "the folder cannot be made");
  EXPECT_MESSAGE(require_writable_folder("/proc/no/such"), "the folder cannot be made");
  if (geteuid() != 0) {
    fs::permissions(folder / "three", fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_MESSAGE(require_writable_folder(folder / "three"), "nothing can be written");
    EXPECT_MESSAGE(require_writable_folder(folder / "three/new"), "the folder cannot be made");
    fs::permissions(folder / "three", fs::perms::owner_all);
  }
}

// SYS-3: the locale does not matter.
TEST(Paths, AnyUtf8) {
  const TempFolder folder;
  const std::string text = "modèle Ω 模型 🦊/run 1";
  for (const char* locale : {"C", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale);
    const fs::path path = folder.path() / utf8_path(text);
    EXPECT_EQ(utf8(utf8_path(text)), text);
    write_folder(path,
                 [&](const fs::path& inside) { write_file(inside / utf8_path("ключ"), locale); });
    EXPECT_EQ(read_file(path / utf8_path("ключ")), locale);
    EXPECT_EQ(MappedFile(path / utf8_path("ключ")).text(), locale);
    EXPECT_MESSAGE(read_file(path / utf8_path("nené")),
                   "modèle Ω 模型 🦊/run 1/nené: cannot be opened");
  }
  std::setlocale(LC_ALL, "C");
}

TEST(MappedFile, MapsWhatIsThere) {
  const TempFolder folder;
  write_file(folder / "file", "content");
  write_file(folder / "empty", "");
  MappedFile file(folder / "file");
  EXPECT_EQ(file.text(), "content");
  EXPECT_TRUE(MappedFile(folder / "empty").bytes().empty());
  const MappedFile moved = std::move(file);
  write_file(folder / "file", "replaced");
  EXPECT_EQ(moved.text(), "content") << "a replaced file stays as it was for who has it open";
  EXPECT_MESSAGE(MappedFile(folder / "none"), "cannot be opened");
  EXPECT_MESSAGE(MappedFile{folder.path()}, "not a regular file");
}

TEST(MappedFile, CopyOnWriteNeverReachesTheFile) {
  const TempFolder folder;
  write_file(folder / "file", "content");
  const MappedFile file(folder / "file", MapAccess::copy_on_write);
  std::memcpy(const_cast<std::byte*>(file.bytes().data()), "CON", 3);
  EXPECT_EQ(file.text(), "CONtent");
  EXPECT_EQ(read_file(folder / "file"), "content");
}

}  // namespace
}  // namespace zoo
