// Uses the installed library from its headers alone: builds a small GPT, runs it, counts its
// parameters.
#include <iostream>

#include "models/zoo.h"
#include "tokenizer/tokenizer.h"

int main() {
  zoo::GptConfig config = zoo::GptConfig::preset("nanogpt-cpu");
  config.vocab_size = 65;
  torch::manual_seed(1);
  const auto model = zoo::make_causal_lm(config);
  model->eval();
  const torch::NoGradGuard no_grad;
  const zoo::Tensor tokens = torch::arange(6).view({2, 3});  // (B, T)
  const zoo::Tensor logits = model->forward(tokens);         // (B, T, V)
  if (logits.sizes() != torch::IntArrayRef({2, 3, 65})) return 1;

  // The tokenizers' part of the library links too.
  try {
    zoo::load_tokenizer("no such folder");
    return 1;
  } catch (const zoo::DataError&) {
  }
  std::cout << zoo::count_parameters(*model) << " parameters\n";
}
