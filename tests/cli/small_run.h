#pragma once
// A folder with all that the examples of the help name: texts, configs, and a tiny model trained in
// a few steps. No torch in this header.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cli/run_cli.h"

namespace zoo::testing {

/// Lines of words, always the same ones, with every printable ASCII character.
inline std::string small_text(int lines) {
  static const std::vector<std::string> words = {"the", "baker", "finds", "ROMEO:", "To",    "be",
                                                 "old", "books", "my",    "uncle",  "paints"};
  std::string text;
  for (char c = ' '; c <= '~'; ++c) text += c;
  text += '\n';
  uint32_t state = 1;
  for (int i = 0; i < lines; ++i) {
    for (int j = 0; j < 6; ++j) {
      state = state * 1664525U + 1013904223U;
      text += words[(state >> 16) % words.size()] + " ";
    }
    text += cat("line ", i, '\n');
  }
  return text;
}

/// So small a model that nearly all the time goes into the start of the program.
inline const std::vector<std::string> kTinyModel = {
    "--set",          "model.num_layers=1",
    "--set",          "model.d_model=16",
    "--set",          "model.max_length=64",
    "--set",          "model.block.attention.num_heads=2",
    "--set",          "model.block.attention.num_kv_heads=0",
    "--warmup-steps", "0",
    "--max-steps",    "2",
    "--batch-size",   "2"};

/// Letters of `lines` random lines and the same backwards: a source, a tab, its target.
inline std::string reversed_letters(int lines) {
  std::string text;
  uint32_t state = 7;
  for (int i = 0; i < lines; ++i) {
    std::string source;
    for (int j = 0; j <= i % 3; ++j) {
      state = state * 1664525U + 1013904223U;
      source += std::string(j > 0 ? " " : "") + static_cast<char>('a' + (state >> 16) % 5);
    }
    text += cat(source, '\t', std::string(source.rbegin(), source.rend()), '\n');
  }
  return text;
}

/// An encoder-decoder on pairs.tsv, as small.
inline const std::vector<std::string> kTinyTranslation = {
    "--set",
    "model.type=transformer",
    "--set",
    "model.encoder_layers=1",
    "--set",
    "model.decoder_layers=1",
    "--set",
    "model.d_model=16",
    "--set",
    "model.block.attention.num_heads=2",
    "--set",
    "tokenizer={\"type\": \"sentencepiece\", \"model\": \"word\", \"vocab_size\": 16}",
    "--set",
    "task={\"type\": \"translation\", \"train\": {\"tsv\": [\"pairs.tsv\"]}, "
    "\"valid\": {\"tsv\": [\"pairs.tsv\"]}}",
    "--schedule",
    "constant",
    "--batch-size",
    "8"};

/// A config of that task. @param sizes keys of the model
inline std::string tiny_comparison(const std::string& model, const std::string& sizes) {
  return cat(R"({"model": {"type": ")", model, R"(", "max_source_length": 16, "max_length": 16, )",
             sizes, R"(},
  "tokenizer": {"type": "sentencepiece", "model": "word", "vocab_size": 16},
  "task": {"type": "translation", "train": {"tsv": ["pairs.tsv"]}, "valid": {"tsv": ["pairs.tsv"]}},
  "training": {"schedule": "constant", "max_steps": 5, "batch_size": 8, "eval_every": 5}})");
}

/// Encoders as small, of a vocabulary of their own. @param task of which a model without more is
/// pre-trained
inline std::vector<std::string> tiny_encoder(const std::string& task, const std::string& file,
                                             const std::string& head) {
  return {"--set",
          "model.type=bert",
          "--set",
          "model.num_layers=1",
          "--set",
          "model.d_model=16",
          "--set",
          "model.max_length=64",
          "--set",
          "model.block.attention.num_heads=2",
          "--set",
          "model.head=" + head,
          "--set",
          "tokenizer={\"type\": \"wordpiece\", \"vocab_size\": 120}",
          "--set",
          "task={\"type\": \"" + task + "\", \"train\": [\"" + file + "\"], \"valid\": [\"" + file +
              "\"]}",
          "--max-steps",
          "2",
          "--batch-size",
          "4"};
}

/// A PNG of 8 x 8 pixels in one of two colours and shapes, as bytes. (Written by Pillow.)
inline std::string small_picture(bool red) {
  return read_file(fs::path(ZOO_SOURCE_DIR) / "tests/golden/data" / (red ? "red.png" : "blue.png"));
}

