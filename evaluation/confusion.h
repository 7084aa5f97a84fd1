#pragma once
// How well classes were told apart: counts of (true class, predicted class), and what follows from
// them. All numbers are those of scikit-learn. No torch in this header.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zoo {

/// Of one class, against all others; 0 where nothing is to be divided by.
struct ClassScore {
  double precision = 0;   ///< right / predicted
  double recall = 0;      ///< right / support
  double f1 = 0;          ///< harmonic mean of both
  int64_t support = 0;    ///< examples of the class
  int64_t predicted = 0;  ///< examples that were said to be of the class
};

class Confusion {
 public:
  explicit Confusion(int64_t classes)
      : classes_(classes), counts_(static_cast<size_t>(classes * classes)) {}

  /// @param target, predicted in [0, classes())
  void add(int64_t target, int64_t predicted, int64_t times = 1) {
    counts_[target * classes_ + predicted] += times;
  }

  int64_t classes() const { return classes_; }
  int64_t count(int64_t target, int64_t predicted) const {
    return counts_[target * classes_ + predicted];
  }
  int64_t total() const;
  ClassScore of_class(int64_t index) const;

  double accuracy() const;  ///< share of right answers
  /// Mean of the classes' F1, over those that are true or predicted anywhere.
  double macro_f1() const;
  /// F1 of all decisions together; with one class for each example it is the accuracy.
  double micro_f1() const;
  double weighted_f1() const;  ///< mean of the classes' F1, weighted by their support
  /// Correlation of truth and prediction in [-1, 1] (Gorodkin 2004, "Comparing two K-category
  /// assignments by a K-category correlation coefficient", equation 8; Matthews' for two classes);
  /// 0 if either is of one class only.
  double matthews() const;

 private:
  int64_t classes_;
  std::vector<int64_t> counts_;  // row: true class, column: predicted
};

}  // namespace zoo
