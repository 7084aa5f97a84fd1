#include "cli/training_console.h"

#include <csignal>

#include "cli/command.h"
#include "core/text.h"

namespace zoo::cli {

namespace {

volatile std::sig_atomic_t received_signal = 0;

extern "C" void on_signal(int signal) {
  received_signal = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void ConsoleObserver::started(const fs::path& run, int64_t step) {
  log_info(step == 0 ? "training into " : cat("going on after step ", with_thousands(step), " in "),
           utf8(run));
}

void ConsoleObserver::steps(const StepReport& report) {
  if (progress_.due()) progress_.show(log_line(report));
  log_debug(log_line(report));
}

void ConsoleObserver::evaluated(const EvaluationReport& report) {
  progress_.finish();
  log_info(log_line(report));
}

void ConsoleObserver::saved(const fs::path& checkpoint, int64_t) {
  log_debug("saved ", utf8(checkpoint));
}

void ConsoleObserver::sampled(const std::string& text, int64_t step) {
  progress_.finish();
  log_debug("sample at step ", with_thousands(step), ":\n", text);
}

void ConsoleObserver::notice(const std::string& message) {
  progress_.finish();
  log_warning(message);
}

SignalGuard::SignalGuard()
    : old_int_(std::signal(SIGINT, on_signal)), old_term_(std::signal(SIGTERM, on_signal)) {}

SignalGuard::~SignalGuard() {
  std::signal(SIGINT, old_int_);
  std::signal(SIGTERM, old_term_);
}

bool SignalGuard::received() { return received_signal != 0; }

int SignalGuard::exit_code() { return received_signal == SIGTERM ? kTerminated : kInterrupted; }

}  // namespace zoo::cli
