#pragma once
// Products with one matrix that a recurrence takes step after step. Each step only notes its two
// factors: the matrix's gradient is one large product when all steps are through, where autograd
// would add up as many small ones.

#include <memory>

#include "core/shape.h"

namespace zoo {

class StepProduct {
 public:
  StepProduct() = default;
  /// @param matrix (in, out), or (B, in, out): one for each row of x
  explicit StepProduct(const Tensor& matrix);
  /// addend + x matrix.
  /// @param x (B, in), or (B, T, in) with a batch of matrices  @param addend as the result, or
  /// undefined
  /// @return (B, out), or (B, T, out)
  Tensor operator()(const Tensor& x, const Tensor& addend = {}) const;

  /// The matrix of a projection, (out, in), as it stands in a module.
  static StepProduct of_weight(const Tensor& weight) { return StepProduct(weight.t()); }

  struct Notes;

 private:
  std::shared_ptr<Notes> notes_;
};

/// Additive scores (Bahdanau et al. 2015, appendix A.1.2) step after step, with the same economy.
class StepAdditiveScores {
 public:
  StepAdditiveScores() = default;
  /// @param keys (B, S, A)  @param v (A)
  StepAdditiveScores(const Tensor& keys, const Tensor& v);
  /// v . tanh(query + key) for each key. @param query (B, A)  @return (B, S)
  Tensor operator()(const Tensor& query) const;

  struct Notes;

 private:
  std::shared_ptr<Notes> notes_;
};

}  // namespace zoo
