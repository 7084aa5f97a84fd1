// Times the library for benchmarks/run, ids in and ids out:
//   zoo_bench generate BATCH SECONDS   the median seconds of one call with a GPT-2-shaped model
//   zoo_bench translate SOURCES BEAM TOKENS   sentences a second with the base Transformer: SOURCES
//                                             has a row of ids a line, each output TOKENS tokens
//   zoo_bench encode SECONDS   the median seconds of BERT-base on 8 texts of 128 tokens
//   zoo_bench see SECONDS      the same of ViT-B/16 on 8 pictures of 224 x 224 pixels
// Prints one JSON object.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/json.h"
#include "core/system.h"
#include "decoding/generate.h"
#include "decoding/translate.h"
#include "models/zoo.h"

namespace {

double median_time(double seconds, int warm_up, auto&& call) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (int i = 0; i < warm_up; ++i) call();
  std::vector<double> times;
  for (const auto start = Clock::now(); times.size() < 3 || since(start) < seconds;) {
    const auto one = Clock::now();
    call();
    times.push_back(since(one));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double time_generation(int64_t batch, double seconds) {
  torch::manual_seed(1);
  const auto model = zoo::make_causal_lm(zoo::GptConfig::preset("gpt2"));
  model->eval();
  zoo::GenerationOptions options;
  options.max_new_tokens = 128;
  std::vector<std::vector<int64_t>> prompts(batch);
  for (auto& prompt : prompts)
    for (int i = 0; i < 32; ++i) prompt.push_back(torch::randint(50257, {1}).item<int64_t>());
  return median_time(seconds, 1, [&] {
    for (const auto& samples : zoo::generate(*model, prompts, options))
      if (samples.at(0).tokens.size() != 128) throw zoo::Error("generation ended early");
  });
}

double translation_rate(const std::string& path, int64_t beam_size, int64_t new_tokens) {
  torch::manual_seed(1);
  zoo::TransformerConfig config = zoo::TransformerConfig::preset("base");
  config.source_vocab_size = config.vocab_size = 32000;
  const auto model = zoo::make_seq2seq(config);
  std::vector<std::vector<int64_t>> sources;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    sources.emplace_back(std::istream_iterator<int64_t>(words), std::istream_iterator<int64_t>());
  }
  zoo::GenerationOptions options;
  options.beam_size = beam_size;
  options.min_new_tokens = options.max_new_tokens = new_tokens;
  zoo::TranslateArgs args;
  args.begin = 2;
  args.search.eos = 1;
  const auto run = [&] {
    for (const auto& found : zoo::translate(*model, sources, options, args))
      if (std::ssize(found.at(0).tokens) != new_tokens) throw zoo::Error("translation ended early");
  };
  return static_cast<double>(sources.size()) / median_time(0, 1, run);
}

double time_encoding(double seconds) {
  torch::manual_seed(1);
  zoo::BertConfig config = zoo::BertConfig::preset("bert-base");
  config.vocab_size = 30522;
  config.head = zoo::NoHeadConfig{};
  const auto model = zoo::make_text_encoder(config);
  model->eval();
  const torch::InferenceMode inference;
  const zoo::TextBatch batch{torch::randint(30522, {8, 128}), {}, torch::full({8}, 128)};
  return median_time(seconds, 2, [&] { model->pool(model->encode(batch), batch.lengths); });
}

double time_seeing(double seconds) {
  torch::manual_seed(1);
  zoo::VitConfig config = zoo::VitConfig::preset("vit-base");
  for (int i = 0; i < 1000; ++i) config.labels.push_back(std::to_string(i));
  const auto model = zoo::make_image_encoder(config);
  model->eval();
  const torch::InferenceMode inference;
  const torch::Tensor images = torch::randn({8, 3, 224, 224});
  return median_time(seconds, 2, [&] { model->logits(model->encode(images)); });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    zoo::keep_freed_memory();  // as transformer-cli does
    if (argc == 4 && std::string(argv[1]) == "generate") {
      const double seconds = time_generation(std::stoll(argv[2]), std::stod(argv[3]));
      std::cout << zoo::Json{{"seconds", seconds}} << "\n";
      return 0;
    }
    if (argc == 5 && std::string(argv[1]) == "translate") {
      const double rate = translation_rate(argv[2], std::stoll(argv[3]), std::stoll(argv[4]));
      std::cout << zoo::Json{{"rate", rate}} << "\n";
      return 0;
    }
    if (argc == 3 && std::string(argv[1]) == "encode") {
      std::cout << zoo::Json{{"seconds", time_encoding(std::stod(argv[2]))}} << "\n";
      return 0;
    }
    if (argc == 3 && std::string(argv[1]) == "see") {
      std::cout << zoo::Json{{"seconds", time_seeing(std::stod(argv[2]))}} << "\n";
      return 0;
    }
    std::cerr << "usage: zoo_bench generate BATCH SECONDS | translate SOURCES BEAM TOKENS | encode "
                 "SECONDS | see SECONDS\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "zoo_bench: " << error.what() << "\n";
    return 1;
  }
}
