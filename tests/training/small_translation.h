#pragma once
// A translation that trains in seconds: numbers to reverse, and a Transformer of width 32 or a GRU.

#include "data/synthetic.h"
#include "tests/training/small_project.h"

namespace zoo::testing {

struct SmallTranslation : SmallProject {
  SmallTranslation() {
    const SyntheticData data = make_synthetic({.task = SyntheticTask::reverse,
                                               .train = 200,
                                               .valid = 40,
                                               .length = 5,
                                               .symbols = 8,
                                               .translation = true,
                                               .test = 0});
    write_lines("train", data.train);
    write_lines("valid", data.valid);
  }

  /// Both as .tsv and as .source and .target.
  void write_lines(const std::string& name, const std::vector<std::string>& lines) const {
    std::string tsv, source, target;
    for (const std::string& line : lines) {
      const size_t tab = line.find('\t');
      tsv += line + "\n";
      source += line.substr(0, tab) + "\n";
      target += line.substr(tab + 1) + "\n";
    }
    write_file(folder / (name + ".tsv"), tsv);
    write_file(folder / (name + ".source"), source);
    write_file(folder / (name + ".target"), target);
  }

  std::string path(const std::string& name) const { return utf8(folder / name); }

  ProjectConfig translation(const std::vector<std::string>& settings = {}) const {
    Json json = {{"model",
                  {{"type", "transformer"},
                   {"max_source_length", 16},
                   {"max_length", 16},
                   {"encoder_layers", 1},
                   {"decoder_layers", 1},
                   {"d_model", 32},
                   {"block", {{"placement", "pre"}, {"attention", {{"num_heads", 2}}}}}}},
                 {"tokenizer", {{"type", "sentencepiece"}, {"model", "word"}}},
                 {"task",
                  {{"type", "translation"},
                   {"train", {{"tsv", {path("train.tsv")}}}},
                   {"valid", {{"tsv", {path("valid.tsv")}}}}}},
                 {"training",
                  {{"schedule", {{"type", "cosine"}, {"warmup_steps", 4}}},
                   {"max_steps", 10},
                   {"batch_size", 120},
                   {"batch_type", "tokens"},
                   {"label_smoothing", 0.1},
                   {"log_every", 1},
                   {"eval_every", 4}}}};
    for (const std::string& setting : settings) merge_setting(json, parse_setting(setting));
    return read_project(std::move(json), "small#");
  }
};

/// The setting that makes the model of SmallTranslation a recurrent one.
inline const char* const kRecurrent =
    R"(model={"type": "rnn-seq2seq", "max_source_length": 16, "max_length": 16, "d_embedding": 16,
              "d_hidden": 24, "dropout": {"embedding": 0.1, "output": 0.1}})";

}  // namespace zoo::testing
