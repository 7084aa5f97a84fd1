#include "decoding/seq2seq_greedy.h"

namespace zoo {

std::vector<std::vector<int64_t>> decode_greedily(Seq2Seq& model, const Tensor& source,
                                                  const Tensor& lengths,
                                                  const GreedyOptions& options) {
  const torch::NoGradGuard no_grad;
  const int64_t rows = source.size(0);
  const auto state = model.start(model.encode(source, lengths), options.max_tokens);
  std::vector<std::vector<int64_t>> outputs(static_cast<size_t>(rows));
  std::vector<int64_t> running;  // the output of each row of the state
  for (int64_t row = 0; row < rows; ++row) running.push_back(row);

  Tensor tokens = torch::full({rows}, options.begin, source.options());  // (B')
  for (int64_t i = 0; i < options.max_tokens; ++i) {
    tokens = model.step(tokens, *state).argmax(-1);  // (B')
    const Tensor ids = tokens.cpu();
    const auto* id = ids.const_data_ptr<int64_t>();
    std::vector<int64_t> going_on;  // rows of the state
    for (size_t row = 0; row < running.size(); ++row) {
      if (id[row] == options.end) continue;
      outputs[running[row]].push_back(id[row]);
      going_on.push_back(static_cast<int64_t>(row));
    }
    if (going_on.empty()) break;
    if (going_on.size() == running.size()) continue;
    const Tensor kept = torch::tensor(going_on, source.options());
    state->reorder(kept);
    tokens = tokens.index_select(0, kept);
    for (size_t row = 0; row < going_on.size(); ++row) running[row] = running[going_on[row]];
    running.resize(going_on.size());
  }
  return outputs;
}

}  // namespace zoo
