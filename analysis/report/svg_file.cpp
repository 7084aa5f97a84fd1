#include "analysis/report/svg_file.h"

#include <algorithm>
#include <array>

#include "analysis/plot.h"
#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::array<std::string_view, 9> kElements = {"svg",  "g",        "path", "rect", "circle",
                                                       "text", "polyline", "line", "title"};
constexpr std::array<std::string_view, 31> kAttributes = {"xmlns",
                                                          "class",
                                                          "role",
                                                          "aria-label",
                                                          "viewBox",
                                                          "width",
                                                          "height",
                                                          "x",
                                                          "y",
                                                          "x1",
                                                          "y1",
                                                          "x2",
                                                          "y2",
                                                          "cx",
                                                          "cy",
                                                          "r",
                                                          "d",
                                                          "points",
                                                          "fill",
                                                          "stroke",
                                                          "stroke-width",
                                                          "stroke-dasharray",
                                                          "opacity",
                                                          "text-anchor",
                                                          "data-x",
                                                          "fill-opacity",
                                                          "data-y",
                                                          "data-name",
                                                          "dy",
                                                          "dx",
                                                          "transform"};

/// Reads elements and texts one after the other, and refuses what it does not know.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  /// Whether all is one element `svg` of the class of our plots, made of known parts only.
  bool is_plain() {
    rest_ = trim(rest_);
    if (!rest_.starts_with("<svg ")) return false;
    int64_t depth = 0;
    while (!rest_.empty()) {
      if (rest_[0] != '<') {
        if (depth == 0) return false;  // beside the picture
        rest_.remove_prefix(std::min(rest_.find('<'), rest_.size()));
        continue;
      }
      if (!tag(depth)) return false;
      if (depth == 0) return rest_.empty() && has_class_;
    }
    return false;
  }

 private:
  bool skip(std::string_view part) {
    if (!rest_.starts_with(part)) return false;
    rest_.remove_prefix(part.size());
    return true;
  }
  void skip_blank() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size()));
  }
  std::string_view name() {
    const size_t end = rest_.find_first_of(" \t\r\n/>=\"'<");
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(found.size());
    return found;
  }

  bool tag(int64_t& depth) {
    rest_.remove_prefix(1);
    if (skip("/")) {
      --depth;
      return known(kElements, name()) && skip(">");
    }
    if (!known(kElements, name())) return false;
    for (skip_blank(); !rest_.empty() && rest_[0] != '>' && rest_[0] != '/'; skip_blank())
      if (!attribute(depth == 0)) return false;
    if (skip("/>")) return true;
    ++depth;
    return skip(">");
  }

  bool attribute(bool of_root) {
    const std::string_view key = name();
    if (!known(kAttributes, key) || !skip("=\"")) return false;
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos) return false;
    const std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    if (key == "class" && of_root) has_class_ = value == "zoo-plot";
    return value.find("url(") == std::string_view::npos &&
           value.find('<') == std::string_view::npos;
  }

  static bool known(const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  std::string_view rest_;
  bool has_class_ = false;
};

}  // namespace

std::string without_style(std::string svg) {
  const size_t place = svg.find(plot_style());
  if (place != std::string::npos) svg.erase(place, plot_style().size());
  return svg;
}

std::string svg_html(std::string_view svg, const std::string& alt) {
  const std::string bare = without_style(std::string(svg));
  if (Scanner(bare).is_plain()) return bare;
  return cat("<img alt=\"", escaped_xml(alt), "\" src=\"data:image/svg+xml;base64,", base64(svg),
             "\">");
}

}  // namespace zoo