/// A vision model as small, on the folder pictures.
inline const std::vector<std::string> kTinyVit = {
    "--set",
    "model={\"type\": \"vit\", \"image_height\": 8, \"image_width\": 8, \"patch_size\": 4, "
    "\"num_layers\": 1, \"d_model\": 16, \"block\": {\"attention\": {\"num_heads\": 2}}}",
    "--set",
    "task={\"type\": \"image_classification\", \"train\": [\"pictures\"], \"valid\": "
    "[\"pictures\"]}",
    "--max-steps",
    "20",
    "--batch-size",
    "4",
    "--lr",
    "0.01"};

class SmallRun : public TempFolder {
 public:
  SmallRun() {
    write_file(*this / "text.txt", small_text(60));
    write_file(*this / "README.md", small_text(60));
    for (const char* part : {"train", "valid", "test"}) {
      fs::create_directories(*this / "data/shakespeare");
      write_file(*this / "data/shakespeare" / (std::string(part) + ".txt"), small_text(40));
    }
    fs::copy(fs::path(ZOO_SOURCE_DIR) / "configs", *this / "configs");
    std::vector<std::string> arguments = {"train", "configs/gpt_shakespeare_char.json", "-o",
                                          kModel};
    arguments.insert(arguments.end(), kTinyModel.begin(), kTinyModel.end());
    training = run_cli(arguments, "", path());
    if (training.code != 0) throw std::runtime_error(training.err);

    write_file(*this / "pairs.tsv", reversed_letters(40));
    arguments = {"train", "-o", "runs/translate", "--max-steps", "2", "--save-every", "1"};
    arguments.insert(arguments.end(), kTinyTranslation.begin(), kTinyTranslation.end());
    const CliResult translation = run_cli(arguments, "", path());
    if (translation.code != 0) throw std::runtime_error(translation.err);
    std::string labelled, tags;
    for_each_line(small_text(40), [&](std::string_view line) {
      const std::string text(line.substr(0, line.find("line")));
      labelled += cat(labelled.size() % 2 == 0 ? "even" : "odd", '\t', text, '\n');
      for (const std::string& word : split(trim(text), ' ')) tags += word + " O\n";
      tags += "end E\n\n";
    });
    write_file(*this / "labelled.tsv", labelled);
    write_file(*this / "tags.txt", tags);
    const std::vector<std::vector<std::string>> encoders = {
        {"runs/bert", "masked_lm", "text.txt", "masked_lm"},
        {"runs/classifier", "text_classification", "labelled.tsv", "classifier"},
        {"runs/tagger", "tagging", "tags.txt", "tagger"}};
    for (const auto& encoder : encoders) {
      arguments = {"train", "-o", encoder[0]};
      for (const std::string& argument : tiny_encoder(encoder[1], encoder[2], encoder[3]))
        arguments.push_back(argument);
      const CliResult trained = run_cli(arguments, "", path());
      if (trained.code != 0) throw std::runtime_error(trained.err);
    }
    for (const char* name : {"1", "2", "3"}) {
      write_file(*this / "pictures/red" / (std::string(name) + ".png"), small_picture(true));
      write_file(*this / "pictures/blue" / (std::string(name) + ".png"), small_picture(false));
    }
    arguments = {"train", "-o", "runs/vit"};
    arguments.insert(arguments.end(), kTinyVit.begin(), kTinyVit.end());
    const CliResult vision = run_cli(arguments, "", path());
    if (vision.code != 0) throw std::runtime_error(vision.err);
    write_file(*this / "rnn.json", tiny_comparison("rnn-seq2seq", R"("d_hidden": 12)"));
    write_file(*this / "transformer.json",
               tiny_comparison("transformer", R"("d_model": 16, "encoder_layers": 1,
                               "decoder_layers": 1, "block": {"attention": {"num_heads": 2}})"));
    write_file(*this / "source.txt", "a b c\nb\n");
    write_file(*this / "target.txt", "c b a\nb\n");
  }

  static constexpr const char* kModel = "weights/gpt-shakespeare-char";
  CliResult training;  ///< what train said
};

/// The one that tests share which write nothing that another reads.
inline const SmallRun& small() {
  static const SmallRun run;
  return run;
}
/// transformer-cli in its folder. @param input standard input
inline CliResult cli(const std::vector<std::string>& arguments, const std::string& input = "") {
  return run_cli(arguments, input, small().path());
}

}  // namespace zoo::testing
