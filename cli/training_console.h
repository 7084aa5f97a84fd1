#pragma once
// What commands that train share: how a training is shown, and signals that end it in order.

#include "cli/console.h"
#include "training/observer.h"

namespace zoo::cli {

/// Evaluations and notices as messages, steps as progress.
class ConsoleObserver final : public TrainObserver {
 public:
  void started(const fs::path& run, int64_t step) override;
  void steps(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;
  void saved(const fs::path& checkpoint, int64_t step) override;
  void sampled(const std::string& text, int64_t step) override;
  void notice(const std::string& message) override;

 private:
  Progress progress_;
};

/// Catches SIGINT and SIGTERM while it lives, to be asked for after each step. A second signal of
/// the kind ends the process at once.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  static bool received();
  /// kInterrupted or kTerminated. Only after received().
  static int exit_code();

 private:
  void (*old_int_)(int);
  void (*old_term_)(int);
};

}  // namespace zoo::cli
