#pragma once
// Model A: a language model of four tokens whose next-token probabilities are a table, so that
// tests of decoding need no training and have exact answers. No torch in this header, and none of
// our writer: the folder is a Hugging Face GPT-2 folder made by hand.
//
// Width 8, 1 layer, 1 head, 16 positions, bos 0, eos 3, untied output. The block's matrices are 0,
// so the residual stream at token i is the unit vector e_i; the final norm makes it (e_i - 1/8) / s
// with s = sqrt(1/8 - 1/64 + eps). Rows of the output sum to 0, hence the logit of j is
// lm_head[j][i] / s, and lm_head[j][i] = s ln P(j after i) gives P.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"

namespace zoo::testing {

using ModelATable = std::array<std::array<double, 4>, 4>;  ///< [i][j]: weight of j after i

/// Its table, rows not normalised: after 0, after 1, after 2, after 3 (eos).
inline constexpr ModelATable kModelATable = {
    {{1e-9, .40, .18, .42}, {1e-9, .001, .98, .01}, {1e-9, .02, .01, .97}, {.25, .25, .25, .25}}};

/// ln P(next after token), of the normalised table.
inline double model_a_log_probability(int64_t token, int64_t next,
                                      const ModelATable& table = kModelATable) {
  const auto& row = table.at(static_cast<size_t>(token));
  return std::log(row.at(static_cast<size_t>(next)) / (row[0] + row[1] + row[2] + row[3]));
}

struct ModelAOptions {
  ModelATable table = kModelATable;
  /// vocab.json and merges.txt: byte-level BPE without merges, "0" "1" "2" and "<|endoftext|>".
  bool tokenizer = false;
};

/// Writes the folder: config.json, model.safetensors (float32) and, if wanted, the tokenizer's
/// files.
inline void write_model_a(const fs::path& folder, const ModelAOptions& options = {}) {
  constexpr size_t D = 8, V = 4, N = 16;
  const double scale = std::sqrt(1.0 / 8 - 1.0 / 64 + 1e-5);

  std::vector<float> token_embedding(V * D), output(V * D);  // (V, D)
  for (size_t j = 0; j < V; ++j) {
    token_embedding[j * D + j] = 1;
    double sum = 0;
    for (size_t i = 0; i < V; ++i) {
      const double entry = scale * model_a_log_probability(static_cast<int64_t>(i),
                                                           static_cast<int64_t>(j), options.table);
      output[j * D + i] = static_cast<float>(entry);
      sum += entry;
    }
    output[j * D + 7] = static_cast<float>(-sum);
  }

  struct Entry {
    std::string name, shape;
    std::vector<float> values;
  };
  const auto zeros = [](size_t count) { return std::vector<float>(count); };
  const std::string block = "transformer.h.0.";
  const std::vector<Entry> tensors = {{"transformer.wte.weight", "[4,8]", token_embedding},
                                      {"transformer.wpe.weight", "[16,8]", zeros(N * D)},
                                      {block + "ln_1.weight", "[8]", zeros(D)},
                                      {block + "ln_1.bias", "[8]", zeros(D)},
                                      {block + "attn.c_attn.weight", "[8,24]", zeros(3 * D * D)},
                                      {block + "attn.c_attn.bias", "[24]", zeros(3 * D)},
                                      {block + "attn.c_proj.weight", "[8,8]", zeros(D * D)},
                                      {block + "attn.c_proj.bias", "[8]", zeros(D)},
                                      {block + "ln_2.weight", "[8]", zeros(D)},
                                      {block + "ln_2.bias", "[8]", zeros(D)},
                                      {block + "mlp.c_fc.weight", "[8,32]", zeros(4 * D * D)},
                                      {block + "mlp.c_fc.bias", "[32]", zeros(4 * D)},
                                      {block + "mlp.c_proj.weight", "[32,8]", zeros(4 * D * D)},
                                      {block + "mlp.c_proj.bias", "[8]", zeros(D)},
                                      {"transformer.ln_f.weight", "[8]", std::vector<float>(D, 1)},
                                      {"transformer.ln_f.bias", "[8]", zeros(D)},
                                      {"lm_head.weight", "[4,8]", output}};

  std::string header, data;
  const auto little_endian = [](uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  };
  for (const Entry& entry : tensors) {
    const size_t start = data.size();
    for (const float value : entry.values) data += little_endian(std::bit_cast<uint32_t>(value), 4);
    header += cat(header.empty() ? "{" : ",", "\"", entry.name,
                  "\":{\"dtype\":\"F32\",\"shape\":", entry.shape, ",\"data_offsets\":[", start,
                  ",", data.size(), "]}");
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');

  write_file(folder / "model.safetensors", little_endian(header.size(), 8) + header + data);
  write_file(folder / "config.json", R"({
  "architectures": ["GPT2LMHeadModel"],
  "model_type": "gpt2",
  "activation_function": "gelu_new",
  "vocab_size": 4,
  "n_positions": 16,
  "n_embd": 8,
  "n_layer": 1,
  "n_head": 1,
  "n_inner": null,
  "layer_norm_epsilon": 1e-05,
  "bos_token_id": 0,
  "eos_token_id": 3,
  "tie_word_embeddings": false
}
)");
  if (options.tokenizer) {
    write_file(folder / "vocab.json", R"({"0": 0, "1": 1, "2": 2, "<|endoftext|>": 3})");
    write_file(folder / "merges.txt", "#version: 0.2\n");
  }
}

}  // namespace zoo::testing
