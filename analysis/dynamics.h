#pragma once
// What training does to a model's parameters, group by group and layer by layer: norms of the
// gradient and of the weights, size of the updates, clipping; and how far the gradient reaches back
// in time. Tables, charts and checks of what analysis/train_dynamics.h measured. No torch in this
// header.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/theory_check.h"
#include "core/files.h"
#include "core/json.h"

namespace zoo {

/// The parameters of one kind in one layer.
struct ParameterGroup {
  /// "embedding", "position", "input.forget" and "recurrent.forget" (a recurrent layer's gates),
  /// "bridge", "attention.q", "attention.k", "attention.v", "attention.o", the same with
  /// "cross_attention", "attention.score", "ffn1", "ffn2", "norm", "readout", "output"
  std::string group;
  std::string layer;  ///< "encoder.0", "block.3"; outside of layers the part's own name
  bool operator==(const ParameterGroup&) const = default;
};

struct GroupNorms {
  double grad = 0;          ///< 2-norm of the gradient, before clipping; NaN: it was not finite
  double weight = 0;        ///< 2-norm before the update
  double update_ratio = 0;  ///< 2-norm of the update over that of the weights; NaN if these are 0
};

/// One step that was looked into.
struct DynamicsStep {
  int64_t step = 0;    ///< counted from 1
  double loss = 0;     ///< mean over the step's targets, in nats
  double clipped = 0;  ///< share of the steps since the last such one whose gradient was clipped
  std::vector<GroupNorms> groups;  ///< in the order of Dynamics::groups

  // What clipping is tried by, of all parameters together; NaN where the step was skipped.
  double grad_norm = 0;     ///< as the training has it, before clipping
  double exact_norm = 0;    ///< the same summed in float64
  double clipped_norm = 0;  ///< after clipping, summed in float64
  double clip_cosine = 0;   ///< between the gradient before clipping and after
};

/// How large dL/dx is by distance in time, where L is the loss of the last target alone and x what
/// the model reads at a place: its token's embedding. (The mean loss over all places would hide
/// what vanishes, since each place learns from its own neighbours.)
struct GradientReach {
  int64_t step = 0;
  std::string side;  ///< "source", or "target", which a model without encoder has alone
  /// Root of the mean over the batch of ||dL/dx||^2, for distance 0 (the side's last token), 1, …
  std::vector<double> norm;
};

/// A training as it was looked into.
struct Dynamics {
  double clip_norm = 0;  ///< of the training; 0: no clipping
  std::vector<ParameterGroup> groups;
  std::vector<DynamicsStep> steps;
  std::vector<GradientReach> reach;
  std::vector<uint64_t> read;  ///< a hash of what each step read, from the first one on

  std::vector<std::string> layers() const;       ///< in the order of the model
  std::vector<std::string> group_names() const;  ///< in the order of the model
};

/// Of one layer, or of one kind of parameters in all layers, at one step.
double grad_norm_of_layer(const Dynamics& dynamics, const DynamicsStep& step,
                          const std::string& layer);
double grad_norm_of_group(const Dynamics& dynamics, const DynamicsStep& step,
                          const std::string& group);

/// G12: the gradient's norm after clipping is min(clip_norm, norm before) and its direction stays,
/// both within 1e-6. G13: the squares of the groups' norms add up to that of the whole gradient,
/// within 1e-6 of it. Over all steps that were looked into. @param name of the training, in claims
std::vector<TheoryCheck> dynamics_checks(const Dynamics& dynamics, const std::string& name);

/// "step,loss,group,layer,grad,weight,update_ratio,clipped", a line for each group at each step;
/// what is no number is left blank. @param name goes into a first column "model"; empty: no such
/// column
std::string dynamics_csv(const Dynamics& dynamics, const std::string& name = "");
/// "step,side,distance,grad", with "model" as above.
std::string reach_csv(const Dynamics& dynamics, const std::string& name = "");

/// Reads what dynamics_csv() and reach_csv() wrote without a name; what clipping is tried by is not
/// in there and stays 0. @param where names the text in messages  @throws FormatError
Dynamics read_dynamics(const std::string& dynamics, const std::string& reach,
                       const std::string& where);

/// Groups, layers, steps and checks.
Json to_json(const Dynamics& dynamics, const std::string& name);

// Charts, as SVG. @param title names the training
std::string layer_chart(const Dynamics& dynamics, const std::string& title);  ///< layer x step
std::string group_chart(const Dynamics& dynamics, const std::string& title);  ///< group x step
/// Gradients by distance of several trainings, at their last look, against each other.
std::string reach_chart(const std::vector<std::pair<std::string, const Dynamics*>>& trainings);
/// Share of clipped steps.
std::string clipping_chart(const std::vector<std::pair<std::string, const Dynamics*>>& trainings);

}  // namespace zoo
