#include "evaluation/confusion.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"

namespace zoo {
namespace {

// tests/golden/evaluation/make_confusion_goldens.py
TEST(Confusion, IsScikitLearns) {
  const Json cases =
      read_json_file(fs::path(ZOO_SOURCE_DIR) / "tests/golden/evaluation/confusion.json");
  ASSERT_EQ(cases.size(), 19);
  for (size_t number = 0; number < cases.size(); ++number) {
    const Json& expected = cases[number];
    const auto classes = expected["classes"].get<int64_t>();
    Confusion confusion(classes);
    for (size_t i = 0; i < expected["truth"].size(); ++i)
      confusion.add(expected["truth"][i], expected["guess"][i]);
    const auto near = [&](const char* key, double found) {
      EXPECT_NEAR(found, expected[key].get<double>(), 1e-12) << "case " << number << ": " << key;
    };
    near("accuracy", confusion.accuracy());
    near("macro_f1", confusion.macro_f1());
    near("micro_f1", confusion.micro_f1());
    near("weighted_f1", confusion.weighted_f1());
    near("matthews", confusion.matthews());
    for (int64_t index = 0; index < classes; ++index) {
      const ClassScore score = confusion.of_class(index);
      EXPECT_NEAR(score.precision, expected["precision"][index].get<double>(), 1e-12);
      EXPECT_NEAR(score.recall, expected["recall"][index].get<double>(), 1e-12);
      EXPECT_NEAR(score.f1, expected["f1"][index].get<double>(), 1e-12);
      EXPECT_EQ(score.support, expected["support"][index].get<int64_t>());
    }
  }
}

TEST(Confusion, OfNothingIsZero) {
  const Confusion confusion(3);
  EXPECT_EQ(confusion.total(), 0);
  EXPECT_EQ(confusion.accuracy(), 0);
  EXPECT_EQ(confusion.macro_f1(), 0);
  EXPECT_EQ(confusion.weighted_f1(), 0);
  EXPECT_EQ(confusion.matthews(), 0);
}

}  // namespace
}  // namespace zoo
