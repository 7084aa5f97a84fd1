#include "core/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>

namespace zoo {
namespace {

std::function<int64_t(int64_t)> by_three() {
  return [](int64_t key) { return key + 3; };
}

TEST(Prefetch, GivesTheValuesThatWereAskedFor) {
  for (const int64_t workers : {0, 1, 4}) {
    Prefetch<int64_t> values(
        workers, 5, [](int64_t key) { return key * key; }, by_three());
    for (int64_t key = 0; key < 300; key += 3) ASSERT_EQ(values.take(key), key * key);
    // Elsewhere, back, and the same one again.
    for (const int64_t key : {1000, 1003, 0, 0, 0, 3, 7}) ASSERT_EQ(values.take(key), key * key);
  }
}

TEST(Prefetch, MakesSomeAheadButNotMore) {
  std::atomic<int64_t> made = 0;
  Prefetch<int64_t> values(
      2, 4,
      [&](int64_t key) {
        ++made;
        return key;
      },
      by_three());
  values.take(0);
  while (made < 5) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(made, 5);
}

TEST(Prefetch, ErrorsComeWhenTheirValueIsTaken) {
  Prefetch<int64_t> values(
      2, 4,
      [](int64_t key) -> int64_t {
        if (key == 6) throw std::runtime_error("six");
        return key;
      },
      by_three());
  EXPECT_EQ(values.take(0), 0);
  EXPECT_EQ(values.take(3), 3);
  EXPECT_THROW(values.take(6), std::runtime_error);
  EXPECT_EQ(values.take(9), 9);
}

}  // namespace
}  // namespace zoo
