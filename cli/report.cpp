// transformer-cli report: runs and measurements as one page of HTML.

#include "analysis/report.h"

#include "cli/command.h"
#include "core/json.h"

namespace zoo::cli {
namespace {

struct Report {
  std::vector<std::string> folders, attention;
  std::string output, title;

  void declare(Flags& flags) {
    flags.describe(
        "Writes one page of HTML with all that the folders hold: curves of loss, validation\n"
        "metrics, learning rate, gradient norm and speed, runs in one chart; checks and pictures\n"
        "of gradnorm and compare; attention maps; samples; commands, versions, machines, configs.\n"
        "The page loads nothing, follows the system's light or dark theme, prints, and can be "
        "read\n"
        "without scripts; with them, pointing at a chart or a map tells its values.\n"
        "A run that goes on, was killed or resumed is shown as far as it is; what is missing is\n"
        "said on the page and as a warning.");
    flags.texts("folder", folders, "DIR",
                "run folders (at most 8), folders that gradnorm or compare wrote, and folders\n"
                "that hold such folders");
    flags.texts("--attention", attention, "FILE",
                "attention maps: the JSON that `attention -o FILE` writes; may be given again");
    flags.text("-o,--output", output, "FILE", "the page; -: standard output");
    flags.text("--title", title, "TEXT", "heading; default: the runs' names");
    flags.example("one run", "transformer-cli report runs/translate -o report.html");
    flags.example("two runs in the same charts",
                  "transformer-cli report runs/bert runs/classifier -o report.html "
                  "--title 'Encoders'");
  }

  int run(const GlobalOptions& globals) {
    if (output.empty())
      throw ConfigError("report: no file is given for the page; name one with -o FILE");
    ReportInputs inputs{
        .title = title, .folders = {}, .attention = {}, .command_line = globals.command_line};
    for (const std::string& folder : folders) inputs.folders.push_back(utf8_path(folder));
    for (const std::string& file : attention) inputs.attention.push_back(utf8_path(file));
    const zoo::Report report = make_report(inputs);
    for (const std::string& note : report.notes) log_warning(note);
    if (output == "-") {
      out() << report.html;
      return kDone;
    }
    write_file(utf8_path(output), report.html);
    if (globals.json)
      out() << Json{{"path", output},
                    {"runs", report.runs},
                    {"figures", report.figures},
                    {"attention_maps", report.attention_maps},
                    {"notes", report.notes}}
                   .dump(2)
            << '\n';
    else
      out() << output << '\t' << report.runs << " runs, " << report.figures << " figures, "
            << report.attention_maps << " attention maps\n";
    return kDone;
  }
};

}  // namespace

Command report_command() {
  return make_command<Report>("report", "Show runs and measurements as one page of HTML");
}

}  // namespace zoo::cli
