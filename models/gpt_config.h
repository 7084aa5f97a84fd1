#pragma once
// The config of the GPT family and its presets. No torch in this header.

#include <string>
#include <vector>

#include "nn/config.h"

namespace zoo {

struct GptConfig {
  static constexpr std::string_view kType = "gpt";
  static constexpr std::string_view kAbout =
      "Decoder-only language model (Radford et al. 2019, \"Language Models are Unsupervised "
      "Multitask Learners\", section 2.3), with every part chosen by config";
  int64_t vocab_size = 0;
  int64_t max_length = 1024;
  int64_t num_layers = 12;
  int64_t d_model = 768;
  PositionConfig position;
  BlockConfig block;
  DropoutConfig dropout;
  InitConfig init;
  bool tie_embeddings = true;
  bool scale_embeddings = false;

  void fields(auto&& visit) {
    visit("vocab_size", vocab_size, non_negative(), "tokens in the vocabulary; 0: the tokenizer's");
    visit("max_length", max_length, at_least(1), "longest context, in tokens");
    visit("num_layers", num_layers, at_least(1), "blocks");
    visit("d_model", d_model, at_least(1), "width of the residual stream");
    visit("position", position, "how order enters the model");
    visit("block", block, "every block's parts");
    visit("dropout", dropout, "dropout rates while training");
    visit("init", init, "how parameters are drawn");
    visit("tie_embeddings", tie_embeddings,
          "output projection = token embedding (Press & Wolf 2017)");
    visit("scale_embeddings", scale_embeddings,
          "multiply token embeddings by sqrt(d_model) (Vaswani et al. 2017, section 3.4)");
  }
  std::string check() const;

  /// nanogpt-cpu, nanogpt-gpu, gpt2, gpt2-medium, gpt2-large, gpt2-xl, gpt3, gpt-mini, llama2-7b,
  /// llama2-70b, modern
  static std::vector<std::string> preset_names();
  static GptConfig preset(const std::string& name);

  bool operator==(const GptConfig&) const = delete;  // compare config_to_json() instead
};

}  // namespace zoo
