// Attention maps: a thumbnail for each head, and the chosen one large. Each map is in the page
// once, as a grey picture that the page's colour is seen through, with its weights beside it for
// the script's read-outs.

#include <algorithm>
#include <cmath>

#include "analysis/plot.h"
#include "analysis/plot_parts.h"
#include "analysis/report/sections.h"
#include "core/text.h"
#include "core/utf8.h"
#include "data/image_file.h"

namespace zoo {

namespace {

/// More make a page that browsers open slowly: a weight takes about three bytes.
constexpr int64_t kMostWeights = 8'000'000;

struct Map {
  std::string title;            ///< "Layer 0, head 3"
  std::string column;           ///< of the thumbnails: "3"
  std::string summary;          ///< what the head does, in numbers
  std::vector<double> weights;  ///< row by row, 0 to 1
  double largest() const { return *std::max_element(weights.begin(), weights.end()); }
};

struct Layer {
  std::string name;
  std::vector<Map> maps;
};

/// One attention of one input.
struct Maps {
  std::string title;
  std::vector<std::string> rows, columns;  ///< labels of queries and keys
  std::vector<Layer> layers;
};

/// A member of an object of a file. @throws FormatError if it is not there
const Json& member(const Json& json, const char* key, Json::value_t type,
                   const std::string& where) {
  if (json.is_object() && json.contains(key) && json[key].type() == type) return json[key];
  throw FormatError(cat(where, ": expected attention maps, and found no \"", key,
                        "\" of the right kind in ", describe_json(json),
                        "; write the file with transformer-cli attention MODEL -o FILE.json"));
}

std::vector<std::string> labels(const Json& json, const char* key, const std::string& where) {
  std::vector<std::string> found;
  for (const Json& label : member(json, key, Json::value_t::array, where))
    found.push_back(json_text(label));
  if (found.empty()) throw FormatError(cat(where, ": \"", key, "\" is empty"));
  return found;
}

/// Reads the maps of a file, and keeps count of their weights.
class MapsReader {
 public:
  explicit MapsReader(int64_t budget) : budget_(budget) {}

  /// A line of the file for each input.
  std::vector<Maps> read(const fs::path& file) {
    std::vector<Maps> all;
    int64_t line = 0;
    for_each_line(read_file(file), [&](std::string_view text) {
      where_ = cat(utf8(file), ":", ++line);
      if (is_blank(text)) return;
      const Json json = parse_json(text, where_);
      std::string input = json_text(member(json, "input", Json::value_t::string, where_));
      if (json.contains("second")) input += " → " + json_text(json["second"]);
      for (const Json& maps : member(json, "maps", Json::value_t::array, where_))
        all.push_back(read_maps(maps, input));
    });
    if (all.empty()) throw FormatError(utf8(file) + ": holds no attention maps");
    return all;
  }

 private:
  Maps read_maps(const Json& json, const std::string& input) {
    Maps maps{.title = json_text(member(json, "attention", Json::value_t::string, where_)),
              .rows = labels(json, "queries", where_),
              .columns = labels(json, "keys", where_),
              .layers = {}};
    maps.title = cat(maps.title, " attention: ", input);
    const std::string unit = json.contains("distance_unit") ? json_text(json["distance_unit"]) : "";
    for (const Json& head : member(json, "heads", Json::value_t::array, where_)) {
      const std::string layer = "layer " + json_text(head.value("layer", Json()));
      if (maps.layers.empty() || maps.layers.back().name != layer)
        maps.layers.push_back({layer, {}});
      const Json number = head.value("head", Json());
      Map map = read_map(member(head, "weights", Json::value_t::array, where_), maps);
      map.column = json_text(number);
      map.title = cat(layer, ", ", number.is_number() ? "head " : "", map.column);
      map.summary = summary(head.value("summary", Json::object()), unit);
      maps.layers.back().maps.push_back(std::move(map));
    }
    if (maps.layers.empty()) throw FormatError(where_ + ": holds no heads");
    if (json.contains("rollout")) {
      Map map = read_map(json["rollout"], maps);
      map.title = "rollout, the product of all layers";
      maps.layers.push_back({"rollout", {std::move(map)}});
    }
    return maps;
  }

