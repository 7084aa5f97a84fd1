#include "analysis/dynamics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "analysis/plot.h"
#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr double kTolerance = 1e-6;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kColumns = "step,loss,group,layer,grad,weight,update_ratio,clipped";
constexpr const char* kReachColumns = "step,side,distance,grad";

/// What csv_number() wrote.
double number_in(std::string_view text) {
  double value = kNan;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> unique_in_order(const std::vector<ParameterGroup>& groups,
                                         std::string ParameterGroup::*member) {
  std::vector<std::string> names;
  for (const ParameterGroup& group : groups)
    if (std::find(names.begin(), names.end(), group.*member) == names.end())
      names.push_back(group.*member);
  return names;
}

double norm_where(const Dynamics& dynamics, const DynamicsStep& step, const std::string& name,
                  std::string ParameterGroup::*member) {
  double sum = 0;
  for (size_t i = 0; i < step.groups.size(); ++i)
    if (dynamics.groups[i].*member == name) sum += step.groups[i].grad * step.groups[i].grad;
  return std::sqrt(sum);
}

double relative_error(double value, double truth) {
  return truth == 0 ? std::abs(value) : std::abs(value - truth) / truth;
}

std::string heat(const Dynamics& dynamics, const std::string& title,
                 std::string ParameterGroup::*member, const std::string& row_title) {
  HeatMap map;
  map.title = title;
  map.row_title = row_title;
  map.column_title = "step";
  map.rows = unique_in_order(dynamics.groups, member);
  for (const DynamicsStep& step : dynamics.steps) map.columns.push_back(std::to_string(step.step));
  map.row_count = std::ssize(map.rows);
  map.column_count = std::ssize(map.columns);
  for (const std::string& row : map.rows)
    for (const DynamicsStep& step : dynamics.steps)
      map.values.push_back(norm_where(dynamics, step, row, member));
  map.log = true;
  return svg(map);
}

/// The lines of a table behind its columns' names, as fields. @throws FormatError
std::vector<std::vector<std::string>> rows_of(const std::string& text, std::string_view columns,
                                              const std::string& where) {
  std::vector<std::vector<std::string>> rows;
  bool first = true;
  const size_t width = split(columns, ',').size();
  for_each_line(text, [&](std::string_view line) {
    if (std::exchange(first, false)) {
      if (line != columns)
        throw FormatError(cat(where, ": begins with \"", line, "\" and not with \"", columns,
                              "\"; it was not written by a training that was looked into"));
      return;
    }
    rows.push_back(split(line, ','));
    if (rows.back().size() != width)
      throw FormatError(cat(where, ":", rows.size() + 1, ": has ", rows.back().size(),
                            " fields and not ", width, "; remove the file or that line"));
  });
  return rows;
}

}  // namespace

std::vector<std::string> Dynamics::layers() const {
  return unique_in_order(groups, &ParameterGroup::layer);
}

std::vector<std::string> Dynamics::group_names() const {
  return unique_in_order(groups, &ParameterGroup::group);
}

double grad_norm_of_layer(const Dynamics& dynamics, const DynamicsStep& step,
                          const std::string& layer) {
  return norm_where(dynamics, step, layer, &ParameterGroup::layer);
}

double grad_norm_of_group(const Dynamics& dynamics, const DynamicsStep& step,
                          const std::string& group) {
  return norm_where(dynamics, step, group, &ParameterGroup::group);
}

std::vector<TheoryCheck> dynamics_checks(const Dynamics& dynamics, const std::string& name) {
  double norm_error = 0, cosine_error = 0, sum_error = 0;
  for (const DynamicsStep& step : dynamics.steps) {
    if (!std::isfinite(step.exact_norm)) continue;
    const double wanted =
        dynamics.clip_norm > 0 ? std::min(dynamics.clip_norm, step.exact_norm) : step.exact_norm;
    norm_error = std::max(norm_error, relative_error(step.clipped_norm, wanted));
    cosine_error = std::max(cosine_error, std::abs(1 - step.clip_cosine));
    double squares = 0;
    for (const GroupNorms& group : step.groups) squares += group.grad * group.grad;
    sum_error = std::max(sum_error, relative_error(squares, step.grad_norm * step.grad_norm));
  }
  const auto check = [&](const char* id, const char* claim, double value) {
    return TheoryCheck{id, cat(name, ": ", claim), value, 0, kTolerance};
  };
  return {check("G12", "the norm after clipping is min(clip_norm, norm before); relative error",
                norm_error),
          check("G12", "clipping keeps the direction; 1 - cosine", cosine_error),
          check("G13",
                "the groups' squared gradient norms add up to the squared norm that the training "
                "clips by; relative error",
                sum_error)};
}

std::string dynamics_csv(const Dynamics& dynamics, const std::string& name) {
  const std::string first = name.empty() ? "" : csv_field(name) + ",";
  std::string csv = cat(name.empty() ? "" : "model,", kColumns, "\n");
  for (const DynamicsStep& step : dynamics.steps)
    for (size_t i = 0; i < dynamics.groups.size(); ++i) {
      const GroupNorms& norms = step.groups[i];
      csv +=
          cat(first, step.step, ',', csv_number(step.loss), ',', dynamics.groups[i].group, ',',
              dynamics.groups[i].layer, ',', csv_number(norms.grad), ',', csv_number(norms.weight),
              ',', csv_number(norms.update_ratio), ',', csv_number(step.clipped), '\n');
    }
  return csv;
}

