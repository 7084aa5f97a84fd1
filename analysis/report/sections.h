#pragma once
// The sections of a report, each from what it shows to HTML; empty where there is nothing to show.

#include <string>
#include <vector>

#include "analysis/report/run_record.h"
#include "core/error.h"

namespace zoo {

/// The HTML of a section, and how many pictures are in it.
struct Section {
  std::string html;
  int64_t pictures = 0;
};

/// A table of the runs, and what is to be said of them.
std::string overview_section(const std::vector<RunRecord>& runs);
Section curves_section(const std::vector<RunRecord>& runs);
/// What `gradnorm` and `compare` wrote. @param folders of theirs  @param with_runs whether the page
/// shows runs too, so that pictures which their curves are need not be there twice
Section measurements_section(const std::vector<fs::path>& folders, bool with_runs);
/// @param pictures of the section counts the maps
Section attention_section(const std::vector<fs::path>& files);
std::string samples_section(const std::vector<RunRecord>& runs);
/// Commands, versions, machines, data and configs.
std::string setup_section(const std::vector<RunRecord>& runs);

// What they share.

/// `<section id=…>` with its heading. @param title plain text  @param content HTML
std::string section(const std::string& id, const std::string& title, const std::string& content);
/// `<details>` that shows `content`, HTML, when its summary, plain text, is chosen.
std::string folded(const std::string& summary, const std::string& content, bool open = false);
/// `<figure>` with a caption above, plain text; empty: none. @param picture HTML
std::string figure(const std::string& caption, const std::string& picture);
/// Keys and single values of an object as a list of terms; empty if there are none.
std::string terms(const Json& object, const std::vector<std::string>& left_out);
/// The name of a run with its colour.
std::string run_label(const std::vector<RunRecord>& runs, size_t index);

/// A table in a frame of its own that scrolls. Cells are HTML.
class HtmlTable {
 public:
  /// @param caption plain text, for those who cannot see the table
  HtmlTable(std::string caption, std::vector<std::string> header)
      : caption_(std::move(caption)), header_(std::move(header)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  size_t rows() const { return rows_.size(); }
  /// A column whose cells are numbers, or blank, stands to the right.
  std::string html() const;

 private:
  std::string caption_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// "exact match" for "valid_exact_match".
std::string metric_title(const std::string& name);
/// "1234" and "12,345" for whole numbers, else about four digits; "–" for NaN.
std::string number_text(double value);
/// A value of JSON as one would write it: texts without quotes, numbers as above, others as JSON.
std::string json_text(const Json& json);

}  // namespace zoo
