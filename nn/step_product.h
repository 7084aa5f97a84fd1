#pragma once
// Products with one matrix that a recurrence takes step after step. Each step only notes its two
// factors: the matrix's gradient is one large product when all steps are through, where autograd
// would add up as many small ones.

#include "core/shape.h"

namespace zoo {

class StepProduct {
 public:
  StepProduct() = default;
  /// @param matrix (in, out), or (B, in, out): one for each row of x
  explicit StepProduct(const Tensor& matrix);
  /// addend + x matrix, in the dtype of the matrix.
  /// @param x (B, in), or (B, T, in) with a batch of matrices  @param addend of the result's shape,
  /// or a bias (out), or undefined
  /// @return (B, out), or (B, T, out)
  Tensor operator()(const Tensor& x, const Tensor& addend = {}) const;

 private:
  Tensor matrix_;
  c10::intrusive_ptr<torch::CustomClassHolder> notes_;  // null without gradient
  Tensor anchor_;                                       // what autograd sees of the matrix
};

/// Additive scores (Bahdanau et al. 2015, appendix A.1.2) step after step, with the same economy.
class StepAdditiveScores {
 public:
  StepAdditiveScores() = default;
  /// @param keys (B, S, A)  @param v (A)
  StepAdditiveScores(const Tensor& keys, const Tensor& v);
  /// v . tanh(query + key) for each key. @param query (B, A)  @return (B, S)
  Tensor operator()(const Tensor& query) const;

 private:
  Tensor keys_, v_;
  c10::intrusive_ptr<torch::CustomClassHolder> notes_;
  Tensor anchor_;
};

}  // namespace zoo
