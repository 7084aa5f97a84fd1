// transformer-cli average: the mean of several checkpoints' weights.

#include "checkpoint/average.h"

#include "cli/command.h"
#include "cli/project.h"
#include "core/json.h"
#include "training/averaging.h"

namespace zoo::cli {
namespace {

struct Average {
  std::vector<std::string> models;
  std::string run_folder, output;
  std::optional<int64_t> last, best;
  bool overwrite = false;

  void declare(Flags& flags) {
    flags.describe(
        "Writes a checkpoint whose weights are the mean of those of several checkpoints of one\n"
        "training (Vaswani et al. 2017, section 6.1), summed in float64. Config and tokenizer are\n"
        "the first one's. Memory: one tensor at a time.");
    flags.texts("-m,--model,model", models, "DIR", "checkpoint or run folders");
    flags.text("--run", run_folder, "DIR",
               "take the checkpoints of this run: --last N or --best N");
    flags.number("--last", last, at_least(1), "with --run: its newest N checkpoints");
    flags.number("--best", best, at_least(1),
                 "with --run: the N with the best values of the metric it trained for");
    flags.text("-o,--output", output, "DIR", "folder to write");
    flags.flag("--overwrite", overwrite, "replace a folder that is not empty");
    flags.example("the last two checkpoints of a run",
                  "transformer-cli average --run runs/translate --last 2 -o runs/average");
  }

  int run(const GlobalOptions& globals) {
    const std::vector<fs::path> folders = choose();
    if (output.empty())
      throw ConfigError("average: no output folder is given; name one with -o DIR");
    write_folder(output_folder(output, overwrite),
                 [&](const fs::path& fresh) { average_checkpoints(folders, fresh); });
    Json names = Json::array();
    for (const fs::path& folder : folders) names.push_back(utf8(folder));
    if (globals.json)
      out() << Json{{"path", output}, {"checkpoints", names}}.dump(2) << '\n';
    else
      out() << "mean of " << folders.size() << " checkpoints in " << output << '\n';
    return kDone;
  }

 private:
  std::vector<fs::path> choose() const {
    if (run_folder.empty()) {
      if (last || best) throw ConfigError("--last, --best: choose checkpoints of --run DIR");
      if (models.empty())
        throw ConfigError("average: names no checkpoint; give folders, or --run DIR with --last N");
      std::vector<fs::path> folders;
      for (const std::string& model : models) folders.push_back(utf8_path(model));
      return folders;
    }
    if (!models.empty() || last.has_value() == best.has_value())
      throw ConfigError("--run: needs either --last N or --best N, and no other folders beside it");
    if (!fs::is_directory(utf8_path(run_folder)))
      throw DataError(run_folder + ": there is no such folder; give the folder of a run");
    return checkpoints_to_average(RunFolder(utf8_path(run_folder)), last ? *last : *best,
                                  last ? AverageOf::last : AverageOf::best);
  }
};

}  // namespace

Command average_command() {
  return make_command<Average>("average", "Average the weights of several checkpoints");
}

}  // namespace zoo::cli
