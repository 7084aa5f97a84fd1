#include "core/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace zoo {
namespace {

TEST(Csv, Fields) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a, \"b\""), "\"a, \"\"b\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(1e-9), "1e-09");
  EXPECT_EQ(csv_number(3), "3");
  EXPECT_EQ(csv_number(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(csv_number(-std::numeric_limits<double>::infinity()), "");
}

}  // namespace
}  // namespace zoo
