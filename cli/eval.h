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
  std::string model;
  std::string hypotheses;  ///< a path; "-": standard input
  std::vector<std::string> metric_lists;
  std::optional<double> min_score;
  std::string data = "valid";  ///< what a model is measured on
  std::string format = "text";
};

class EvalMode {
 public:
  explicit EvalMode(EvalFlags& flags) : shared(flags) {}
  virtual ~EvalMode() = default;
  virtual void declare(Flags& flags) = 0;
  virtual bool asked_for() const = 0;  ///< true if the flags that choose this mode were given
  virtual int run(const GlobalOptions& globals) = 0;

 protected:
  EvalFlags& shared;
};

/// A model on a text: loss, perplexity, accuracy.
std::unique_ptr<EvalMode> make_perplexity_mode(EvalFlags& shared);
const std::vector<std::string>& perplexity_metrics();
/// A text encoder: classes, tags, or masked tokens.
std::unique_ptr<EvalMode> make_encoder_mode(EvalFlags& shared);
const std::vector<std::string>& class_metrics();
/// A vision model: classes of pictures.
std::unique_ptr<EvalMode> make_picture_mode(EvalFlags& shared);
/// Files of hypotheses and references: BLEU, chrF, TER, ROUGE.
std::unique_ptr<EvalMode> make_metric_mode(EvalFlags& shared);
/// A model's translations of a text, scored as files are.
/// @param metric scores EvalFlags::hypotheses
std::unique_ptr<EvalMode> make_translation_mode(EvalFlags& shared, EvalMode& metric);

}  // namespace zoo::cli
