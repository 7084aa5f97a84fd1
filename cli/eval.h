#pragma once
// The modes of transformer-cli eval; eval.cpp chooses one. No torch in this header.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace zoo::cli {

/// Flags that all modes have.
struct EvalFlags {
  std::vector<std::string> metric_lists;
  std::optional<double> min_score;
  std::string format = "text";
};

class EvalMode {
 public:
  explicit EvalMode(const EvalFlags& flags) : shared(flags) {}
  virtual ~EvalMode() = default;
  virtual void declare(Flags& flags) = 0;
  virtual bool asked_for() const = 0;  ///< true if the flags that choose this mode were given
  virtual int run(const GlobalOptions& globals) = 0;

 protected:
  const EvalFlags& shared;
};

/// A model on a text: loss, perplexity, accuracy.
std::unique_ptr<EvalMode> make_perplexity_mode(const EvalFlags& shared);
const std::vector<std::string>& perplexity_metrics();
/// Files of hypotheses and references: BLEU, chrF, TER, ROUGE.
std::unique_ptr<EvalMode> make_metric_mode(const EvalFlags& shared);

}  // namespace zoo::cli
