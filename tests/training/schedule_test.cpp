// Closed forms of the schedules. Noam: Vaswani et al. 2017, equation 3.

#include "training/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/support/message_of.h"

namespace zoo {
namespace {

using testing::message_of;

TEST(Schedule, NoamHasThePapersValues) {
  const Schedule schedule(NoamScheduleConfig{.warmup_steps = 4000}, 1, 100000, 512);
  EXPECT_NEAR(schedule.at(1), 1.747e-7, 1e-10);
  EXPECT_NEAR(schedule.at(4000), 6.988e-4, 1e-7);
  for (const int64_t step : {1, 17, 3999, 4000, 4001, 50000}) {
    const double n = static_cast<double>(step);
    EXPECT_NEAR(schedule.at(step),
                std::pow(512, -0.5) * std::min(std::pow(n, -0.5), n * std::pow(4000, -1.5)), 1e-18);
  }
  EXPECT_GT(schedule.at(4000), schedule.at(3999));
  EXPECT_GT(schedule.at(4000), schedule.at(4001));
}

TEST(Schedule, CosineMeetsItsEnds) {
  const Schedule schedule(CosineScheduleConfig{.warmup_steps = 100, .min_learning_rate = 1e-4},
                          1e-3, 2000, 1);
  EXPECT_DOUBLE_EQ(schedule.at(1), 1e-5);
  EXPECT_DOUBLE_EQ(schedule.at(50), 5e-4);
  EXPECT_DOUBLE_EQ(schedule.at(100), 1e-3);
  EXPECT_NEAR(schedule.at(1050), 0.5 * (1e-3 + 1e-4), 1e-18);
  EXPECT_NEAR(schedule.at(575), 1e-4 + 9e-4 * 0.5 * (1 + std::sqrt(0.5)), 1e-18);
  EXPECT_DOUBLE_EQ(schedule.at(2000), 1e-4);
  EXPECT_DOUBLE_EQ(schedule.at(3000), 1e-4);
}

TEST(Schedule, LinearInverseSqrtConstantAndWsd) {
  const Schedule linear(LinearScheduleConfig{.warmup_steps = 10, .min_learning_rate = 0}, 1, 110,
                        1);
  EXPECT_DOUBLE_EQ(linear.at(5), 0.5);
  EXPECT_DOUBLE_EQ(linear.at(60), 0.5);
  EXPECT_DOUBLE_EQ(linear.at(110), 0);
  const Schedule root(InverseSqrtScheduleConfig{.warmup_steps = 100}, 2, 0, 1);
  EXPECT_DOUBLE_EQ(root.at(50), 1);
  EXPECT_DOUBLE_EQ(root.at(100), 2);
  EXPECT_DOUBLE_EQ(root.at(400), 1);
  const Schedule constant(ConstantScheduleConfig{.warmup_steps = 4}, 1, 0, 1);
  EXPECT_DOUBLE_EQ(constant.at(3), 0.75);
  EXPECT_DOUBLE_EQ(constant.at(1000), 1);
  const Schedule wsd(
      WsdScheduleConfig{.warmup_steps = 10, .decay_steps = 20, .min_learning_rate = 0}, 1, 100, 1);
  EXPECT_DOUBLE_EQ(wsd.at(5), 0.5);
  EXPECT_DOUBLE_EQ(wsd.at(80), 1);
  EXPECT_DOUBLE_EQ(wsd.at(90), 0.5);
  EXPECT_DOUBLE_EQ(wsd.at(100), 0);
}

TEST(Schedule, PlateauFallsByItsFactor) {
  const Schedule schedule(
      PlateauScheduleConfig{.warmup_steps = 10, .factor = 0.5, .min_learning_rate = 0.1}, 1, 0, 1);
  EXPECT_DOUBLE_EQ(schedule.at(5), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(1000), 1);
  EXPECT_DOUBLE_EQ(schedule.at(1000, 1), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(1000, 3), 0.125);
  EXPECT_DOUBLE_EQ(schedule.at(1000, 4), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(1, 0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(5, 9), 0.1);
}

TEST(Schedule, RefusesWhatHasNoEnd) {
  EXPECT_EQ(message_of<ConfigError>([] { Schedule(CosineScheduleConfig{}, 1, 0, 1); }),
            "training.schedule: cosine needs to know the last step; set training.max_steps or "
            "training.epochs, or use constant or inverse_sqrt");
  EXPECT_EQ(
      message_of<ConfigError>([] { Schedule(LinearScheduleConfig{.warmup_steps = 20}, 1, 10, 1); }),
      "training.schedule: warm-up (and decay) take 20 steps, but training has 10; lower "
      "training.schedule.warmup_steps or train longer");
}

}  // namespace
}  // namespace zoo
