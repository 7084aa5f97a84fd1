#include "evaluation/confusion.h"

#include <cmath>
#include <numeric>

namespace zoo {

namespace {

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

}  // namespace

int64_t Confusion::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
}

ClassScore Confusion::of_class(int64_t index) const {
  ClassScore score;
  for (int64_t other = 0; other < classes_; ++other) {
    score.support += count(index, other);
    score.predicted += count(other, index);
  }
  const auto right = static_cast<double>(count(index, index));
  score.precision = ratio(right, static_cast<double>(score.predicted));
  score.recall = ratio(right, static_cast<double>(score.support));
  score.f1 = ratio(2 * right, static_cast<double>(score.support + score.predicted));
  return score;
}

double Confusion::accuracy() const {
  int64_t right = 0;
  for (int64_t index = 0; index < classes_; ++index) right += count(index, index);
  return ratio(static_cast<double>(right), static_cast<double>(total()));
}

double Confusion::macro_f1() const {
  double sum = 0;
  int64_t present = 0;
  for (int64_t index = 0; index < classes_; ++index) {
    const ClassScore score = of_class(index);
    present += score.support + score.predicted > 0;
    sum += score.f1;
  }
  return ratio(sum, static_cast<double>(present));
}

double Confusion::micro_f1() const { return accuracy(); }

double Confusion::weighted_f1() const {
  double sum = 0;
  for (int64_t index = 0; index < classes_; ++index) {
    const ClassScore score = of_class(index);
    sum += score.f1 * static_cast<double>(score.support);
  }
  return ratio(sum, static_cast<double>(total()));
}

double Confusion::matthews() const {
  const auto all = static_cast<double>(total());
  double both = 0, predicted_squares = 0, true_squares = 0;
  for (int64_t index = 0; index < classes_; ++index) {
    const ClassScore score = of_class(index);
    const auto support = static_cast<double>(score.support);
    const auto predicted = static_cast<double>(score.predicted);
    both += support * predicted;
    predicted_squares += predicted * predicted;
    true_squares += support * support;
  }
  return ratio(accuracy() * all * all - both,
               std::sqrt(all * all - predicted_squares) * std::sqrt(all * all - true_squares));
}

}  // namespace zoo
