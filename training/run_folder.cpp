#include "training/run_folder.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kRemoved = ".removed";
constexpr std::array kRecords = {"best",     "last",        "average",       "run.json",
                                 "zoo.json", "train.log",   "metrics.jsonl", "tensorboard",
                                 "samples",  "checkpoints", "dynamics.csv",  "gradient_time.csv"};
constexpr std::string_view kPackedTokens = "data";

/// The step of a complete checkpoint's name.
std::optional<int64_t> step_of(const fs::path& path) {
  const std::string name = utf8(path.filename());
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size() || name.size() > 24)
    return std::nullopt;
  const std::string digits = name.substr(kPrefix.size());
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoll(digits);
}

}  // namespace

RunFolder::RunFolder(const fs::path& path) : path_(path) { require_writable_folder(path); }

bool RunFolder::is_empty() const { return fs::is_empty(path_); }

bool RunFolder::holds_only_a_run() const {
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = utf8(entry.path().filename());
    if (name != kPackedTokens &&
        std::find(kRecords.begin(), kRecords.end(), name) == kRecords.end())
      return false;
  }
  return true;
}

void RunFolder::clear() const {
  for (const char* name : kRecords) {
    std::error_code error;
    fs::remove_all(path_ / name, error);
    if (error) throw DataError(cat(utf8(path_ / name), ": cannot be removed: ", error.message()));
  }
}

void RunFolder::remove_leftovers() const {
  std::error_code ignored;
  for (const fs::path& folder : {path_, path_ / "checkpoints"})
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = utf8(entry.path().filename());
      if (name.find(".partial-") != std::string::npos || name.ends_with(kRemoved))
        fs::remove_all(entry.path(), ignored);
    }
}

fs::path RunFolder::checkpoint(int64_t step) const {
  char name[32];
  std::snprintf(name, sizeof name, "step-%06lld", static_cast<long long>(step));
  return path_ / "checkpoints" / name;
}

std::vector<int64_t> RunFolder::checkpoint_steps() const {
  std::vector<int64_t> steps;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_ / "checkpoints", ignored))
    if (const auto step = step_of(entry.path())) steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::optional<fs::path> RunFolder::linked(const std::string& link) const {
  const fs::path path = path_ / link;
  return fs::is_directory(path) ? std::optional(fs::canonical(path)) : std::nullopt;
}

void RunFolder::save_checkpoint(int64_t step,
                                const std::function<void(const fs::path&)>& fill) const {
  write_folder(checkpoint(step), fill);
}

void RunFolder::link(const std::string& name, int64_t step) const {
  replace_link(path_ / name, fs::path("checkpoints") / checkpoint(step).filename());
}

void RunFolder::prune(const std::function<bool(int64_t)>& keep) const {
  for (const int64_t step : checkpoint_steps()) {
    if (keep(step)) continue;
    fs::path removed = checkpoint(step);
    removed += kRemoved;
    std::error_code error;
    fs::remove_all(removed, error);
    fs::rename(checkpoint(step), removed, error);
    if (!error) fs::remove_all(removed, error);
    if (error)
      throw DataError(cat(utf8(checkpoint(step)), ": cannot be removed: ", error.message()));
  }
}

void RunFolder::append(const std::string& file, const std::string& line) const {
  std::ofstream out(path_ / file, std::ios::app | std::ios::binary);
  out << line << '\n';
  out.close();
  if (!out) throw DataError(utf8(path_ / file) + ": cannot be written; is the disk full?");
}

void RunFolder::truncate_metrics(int64_t step) const {
  const fs::path file = path_ / "metrics.jsonl";
  if (!fs::exists(file)) return;
  std::string kept;
  for_each_line(read_file(file), [&](std::string_view line) {
    // A line that a kill cut in two is dropped like a later one.
    if (!Json::accept(line)) return;
    const Json entry = Json::parse(line);
    if (entry.is_object() && entry.value("step", int64_t{0}) <= step)
      kept += std::string(line) + "\n";
  });
  write_file(file, kept);
}

}  // namespace zoo