  Map read_map(const Json& json, const Maps& maps) {
    Map map;
    const auto refuse = [&](const std::string& found) {
      throw FormatError(cat(where_, ": a map has ", found, "; expected ", maps.rows.size(),
                            " rows of ", maps.columns.size(), " weights from 0 to 1"));
    };
    budget_ -= static_cast<int64_t>(maps.rows.size() * maps.columns.size());
    if (budget_ < 0)
      throw DataError(
          cat(where_, ": a page holds at most ", with_thousands(kMostWeights),
              " attention weights; write fewer (attention --layers, --heads, --mean) or "
              "take a shorter input"));
    if (json.size() != maps.rows.size()) refuse(cat(json.size(), " rows"));
    for (const Json& row : json) {
      if (!row.is_array() || row.size() != maps.columns.size())
        refuse(row.is_array() ? cat("a row of ", row.size()) : describe_json(row));
      for (const Json& weight : row) {
        if (!weight.is_number() || weight < 0 || weight > 1 + 1e-4) refuse(describe_json(weight));
        map.weights.push_back(weight.get<double>());
      }
    }
    return map;
  }

  static std::string summary(const Json& numbers, const std::string& unit) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : numbers.items()) {
      if (!value.is_number()) continue;
      std::string name = key;
      std::replace(name.begin(), name.end(), '_', ' ');
      parts.push_back(cat(name, " ", fixed(value.get<double>(), 2),
                          key == "entropy"    ? " nats"
                          : key == "distance" ? " " + unit
                                              : ""));
    }
    return join(parts, " · ");
  }

  int64_t budget_;
  std::string where_;  ///< file and line, for messages
};

