#pragma once
// A command of transformer-cli: its flags, and one library call. Each has its own file:
//
//   namespace {
//   struct Inspect {
//     std::string model;
//     void declare(Flags& flags) { flags.text("-m,--model,model", model, "MODEL", "…"); }
//     int run(const GlobalOptions& globals) { … out() << result; return kDone; }
//   };
//   }  // namespace
//   Command inspect_command() { return make_command<Inspect>("inspect", "one line of summary"); }
//
// and one line in the table of main.cpp. Errors are thrown; main() turns them into exit codes.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/flags.h"
#include "core/error.h"

namespace zoo::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,         // anything that has no code of its own
  kUsage = 2,          // flags and configs
  kData = 3,           // files and data
  kNumeric = 4,        // NaN, or a check or gate that failed
  kInterrupted = 130,  // SIGINT
  kTerminated = 143,   // SIGTERM
};

/// The options that every command has.
struct GlobalOptions {
  std::vector<std::string> config;  ///< files, later ones win
  std::vector<std::string> set;     ///< KEY=VALUE, over the files
  std::string device = "auto";      ///< auto, cpu, cuda or cuda:i
  std::optional<int64_t> threads;   ///< unset: OMP_NUM_THREADS, else one per core
  int64_t seed = 1337;              ///< never -1 once a command runs: the drawn seed stands here
  bool seed_given = false;
  std::string dtype = "float32";
  bool deterministic = false;
  bool quiet = false, verbose = false, no_progress = false, json = false;
  std::string log_level = "info", log_file, color = "auto";
  std::string command_line;  ///< as it was typed, for receipts
};

struct Command {
  std::string name, summary;
  bool reads_config;  ///< whether --config and --set mean anything to it
  std::function<void(Flags&)> declare;
  std::function<int(const GlobalOptions&)> run;  ///< returns an exit code
};

/// A command with a member kReadsConfig takes --config and --set.
template <class T>
concept ReadsConfig = requires {
  T::kReadsConfig;
};

template <class T>
Command make_command(std::string name, std::string summary) {
  auto command = std::make_shared<T>();
  return {std::move(name), std::move(summary), ReadsConfig<T>,
          [command](Flags& flags) { command->declare(flags); },
          [command](const GlobalOptions& globals) { return command->run(globals); }};
}

// The table of main.cpp, in its order.
Command train_command();
Command data_command();
Command generate_command();
Command translate_command();
Command eval_command();
Command score_command();
Command fill_mask_command();
Command classify_command();
Command embed_command();
Command tokenize_command();
Command detokenize_command();
Command train_tokenizer_command();
Command average_command();
Command convert_command();
Command inspect_command();
Command attention_command();
Command cost_command();
Command bench_command();
Command verify_command();
Command gradnorm_command();
Command report_command();
Command compare_command();
Command config_command();
Command models_command();
Command env_command();

}  // namespace zoo::cli