std::string reach_csv(const Dynamics& dynamics, const std::string& name) {
  const std::string first = name.empty() ? "" : csv_field(name) + ",";
  std::string csv = cat(name.empty() ? "" : "model,", kReachColumns, "\n");
  for (const GradientReach& reach : dynamics.reach)
    for (size_t k = 0; k < reach.norm.size(); ++k)
      csv += cat(first, reach.step, ',', reach.side, ',', k, ',', csv_number(reach.norm[k]), '\n');
  return csv;
}

Dynamics read_dynamics(const std::string& dynamics, const std::string& reach,
                       const std::string& where) {
  Dynamics read;
  for (const auto& row : rows_of(dynamics, kColumns, where)) {
    const auto step = static_cast<int64_t>(number_in(row[0]));
    if (read.steps.empty() || read.steps.back().step != step) {
      read.steps.emplace_back();
      read.steps.back().step = step;
      read.steps.back().loss = number_in(row[1]);
      read.steps.back().clipped = number_in(row[7]);
    }
    std::vector<GroupNorms>& groups = read.steps.back().groups;
    if (read.steps.size() == 1) read.groups.push_back({row[2], row[3]});
    if (groups.size() >= read.groups.size() || read.groups[groups.size()].group != row[2] ||
        read.groups[groups.size()].layer != row[3])
      throw FormatError(cat(where, ": step ", step, " has other groups than the first step; ",
                            "remove the file"));
    groups.push_back({number_in(row[4]), number_in(row[5]), number_in(row[6])});
  }
  for (const auto& row : rows_of(reach, kReachColumns, where)) {
    const auto step = static_cast<int64_t>(number_in(row[0]));
    if (row[2] == "0") read.reach.push_back({step, row[1], {}});
    if (read.reach.empty())
      throw FormatError(cat(where, ": distances begin with ", row[2], " and not with 0"));
    read.reach.back().norm.push_back(number_in(row[3]));
  }
  return read;
}

Json to_json(const Dynamics& dynamics, const std::string& name) {
  Json groups = Json::array(), steps = Json::array(), reach = Json::array();
  for (const ParameterGroup& group : dynamics.groups)
    groups.push_back({{"group", group.group}, {"layer", group.layer}});
  for (const DynamicsStep& step : dynamics.steps) {
    Json grad = Json::array(), weight = Json::array(), update = Json::array();
    for (const GroupNorms& norms : step.groups) {
      grad.push_back(norms.grad);
      weight.push_back(norms.weight);
      update.push_back(norms.update_ratio);
    }
    steps.push_back({{"step", step.step},
                     {"loss", step.loss},
                     {"clipped", step.clipped},
                     {"grad_norm", step.grad_norm},
                     {"grad", grad},
                     {"weight", weight},
                     {"update_ratio", update}});
  }
  for (const GradientReach& at : dynamics.reach)
    reach.push_back({{"step", at.step}, {"side", at.side}, {"grad", at.norm}});
  return {{"name", name},     {"clip_norm", dynamics.clip_norm},
          {"groups", groups}, {"steps", steps},
          {"reach", reach},   {"checks", to_json(dynamics_checks(dynamics, name))}};
}

std::string layer_chart(const Dynamics& dynamics, const std::string& title) {
  return heat(dynamics, title + ": gradient norm by layer", &ParameterGroup::layer, "layer");
}

std::string group_chart(const Dynamics& dynamics, const std::string& title) {
  return heat(dynamics, title + ": gradient norm by group", &ParameterGroup::group, "group");
}

std::string reach_chart(const std::vector<std::pair<std::string, const Dynamics*>>& trainings) {
  LineChart chart;
  chart.title = "Gradient of the last target's loss by distance";
  chart.x.label = "tokens back from the side's last one";
  chart.y = {"norm of dL/dx", /*log=*/true};
  int colour = 0;
  for (const auto& [name, dynamics] : trainings) {
    const int64_t last = dynamics->reach.empty() ? 0 : dynamics->reach.back().step;
    for (const GradientReach& reach : dynamics->reach) {
      if (reach.step != last) continue;
      Series series;
      series.name = cat(name, ", ", reach.side);
      for (size_t k = 0; k < reach.norm.size(); ++k) series.x.push_back(static_cast<double>(k));
      series.y = reach.norm;
      series.mark = reach.side == "source" ? Series::Mark::line : Series::Mark::dashed;
      series.colour = colour;
      chart.series.push_back(std::move(series));
    }
    ++colour;
  }
  return svg(chart);
}

std::string clipping_chart(const std::vector<std::pair<std::string, const Dynamics*>>& trainings) {
  LineChart chart;
  chart.title = "Share of clipped steps";
  chart.x.label = "step";
  chart.y.label = "share since the last point";
  for (const auto& [name, dynamics] : trainings) {
    Series series;
    series.name = name;
    for (const DynamicsStep& step : dynamics->steps) {
      series.x.push_back(static_cast<double>(step.step));
      series.y.push_back(step.clipped);
    }
    chart.series.push_back(std::move(series));
  }
  return svg(chart);
}

}  // namespace zoo
