#include "training/observer.h"

#include <cstdio>

#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string step_text(int64_t step) { return cat("step ", with_thousands(step)); }

}  // namespace

std::string log_line(const StepReport& report) {
  std::string line = step_text(report.step);
  if (report.total_steps > 0) line += cat("/", with_thousands(report.total_steps));
  line +=
      cat(number(" | epoch %.2f", report.epoch), number(" | loss %.4f", report.loss),
          number(" | lr %.2e", report.learning_rate), number(" | grad norm %.3f", report.grad_norm),
          " | ", with_thousands(static_cast<int64_t>(report.tokens_per_second)), " tokens/s");
  if (report.skipped_steps > 0) line += cat(" | ", report.skipped_steps, " skipped");
  if (report.seconds_left >= 0) line += cat(" | ", human_seconds(report.seconds_left), " left");
  return line;
}

std::string log_line(const EvaluationReport& report) {
  std::string line = step_text(report.step);
  for (const auto& [name, value] : report.metrics) line += cat(" | ", name, number(" %.4f", value));
  return cat(line, report.is_best ? " | best so far" : "", " | took ",
             human_seconds(report.seconds));
}

Json to_json(const StepReport& report) {
  return {{"step", report.step},
          {"epoch", report.epoch},
          {"loss", report.loss},
          {"learning_rate", report.learning_rate},
          {"grad_norm", report.grad_norm},
          {"skipped_steps", report.skipped_steps},
          {"tokens", report.tokens},
          {"flops", report.flops},
          {"tokens_per_second", report.tokens_per_second},
          {"seconds", report.seconds}};
}

Json to_json(const EvaluationReport& report) {
  Json json = {{"step", report.step}};
  for (const auto& [name, value] : report.metrics) json[name] = value;
  json["is_best"] = report.is_best;
  json["evaluation_seconds"] = report.seconds;
  return json;
}

}  // namespace zoo
