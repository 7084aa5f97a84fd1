// transformer-cli eval MODEL --source F --reference F: translates a text and scores that.

#include "cli/eval.h"
#include "cli/line_translator.h"
#include "cli/lines.h"
#include "core/files.h"
#include "core/scratch.h"

namespace zoo::cli {
namespace {

struct EvalTranslation : EvalMode {
  EvalTranslation(EvalFlags& flags, EvalMode& scorer) : EvalMode(flags), metric(scorer) {}

  std::string source, output;
  LineTranslator translator;
  EvalMode& metric;

  void declare(Flags& flags) override {
    flags.group("Of a model's translations");
    flags.text("--source", source, "FILE",
               "translate this text with the model, then score that against --reference; decoding "
               "flags as translate's, see --help-all");
    flags.text("--translations", output, "FILE", "keep the translations here");
    flags.example("how well a model translates",
                  "transformer-cli eval runs/translate --source source.txt --reference target.txt "
                  "--metrics bleu,chrf");
    flags.rare();
    translator.declare(flags);
  }

  bool asked_for() const override { return !source.empty(); }

  int run(const GlobalOptions& globals) override {
    if (shared.model.empty())
      throw ConfigError("--source: needs a model that translates it; name its folder: -m DIR");
    if (!shared.hypotheses.empty())
      throw ConfigError(
          "--source translates with the model, --hypotheses are translations; give one of them");
    const ScratchFolder scratch;
    const fs::path path = output.empty() ? scratch.path() / "translations" : utf8_path(output);
    translator.prepare(shared.model, globals, 1, 1);
    write_file(path, [&](std::ostream& file) {
      LineReader reader(source);
      translator.translate(reader, nullptr, false,
                           [&](const SourceLine&, std::vector<Generation>& outputs) {
                             if (!outputs.empty()) file << on_one_line(outputs.front().text);
                             file << '\n';
                           });
    });
    translator.report();
    shared.hypotheses = utf8(path);
    return metric.run(globals);
  }
};

}  // namespace

std::unique_ptr<EvalMode> make_translation_mode(EvalFlags& shared, EvalMode& metric) {
  return std::make_unique<EvalTranslation>(shared, metric);
}

}  // namespace zoo::cli
