// transformer-cli verify: whether a model says the same however it is run.

#include "analysis/verify.h"

#include <cstdio>

#include "cli/command.h"
#include "cli/runtime.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

/// "1.2e-06"; "0" for an exact 0.
std::string scientific(double value) {
  if (value == 0) return "0";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

struct Verify {
  std::string model;
  std::vector<std::string> checks;
  std::optional<double> tolerance;

  void declare(Flags& flags) {
    flags.describe(
        cat("Runs the model on random inputs in ways that must agree, and prints for each the "
            "largest\n"
            "difference of two logits. Exit code 4 if one differs by more than the tolerance.\n"
            "finite: no NaN, no infinity in weights and logits; repeat: the same pass twice; "
            "cache: with and\n"
            "without; batch: rows alone and beside others; padding: what stands in it changes "
            "nothing; stream:\n"
            "greedy decoding against one pass, its text piece by piece; threads: 1 against all; "
            "roundtrip: saved\n"
            "and loaded (in TMPDIR); bf16: the drift in bfloat16, a root mean square over the "
            "logits' spread,\n"
            "of at most ",
            kBfloat16Drift, "."));
    flags.text("-m,--model,model", model, "DIR", "run, checkpoint or Hugging Face folder");
    flags.choices("--checks", checks, enum_names<VerifyCheck>(), "which to run (default: all)");
    flags.number("--tolerance", tolerance, positive(),
                 cat("largest difference, times the largest |logit| (default: ", kFloat32Tolerance,
                     ", in bfloat16 ", kBfloat16Tolerance, "); not of bf16"));
    flags.example("everything", "transformer-cli verify weights/gpt-shakespeare-char");
    flags.example("an encoder-decoder's cache, closely",
                  "transformer-cli verify runs/translate --checks cache,batch --tolerance 2e-5");
  }

  int run(const GlobalOptions& globals) {
    if (model.empty()) throw ConfigError("verify: no model is given; name its folder: -m DIR");
    VerifyOptions options{.checks = wanted(), .tolerance = tolerance};
    options.seed = static_cast<uint64_t>(globals.seed);
    const Runtime runtime = start_runtime(globals);
    const LoadedModel loaded =
        load_model(utf8_path(model), {.device = runtime.device, .dtype = runtime.dtype});
    Progress progress;
    options.on_start = [&](VerifyCheck check) {
      if (progress.due()) progress.show(enum_name(check));
    };
    const std::vector<VerifyResult> results = verify(loaded, options);
    progress.finish();

    std::vector<std::string> failed;
    size_t applicable = 0;
    for (const VerifyResult& result : results) {
      applicable += result.outcome != VerifyOutcome::not_applicable;
      if (result.outcome != VerifyOutcome::failed) continue;
      failed.push_back(cat(enum_name(result.check), " (", result.compared,
                           result.note.empty() ? "" : ": ", result.note, ")"));
    }
    if (globals.json) {
      print_json(results, applicable - failed.size(), applicable);
    } else {
      print_table(results);
      out() << applicable - failed.size() << " of " << applicable << " checks passed\n";
    }
    if (!failed.empty())
      throw NumericError(cat("verify: ", model, ": ", failed.size(), " of ", applicable,
                             " checks failed: ", join(failed, "; ")));
    return kDone;
  }

 private:
  std::vector<VerifyCheck> wanted() const {
    std::vector<VerifyCheck> found;
    for (const std::string& name : checks) found.push_back(*enum_value<VerifyCheck>(name));
    return found;
  }

  static void print_table(const std::vector<VerifyResult>& results) {
    Table table({"check", "compared", "largest", "tolerance", "result", "note"});
    for (const VerifyResult& result : results)
      table.add({std::string(enum_name(result.check)), result.compared,
                 result.deviation ? scientific(*result.deviation) : "",
                 result.deviation ? scientific(result.tolerance) : "",
                 std::string(enum_name(result.outcome)), result.note});
    table.print(out());
  }

  void print_json(const std::vector<VerifyResult>& results, size_t passed,
                  size_t applicable) const {
    Json list = Json::array();
    for (const VerifyResult& result : results) {
      Json entry{{"check", enum_name(result.check)},
                 {"compared", result.compared},
                 {"result", enum_name(result.outcome)},
                 {"deviation", nullptr},
                 {"tolerance", nullptr},
                 {"scale", nullptr},
                 {"note", result.note}};
      if (result.deviation) {
        entry["deviation"] = *result.deviation;  // NaN is written as null
        entry["tolerance"] = result.tolerance;
        entry["scale"] = result.scale;
      }
      list.push_back(std::move(entry));
    }
    out() << Json{{"model", model},
                  {"checks", list},
                  {"passed", passed},
                  {"applicable", applicable}}
                 .dump(2)
          << '\n';
  }
};

}  // namespace

Command verify_command() {
  return make_command<Verify>("verify", "Check that a model says the same however it is run");
}

}  // namespace zoo::cli
