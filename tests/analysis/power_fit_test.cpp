// Fits against SciPy's numbers (tests/golden/analysis/power_fit.py) and exact lines.

#include "analysis/power_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/error.h"

namespace zoo {
namespace {

using Numbers = std::vector<double>;

void expect_fit(const Fit& fit, const Fit& expected) {
  EXPECT_NEAR(fit.slope, expected.slope, 1e-12);
  EXPECT_NEAR(fit.intercept, expected.intercept, 1e-12);
  EXPECT_NEAR(fit.low, expected.low, 1e-11);
  EXPECT_NEAR(fit.high, expected.high, 1e-11);
}

TEST(PowerFit, IsSciPysLine) {
  const Numbers x = {1, 2, 4, 7, 11}, y = {2.5, 3.1, 6.4, 9.0, 15.2};
  expect_fit(fit_line(x, y),
             {1.26515151515151, 0.914242424242426, 1.02453654905512, 1.50576648124791});
  expect_fit(fit_power(x, y),
             {0.76611528437159, 0.780312632972579, 0.517842380120687, 1.01438818862249});
  expect_fit(fit_line(Numbers(x.begin(), x.begin() + 3), Numbers(y.begin(), y.begin() + 3)),
             {1.35, 0.85, -1.95116882616404, 4.65116882616404});
}

TEST(PowerFit, FindsAnExactLaw) {
  Numbers x, y;
  for (const double n : {64, 128, 256, 512, 1024}) {
    x.push_back(n);
    y.push_back(3e-9 * n * n);
  }
  const Fit fit = fit_power(x, y);
  EXPECT_NEAR(fit.slope, 2, 1e-12);
  EXPECT_NEAR(std::exp(fit.intercept), 3e-9, 1e-20);
  EXPECT_NEAR(fit.high - fit.low, 0, 1e-12);
}

TEST(PowerFit, TwoPointsLeaveTheSlopeOpen) {
  const Fit fit = fit_line(Numbers{1, 3}, Numbers{2, 8});
  EXPECT_EQ(fit.slope, 3);
  EXPECT_EQ(fit.intercept, -1);
  EXPECT_EQ(fit.low, -INFINITY);
  EXPECT_EQ(fit.high, INFINITY);
}

TEST(PowerFit, StudentsQuantilesAreSciPys) {
  EXPECT_NEAR(student_t(1, 0.95), 12.7062047361747, 1e-11);
  EXPECT_NEAR(student_t(2, 0.95), 4.30265272974946, 1e-12);
  EXPECT_NEAR(student_t(3, 0.99), 5.84090930973336, 1e-12);
  EXPECT_NEAR(student_t(10, 0.95), 2.22813885198627, 1e-12);
  EXPECT_NEAR(student_t(57, 0.5), 0.678818307862198, 1e-12);
  EXPECT_NEAR(student_t(1000, 0.95), 1.96233908082641, 1e-12);
}

TEST(PowerFit, FindsTheFirstCrossing) {
  // n^2 and 100 n meet at 100, between the points; straight lines in log-log find it exactly.
  const Numbers x = {10, 50, 200, 800};
  Numbers square, line;
  for (const double n : x) {
    square.push_back(n * n);
    line.push_back(100 * n);
  }
  EXPECT_NEAR(crossing(x, square, line).value(), 100, 1e-10);
  EXPECT_NEAR(crossing(x, line, square).value(), 100, 1e-10);
  EXPECT_FALSE(crossing(x, square, square));
  EXPECT_FALSE(crossing(Numbers{10, 50}, Numbers{1, 2}, Numbers{3, 4}));
  // At a point.
  EXPECT_NEAR(crossing(Numbers{1, 2, 4}, Numbers{1, 2, 4}, Numbers{2, 2, 2}).value(), 2, 1e-12);
}

template <class Error>
void expect_error(const std::string& message, auto&& call) {
  try {
    call();
    FAIL() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), message.c_str());
  }
}

TEST(PowerFit, RefusesWhatDeterminesNoLine) {
  expect_error<ShapeError>("line: found 2 x and 3 y; give as many of each", [] {
    fit_line(Numbers{1, 2}, Numbers{1, 2, 3});
  });
  expect_error<ShapeError>("crossing: found 2 x and 1 y; give as many of each", [] {
    crossing(Numbers{1, 2}, Numbers{1, 2}, Numbers{1});
  });
  const std::string undetermined =
      " points determine none; give finite ones, of which two differ in x";
  expect_error<NumericError>("line: 1" + undetermined, [] { fit_line(Numbers{1}, Numbers{1}); });
  expect_error<NumericError>("line: 2" + undetermined, [] {
    fit_line(Numbers{4, 4}, Numbers{1, 2});
  });
  expect_error<NumericError>("line: 2" + undetermined, [] {
    fit_line(Numbers{1, 2}, Numbers{1, NAN});
  });
  expect_error<NumericError>("power law: 0 has no logarithm; give numbers above 0, or leave it out",
                             [] {
                               fit_power(Numbers{1, 2}, Numbers{1, 0});
                             });
  expect_error<NumericError>(
      "Student's t: 0 degrees of freedom at confidence 0.95; allowed: at least 1, and 0 < "
      "confidence < 1",
      [] { student_t(0, 0.95); });
}

}  // namespace
}  // namespace zoo
