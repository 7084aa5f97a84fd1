#include "models/seq2seq_parts.h"

namespace zoo {

void require_source(const Tensor& source, const Tensor& lengths, const Seq2Seq& model) {
  require_shape(source, {-1, -1}, "source");
  require_shape(lengths, {source.size(0)}, "lengths");
  const int64_t length = source.size(1);
  if (length > model.max_source_length())
    throw ShapeError(cat("source: ", length, " tokens exceed the model's max_source_length of ",
                         model.max_source_length()));
  const auto shortest = lengths.min().item<int64_t>(), longest = lengths.max().item<int64_t>();
  if (shortest < 1 || longest > length)
    throw ShapeError(cat("lengths: ", shortest < 1 ? shortest : longest,
                         " is none; allowed: 1 to the ", length, " tokens of `source`"));
}

void require_target_length(int64_t length, const Seq2Seq& model) {
  if (length > model.max_length())
    throw ShapeError(
        cat("target: ", length, " tokens exceed the model's max_length of ", model.max_length()));
}

Tensor draw_teacher(const Tensor& inputs, double teacher_forcing) {
  return at::rand(inputs.sizes(), inputs.options().dtype(torch::kFloat32)) < teacher_forcing;
}

Tensor mix_in(const Tensor& inputs, const Tensor& own, const Tensor& teacher) {
  const int64_t rest = inputs.size(1) - 1;
  const Tensor later =
      torch::where(teacher.narrow(1, 1, rest), inputs.narrow(1, 1, rest), own.narrow(1, 0, rest));
  return torch::cat({inputs.narrow(1, 0, 1), later}, 1);
}

}  // namespace zoo
