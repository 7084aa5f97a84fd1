#pragma once
// A project that trains in a fraction of a second: one block of width 16 on a few lines of text.

#include <string>

#include "core/config.h"
#include "tests/support/temp_folder.h"
#include "training/train.h"

namespace zoo::testing {

struct SmallProject {
  SmallProject() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "the cat sat on mat " + std::to_string(i * i % 97) + ".\n";
    write_file(folder / "text.txt", text);
  }

  ProjectConfig config(const std::vector<std::string>& settings = {}) const {
    Json json = {{"model",
                  {{"max_length", 8},
                   {"num_layers", 1},
                   {"d_model", 16},
                   {"block", {{"attention", {{"num_heads", 2}}}}},
                   {"dropout", {{"embedding", 0.1}, {"residual", 0.1}}}}},
                 {"tokenizer", "char"},
                 {"task", {{"train", {utf8(folder / "text.txt")}}}},
                 {"training",
                  {{"schedule", {{"type", "cosine"}, {"warmup_steps", 4}}},
                   {"max_steps", 10},
                   {"batch_size", 4},
                   {"log_every", 1},
                   {"eval_every", 4}}}};
    for (const std::string& setting : settings) merge_setting(json, parse_setting(setting));
    return read_project(std::move(json), "small#");
  }

  TrainOptions options(const std::string& run = "run") const {
    TrainOptions options;
    options.output = folder / run;
    return options;
  }

  /// Entries of metrics.jsonl, without what depends on time.
  std::vector<Json> metrics(const std::string& run = "run") const {
    std::vector<Json> entries;
    for_each_line(read_file(folder / run / "metrics.jsonl"), [&](std::string_view line) {
      Json entry = parse_json(line, "metrics.jsonl");
      for (const char* key : {"seconds", "tokens_per_second", "evaluation_seconds"})
        entry.erase(key);
      entries.push_back(std::move(entry));
    });
    return entries;
  }

  TempFolder folder;
};

/// Stops a training after `steps` more steps.
inline std::function<bool()> after(int64_t steps) {
  return [left = steps]() mutable { return --left <= 0; };
}

struct Notices : TrainObserver {
  void notice(const std::string& message) override { all.push_back(message); }
  std::vector<std::string> all;
};

}  // namespace zoo::testing