/// White where the weight is the map's largest. The root makes small weights visible too.
std::string png(const Map& map, const Maps& maps) {
  Image image = Image::black(1, static_cast<int64_t>(maps.rows.size()),
                             static_cast<int64_t>(maps.columns.size()));
  const double largest = map.largest();
  for (size_t i = 0; i < map.weights.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(
        std::lround(255 * std::sqrt(largest > 0 ? map.weights[i] / largest : 0)));
  return encode_png(image);
}

/// Sixteen bits each, the low byte first.
std::string bytes_of(const std::vector<double>& weights) {
  std::string bytes;
  for (const double weight : weights) {
    const auto whole = static_cast<uint16_t>(std::lround(65535 * std::min(weight, 1.0)));
    bytes += static_cast<char>(whole & 0xFF);
    bytes += static_cast<char>(whole >> 8);
  }
  return bytes;
}

/// At most `most` characters of a label that is drawn.
std::string shortened(std::string_view label, size_t most = 18) {
  std::string text;
  for (size_t count = 0; !label.empty(); ++count) {
    const Utf8Step step = next_utf8(label);
    if (count == most) return text + "…";
    append_utf8(text, step.code_point);
    label.remove_prefix(step.length);
  }
  return text;
}

/// One file's maps. Its parts refer to each other by ids that begin with `id`.
class MapsHtml {
 public:
  MapsHtml(const Maps& maps, std::string id) : maps_(maps), id_(std::move(id)) {
    const size_t most = std::max(maps.rows.size(), maps.columns.size());
    cell_ = std::clamp(560.0 / static_cast<double>(most), 4.0, 28.0);
    for (const std::string& label : maps.rows)
      left_ = std::max(left_, plot::text_width(shortened(label)));
    for (const std::string& label : maps.columns)
      top_ = std::max(top_, plot::text_width(shortened(label)));
    left_ += 12;
    top_ += 12;
  }

  std::string html() const {
    return cat("<fieldset class=\"attention\" id=\"", id_, "\" data-heads=\"", heads(),
               "\" data-frame=\"", fixed(left_, 2), " ", fixed(top_, 2), " ", fixed(cell_, 4),
               "\" data-rows=\"", json_of(maps_.rows), "\" data-columns=\"", json_of(maps_.columns),
               "\">\n<legend><bdi>", escaped_xml(maps_.title), "</bdi></legend>\n", definitions(),
               thumbnails(), "<div>\n", readings(), large(),
               "<p class=\"read\" role=\"status\"></p>\n</div>\n", "</fieldset>\n");
  }

 private:
  size_t heads() const {
    size_t most = 0;
    for (const Layer& layer : maps_.layers) most = std::max(most, layer.maps.size());
    return most;
  }
  std::string id_of(size_t layer, size_t head) const { return cat(id_, "-", layer, "-", head); }
  static std::string json_of(const std::vector<std::string>& labels) {
    return escaped_xml(Json(labels).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  /// @param use (layer, head, map) to HTML
  std::string each(const auto& use) const {
    std::string out;
    for (size_t i = 0; i < maps_.layers.size(); ++i)
      for (size_t j = 0; j < maps_.layers[i].maps.size(); ++j)
        out += use(i, j, maps_.layers[i].maps[j]);
    return out;
  }

  /// The pictures, and the rules that show the one which is chosen.
  std::string definitions() const {
    const std::string size = cat("width=\"", maps_.columns.size(), "\" height=\"",
                                 maps_.rows.size(), "\" preserveAspectRatio=\"none\"");
    const std::string images = each([&](size_t i, size_t j, const Map& map) {
      return cat("<image id=\"", id_of(i, j), "\" ", size, " href=\"data:image/png;base64,",
                 base64(png(map, maps_)), "\" data-weights=\"", base64(bytes_of(map.weights)),
                 "\"/>\n");
    });
    const std::string rules = each([&](size_t i, size_t j, const Map&) {
      return cat("#", id_, ":has([value=\"", id_of(i, j), "\"]:checked) .of-", id_of(i, j),
                 "{display:block}\n");
    });
    return cat("<style>\n", rules, "</style>\n<svg width=\"0\" height=\"0\" class=\"hidden\" ",
               "aria-hidden=\"true\"><defs>\n", images, "</defs></svg>\n");
  }

  std::string thumbnails() const {
    std::string out = cat("<div class=\"heads\" style=\"grid-template-columns:auto repeat(",
                          heads(), ",minmax(0,5rem))\">\n<span class=\"layer\">head</span>");
    for (size_t j = 0; j < heads(); ++j)
      out += cat("<span>",
                 j < maps_.layers[0].maps.size() ? escaped_xml(maps_.layers[0].maps[j].column) : "",
                 "</span>");
    for (size_t i = 0; i < maps_.layers.size(); ++i) {
      const Layer& layer = maps_.layers[i];
      out += cat("\n<span class=\"layer\">", escaped_xml(layer.name), "</span>\n");
      for (size_t j = 0; j < heads(); ++j)
        out += j < layer.maps.size() ? thumbnail(i, j) : "<span></span>\n";
    }
    return out + "</div>\n";
  }
  std::string thumbnail(size_t i, size_t j) const {
    return cat("<label class=\"thumb\"><input type=\"radio\" name=\"", id_, "\" value=\"",
               id_of(i, j), "\" aria-label=\"", escaped_xml(maps_.layers[i].maps[j].title), "\"",
               i + j == 0 ? " checked" : "", "><svg aria-hidden=\"true\" viewBox=\"0 0 ",
               maps_.columns.size(), " ", maps_.rows.size(), "\"><use class=\"heat\" href=\"#",
               id_of(i, j), "\"/></svg></label>\n");
  }

  /// What is said of the chosen map.
  std::string readings() const {
    return each([&](size_t i, size_t j, const Map& map) {
      return cat("<p class=\"view of-", id_of(i, j), "\"><strong>", escaped_xml(map.title),
                 "</strong> <span class=\"soft\">weight 0<span class=\"ramp\"></span>",
                 plot::value_text(map.largest()), map.summary.empty() ? "" : "<br>",
                 escaped_xml(map.summary), "</span></p>\n");
    });
  }

  std::string large() const {
    const double wide = cell_ * static_cast<double>(maps_.columns.size()),
                 tall = cell_ * static_cast<double>(maps_.rows.size());
    const auto every = static_cast<size_t>(std::ceil(13 / cell_));
    std::string texts;
    for (size_t i = 0; i < maps_.rows.size(); i += every)
      texts += plot::label(left_ - 6, top_ + cell_ * (static_cast<double>(i) + 0.5) + 4, "end",
                           shortened(maps_.rows[i]));
    for (size_t i = 0; i < maps_.columns.size(); i += every) {
      const double x = left_ + cell_ * (static_cast<double>(i) + 0.5) + 4, y = top_ - 6;
      texts += plot::label(x, y, "start", shortened(maps_.columns[i]),
                           cat(" transform=\"rotate(-90 ", fixed(x, 2), " ", fixed(y, 2), ")\""));
    }
    const std::string views = each([&](size_t i, size_t j, const Map&) {
      return cat("<use class=\"view of-", id_of(i, j), "\" href=\"#", id_of(i, j), "\"/>\n");
    });
    const int width = static_cast<int>(std::ceil(left_ + wide + 2)),
              height = static_cast<int>(std::ceil(top_ + tall + 2));
    return cat(
        "<div class=\"scroll map\"><svg role=\"img\" aria-label=\"The chosen map: a row for ",
        "each query, a column for each key\" viewBox=\"0 0 ", width, " ", height, "\" width=\"",
        width, "\" height=\"", height, "\">\n", texts, "<g class=\"heat\">",
        "<g transform=\"translate(", fixed(left_, 2), " ", fixed(top_, 2), ") scale(",
        fixed(cell_, 4), ")\">\n", views, "</g></g>\n<rect class=\"edge\" x=\"", fixed(left_, 2),
        "\" y=\"", fixed(top_, 2), "\" width=\"", fixed(wide, 2), "\" height=\"", fixed(tall, 2),
        "\"/>\n</svg></div>\n");
  }

  const Maps& maps_;
  std::string id_;
  double left_ = 0, top_ = 0, cell_ = 0;  // of the large map, in pixels
};

/// Takes the brightness of a picture for the opacity of the page's colour.
constexpr std::string_view kFilter =
    "<svg width=\"0\" height=\"0\" class=\"hidden\" aria-hidden=\"true\"><filter id=\"heat\" "
    "color-interpolation-filters=\"sRGB\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\">"
    "<feColorMatrix type=\"luminanceToAlpha\" result=\"weight\"/><feFlood class=\"heat-colour\"/>"
    "<feComposite in2=\"weight\" operator=\"in\"/></filter></svg>\n";

}  // namespace

Section attention_section(const std::vector<fs::path>& files) {
  Section made;
  MapsReader reader(kMostWeights);
  std::string html;
  int64_t count = 0;
  for (const fs::path& file : files)
    for (const Maps& maps : reader.read(file)) {
      for (const Layer& layer : maps.layers)
        made.pictures += static_cast<int64_t>(layer.maps.size());
      html += MapsHtml(maps, cat("attention-", count++)).html();
    }
  if (!html.empty())
    made.html = section(
        "attention", "Attention",
        cat("<p>Choose a layer and head by its thumbnail, with the arrow keys too. Rows attend to "
            "columns; colours go by the square root of the weight, up to the map's largest.</p>\n",
            kFilter, html));
  return made;
}

}  // namespace zoo
