// A report of hostile, broken and plain folders: what stands in the page.
#include "analysis/report.h"

#include <gtest/gtest.h>

#include <regex>

#include "analysis/plot.h"
#include "analysis/report/page_assets.h"
#include "analysis/report/run_record.h"
#include "analysis/report/svg_file.h"
#include "core/json.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;
using testing::TempFolder;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int64_t count(const std::string& text, const std::string& part) {
  int64_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string step_line(int64_t step, double loss) {
  return Json{{"step", step},
              {"epoch", 0.5},
              {"loss", loss},
              {"grad_norm", 1.5},
              {"learning_rate", 1e-3},
              {"skipped_steps", 0},
              {"tokens_per_second", 1000.0},
              {"tokens", step * 100},
              {"flops", 1e9 * static_cast<double>(step)},
              {"seconds", static_cast<double>(step) / 10}}
             .dump() +
         "\n";
}

std::string evaluation_line(int64_t step, double loss) {
  return Json{{"step", step}, {"valid_loss", loss}, {"valid_exact_match", 0.25}, {"is_best", true}}
             .dump() +
         "\n";
}

void write_run(const fs::path& folder, const std::string& metrics) {
  write_file(folder / "metrics.jsonl", metrics);
  const Json config = {{"model", {{"type", "gpt"}, {"d_model", 16}}},
                       {"task", {{"type", "completion"}}}};
  write_json_file(folder / "run.json", {{"status", "max_steps"},
                                        {"sessions",
                                         {{{"command", "transformer-cli train -c 'my config.json'"},
                                           {"started", "2026-01-02T03:04:05Z"},
                                           {"libtorch", "2.13.0"},
                                           {"processor", "A processor"},
                                           {"peak_memory_bytes", 1.5e9}}}},
                                        {"seed", 1337},
                                        {"parameters", 121557},
                                        {"config", config},
                                        {"result",
                                         {{"step", 200},
                                          {"seconds", 20.0},
                                          {"metric", "valid_exact_match"},
                                          {"best_value", 0.25},
                                          {"best_step", 200}}}});
}

/// Notes that a run of these metrics has.
std::vector<std::string> notes_of(const std::string& metrics) {
  const TempFolder folder;
  write_run(folder / "run", metrics);
  return read_run(folder / "run").notes;
}

using Notes = std::vector<std::string>;

TEST(RunRecord, ReadsCurvesAndWhatTrainingHadTaken) {
  const TempFolder folder;
  write_run(folder / "run", step_line(10, 4) + evaluation_line(10, 3.5) + step_line(20, 3));
  const RunRecord run = read_run(folder / "run");
  EXPECT_EQ(run.notes, Notes{});
  ASSERT_NE(run.curve("loss"), nullptr);
  EXPECT_EQ(run.curve("loss")->step, (std::vector<double>{10, 20}));
  EXPECT_EQ(run.curve("loss")->value, (std::vector<double>{4, 3}));
  ASSERT_NE(run.curve("valid_loss"), nullptr);
  EXPECT_EQ(run.curve("valid_loss")->seconds, std::vector<double>{1})
      << "an evaluation stands where the report before it does";
  EXPECT_EQ(run.curve("valid_loss")->tokens, std::vector<double>{1000});
  EXPECT_EQ(run.curve("valid_loss")->flops, std::vector<double>{1e10});
  EXPECT_EQ(run.curve("seconds"), nullptr) << "a place is no curve";
  EXPECT_EQ(run.curve("is_best"), nullptr);
}

TEST(RunRecord, SaysWhatIsBroken) {
  const std::string good = step_line(10, 4) + evaluation_line(10, 4);
  EXPECT_EQ(notes_of(good + step_line(20, 3).substr(0, 30)),
            Notes{"metrics.jsonl: its last line is half written and left out"});
  EXPECT_EQ(
      notes_of("nonsense\n\n[1]\n" + good),
      Notes{"metrics.jsonl: 2 lines are not of a training and left out, the first is line 1"});
  EXPECT_EQ(notes_of(step_line(10, 4)), Notes{"it has not been evaluated yet"});
  EXPECT_EQ(notes_of(good + "{\"step\":20,\"loss\":null,\"skipped_steps\":3}\n"),
            Notes{"metrics.jsonl: 3 steps were skipped, since their gradients were not finite"});

  const TempFolder folder;
  write_file(folder / "bare" / "metrics.jsonl", good);
  EXPECT_EQ(read_run(folder / "bare").notes, (Notes{"run.json is missing", "zoo.json is missing"}));
  write_file(folder / "odd" / "run.json", "[]");
  write_json_file(folder / "odd" / "zoo.json", {{"config", {{"model", {{"type", "gpt"}}}}}});
  const RunRecord odd = read_run(folder / "odd");
  EXPECT_EQ(odd.notes, (Notes{"run.json is left out: it holds an array, not an object",
                              "metrics.jsonl is missing: there are no curves"}));
  EXPECT_EQ(odd.config["model"]["type"], "gpt") << "zoo.json has it too";
  write_file(folder / "cut" / "run.json", "{\"status\": \"run");
  write_file(folder / "cut" / "metrics.jsonl", good);
  EXPECT_TRUE(holds(read_run(folder / "cut").notes[0], "run.json is left out: "));
  write_json_file(folder / "going" / "run.json", {{"status", "running"}});
  write_file(folder / "going" / "metrics.jsonl", good);
  EXPECT_EQ(read_run(folder / "going").notes.back(),
            "run.json says that it goes on: it does, or was killed; what is here is so far");
  write_json_file(folder / "failed" / "run.json", {{"status", "failed"}, {"error", "no memory"}});
  write_file(folder / "failed" / "metrics.jsonl", good);
  EXPECT_EQ(read_run(folder / "failed").notes.back(), "it failed: no memory");
}

TEST(RunRecord, LaterLinesOfASteadyCountAfterAResume) {
  const TempFolder folder;
  write_run(folder / "run", step_line(10, 4) + step_line(20, 3) + step_line(30, 2) +
                                evaluation_line(30, 2.5) + step_line(20, 3.1) +
                                evaluation_line(20, 3.2));
  const RunRecord run = read_run(folder / "run");
  EXPECT_EQ(run.curve("loss")->step, (std::vector<double>{10, 20}));
  EXPECT_EQ(run.curve("loss")->value, (std::vector<double>{4, 3.1}));
  EXPECT_EQ(run.curve("valid_loss")->step, std::vector<double>{20});
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_TRUE(holds(run.notes[0], "goes back to an earlier step 1 time"));
}

TEST(RunRecord, NamesTellRunsApart) {
  const TempFolder folder;
  std::vector<RunRecord> runs;
  for (const char* name : {"a/run", "b/run", "c/other"}) {
    write_run(folder / name, step_line(1, 1));
    runs.push_back(read_run(folder / name));
  }
  make_names_unique(runs);
  EXPECT_EQ(runs[0].name, "a/run");
  EXPECT_EQ(runs[1].name, "b/run");
  EXPECT_EQ(runs[2].name, "other");
}

// ---- the page ----------------------------------------------------------------------------------

TEST(Report, ShowsARun) {
  const TempFolder folder;
  write_run(folder / "first", step_line(100, 4) + step_line(200, 3) + evaluation_line(200, 3.25));
  write_file(folder / "first/samples/step-000200.txt", "what it said\n");
  const Report report = make_report({.folders = {folder / "first"}, .command_line = "typed"});
  EXPECT_EQ(report.runs, 1);
  EXPECT_EQ(report.figures, 5) << "loss, exact match, gradient norm, learning rate, speed";
  EXPECT_EQ(report.notes, Notes{});
  for (const char* part :
       {"<title>first</title>", "121,557", "exact match <strong>0.25</strong>", "3.25", "20.0s",
        "transformer-cli train -c &#39;my config.json&#39;", "2.13.0", "A processor", "1.5 GB",
        "what it said", "step 200", "&quot;d_model&quot;: 16", "<code>typed</code>"})
    EXPECT_TRUE(holds(report.html, part)) << part;
  EXPECT_EQ(make_report({.folders = {folder / "first"}, .command_line = "typed"}).html, report.html)
      << "the same files, the same bytes";
}

TEST(Report, ComparesRuns) {
  const TempFolder folder;
  write_run(folder / "first", step_line(100, 4) + evaluation_line(100, 3));
  write_run(folder / "second", step_line(100, 4) + evaluation_line(100, 3));
  Json receipt = read_json_file(folder / "second" / "run.json");
  receipt["config"]["model"]["d_model"] = 32;
  write_json_file(folder / "second" / "run.json", receipt);
  const Report both = make_report({.folders = {folder / "first", folder / "second"}});
  EXPECT_EQ(both.runs, 2);
  EXPECT_EQ(both.figures, 8) << "loss by time, tokens and operations too";
  EXPECT_TRUE(holds(both.html, "<title>first, second</title>"));
  EXPECT_TRUE(std::regex_search(
      both.html, std::regex("<code>model.d_model</code></th><td[^>]*>16</td><td[^>]*>32</td>")));
  EXPECT_FALSE(holds(both.html, "<code>model.type</code>")) << "what is the same is not listed";
  // A folder of runs, and a run named twice.
  EXPECT_EQ(make_report({.folders = {folder.path(), folder / "first"}}).html, both.html);
}

// Everything of the files is data. The page's only script is its own, whose hash its policy names.
TEST(Report, TextsAreData) {
  const TempFolder folder;
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \" ' &";
  const fs::path run = folder / "<b onclick=alert(3)>";
  write_run(run, step_line(1, 1) + "{\"step\":1,\"valid_<i>\":1}\n");
  Json receipt = read_json_file(run / "run.json");
  receipt["sessions"][0]["command"] = evil;
  receipt["config"]["model"]["type"] = evil;
  receipt["config"][evil] = evil;
  receipt["status"] = evil;
  receipt["result"]["metric"] = evil;
  write_json_file(run / "run.json", receipt);
  write_file(run / "samples" / "step-000001.txt", evil + "\xff\x01 \xf0\x9f");
  write_file(run / "samples" / (evil.substr(10, 8) + ".txt"), "");
  write_file(folder / "maps.json",
             Json{{"input", evil},
                  {"maps",
                   {{{"attention", "self"},
                     {"queries", {evil}},
                     {"keys", {evil}},
                     {"heads", {{{"layer", 0}, {"head", 0}, {"weights", {{1.0}}}}}}}}}}
                 .dump());
  const Report report = make_report(
      {.title = evil, .folders = {run}, .attention = {folder / "maps.json"}, .command_line = evil});
  EXPECT_EQ(report.attention_maps, 1);
  EXPECT_EQ(count(report.html, "<script"), 1);
  EXPECT_EQ(count(report.html, "</script"), 1);
  EXPECT_FALSE(holds(report.html, "<img src=x"));
  EXPECT_FALSE(holds(report.html, "<b onclick"));
  EXPECT_FALSE(holds(report.html, "valid_<i>"));
  EXPECT_TRUE(holds(report.html,
                    "&lt;img src=x onerror=alert(2)&gt; &quot; &#39; &amp;\uFFFD\uFFFD \uFFFD"));
  EXPECT_TRUE(holds(report.html, "default-src 'none'"));
  // sha256sum page.js | xxd -r -p | base64 gives the same.
  EXPECT_TRUE(std::regex_search(report.html, std::regex("script-src 'sha256-[A-Za-z0-9+/]{43}='")));
  EXPECT_EQ(count(report.html, "http://"), count(report.html, "http://www.w3.org/2000/svg"))
      << "no address but the names of SVG";
  EXPECT_EQ(count(report.html, "https:"), 0);
}

TEST(Report, TagsAreClosedInOrder) {
  const TempFolder folder;
  write_run(folder / "first", step_line(100, 4) + evaluation_line(100, 3));
  write_run(folder / "second", "broken");
  write_file(folder / "second/samples/step-000001.txt", "<sample>");
  std::string html = make_report({.folders = {folder.path()}}).html;
  for (const std::string_view part : {kPageCss, kPageJs, plot_style()})
    html.erase(html.find(part), part.size());
  const std::regex tag("<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>\"]|\"[^\"]*\")*)>");
  std::vector<std::string> open;
  for (std::sregex_iterator it(html.begin(), html.end(), tag), end; it != end; ++it) {
    const std::string name = (*it)[2], rest = (*it)[3];
    if (name == "meta" || name == "link" || name == "input" || name == "br" || rest.ends_with('/'))
      continue;
    if ((*it)[1] == "") {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << it->str();
    ASSERT_EQ(open.back(), name) << it->str();
    open.pop_back();
  }
  EXPECT_EQ(open, std::vector<std::string>{});
}

TEST(Report, ShowsMeasurements) {
  const TempFolder folder;
  const std::string plot = svg(LineChart{.title = "T", .series = {{"a", {0, 1}, {1, 2}}}});
  write_file(folder / "found" / "time.svg", plot);
  write_file(folder / "found" / "odd.svg", "<svg onload=\"alert(1)\"/>");
  write_json_file(folder / "found" / "gradnorm.json",
                  {{"version", "0.1.0"},
                   {"checks",
                    {{{"id", "G1"}, {"value", 6e-15}, {"bound", "<= 1e-12"}, {"pass", true}},
                     {{"id", "G4"}, {"value", 0.5}, {"bound", "<= 0.03"}, {"pass", false}}}},
                   {"fits", {{{"model", "rnn"}, {"rate", 0.71}, {"ci95", {0.7, 0.72}}}}},
                   {"curves", {{{"model", "rnn"}, {"g", {1, 2, 3}}}}}});
  const Report report = make_report({.folders = {folder / "found"}});
  EXPECT_EQ(report.runs, 0);
  EXPECT_EQ(report.figures, 2);
  for (const char* part :
       {"<title>found</title>", "Checks: 1 of 2 pass", "✓ pass", "✗ fails", "6e-15", "&lt;= 1e-12",
        "0.7 to 0.72", "aria-label=\"T\"", "<img alt=\"Odd\" src=\"data:image/svg+xml;base64,"})
    EXPECT_TRUE(holds(report.html, part)) << part;
  EXPECT_EQ(count(report.html, "@media (prefers-color-scheme:dark)"), 1)
      << "one style for all plots";
  write_json_file(folder / "compared" / "compare.json",
                  {{"runs", {{{"name", "rnn"}, {"best", {{"valid_bleu", 12.5}}}}}},
                   {"notes", {"the data differ"}}});
  const Report compared = make_report({.folders = {folder / "compared"}});
  for (const char* part : {"<li>the data differ</li>", ">Best BLEU</th>", ">12.5</td>"})
    EXPECT_TRUE(holds(compared.html, part)) << part;
  // In a run's folder they are found too.
  write_run(folder / "run", step_line(1, 1));
  fs::copy(folder / "found", folder / "run" / "gradnorm");
  EXPECT_EQ(make_report({.folders = {folder / "run"}}).figures, 4 + 2);
  write_file(folder / "found" / "gradnorm.json", "{");
  EXPECT_TRUE(
      holds(make_report({.folders = {folder / "found"}}).html, "gradnorm.json is left out: "));
}

TEST(Report, OnlyOurPlotsBecomePartOfThePage) {
  const std::string plot = svg(LineChart{.title = "a < b", .series = {{"a", {0, 1}, {1, 2}}}});
  EXPECT_EQ(svg_html(plot, "x"), without_style(plot));
  EXPECT_TRUE(svg_html(plot, "x").starts_with("<svg "));
  HeatMap heat{.row_count = 1, .column_count = 2, .values = {1, 2}};
  EXPECT_TRUE(svg_html(svg(heat), "x").starts_with("<svg "));
  const auto with = [&](const std::string& part) {
    std::string changed = plot;
    return svg_html(changed.replace(changed.find("</svg>"), 0, part), "<x>");
  };
  EXPECT_TRUE(with("<path d=\"M0 0\"/>").starts_with("<svg "));
  for (const char* part :
       {"<script>alert(1)</script>", "<a href=\"x\">y</a>", "<path onclick=\"alert(1)\"/>",
        "<path fill=\"url(x)\"/>", "<style>body{}</style>", "<!-- x -->", "<path d='M0 0'/>",
        "<image href=\"x\"/>", "</svg><svg>", "<foreignObject/>", "<path d=\"M0 0", "<g"})
    EXPECT_TRUE(with(part).starts_with("<img alt=\"&lt;x&gt;\" src=\"data:image/svg+xml;base64,"))
        << part;
  for (const char* text :
       {"", "<svg ", "no picture", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"})
    EXPECT_TRUE(svg_html(text, "").starts_with("<img ")) << text;
}

TEST(Report, ShowsAttention) {
  const TempFolder folder;
  const Json maps = {{"attention", "cross"},
                     {"queries", {"der", "Hund"}},
                     {"keys", {"the", "dog", "</s>"}},
                     {"heads",
                      {{{"layer", 0},
                        {"head", 0},
                        {"weights", {{1, 0, 0}, {0.25, 0.5, 0.25}}},
                        {"summary", {{"entropy", 0.52}}}},
                       {{"layer", 1}, {"head", "mean"}, {"weights", {{0, 1, 0}, {0, 0, 1}}}}}}};
  const auto file_of = [&](const Json& json) {
    write_file(folder / "maps.json", json.dump() + "\n");
    return std::vector<fs::path>{folder / "maps.json"};
  };
  const Json good = {{"input", "the dog"}, {"maps", {maps}}};
  const Report report = make_report({.attention = file_of(good)});
  EXPECT_EQ(report.attention_maps, 2);
  for (const char* part : {"cross attention: the dog", "layer 0, head 0", "layer 1, mean",
                           "entropy 0.52 nats", "data-columns=\"[&quot;the&quot;"})
    EXPECT_TRUE(holds(report.html, part)) << part;
  // 1, 0, 0, 0.25, 0.5, 0.25 in sixteenths of 65,535, by hand: ffff 0000 0000 4000 8000 4000
  EXPECT_TRUE(holds(report.html, "data-weights=\"//8AAAAAAEAAgABA\""));

  const auto message = [&](const Json& json) {
    return message_of<FormatError>([&] { make_report({.attention = file_of(json)}); });
  };
  Json bad = good;
  bad["maps"][0]["heads"][0]["weights"][0] = {1, 0};
  EXPECT_TRUE(
      holds(message(bad), "maps.json:1: a map has a row of 2; expected 2 rows of 3 weights"));
  bad["maps"][0]["heads"][0]["weights"][0] = {1, 0, -1};
  EXPECT_TRUE(holds(message(bad), "a map has the number -1"));
  bad["maps"][0]["heads"][0]["weights"] = {{1, 0, 0}};
  EXPECT_TRUE(holds(message(bad), "a map has 1 rows"));
  bad["maps"][0]["heads"][0].erase("weights");
  EXPECT_TRUE(holds(message(bad), "found no \"weights\" of the right kind"));
  bad["maps"][0]["heads"] = Json::array();
  EXPECT_TRUE(holds(message(bad), "holds no heads"));
  bad["maps"][0]["keys"] = Json::array();
  EXPECT_TRUE(holds(message(bad), "\"keys\" is empty"));
  EXPECT_TRUE(holds(message({{"model", 1}}),
                    "found no \"input\" of the right kind in an object; "
                    "write the file with transformer-cli attention"));
  write_file(folder / "maps.json", "\n");
  EXPECT_TRUE(holds(message_of([&] { make_report({.attention = {folder / "maps.json"}}); }),
                    "maps.json: holds no attention maps"));
  Json many = good;
  many["maps"][0]["queries"] = std::vector<std::string>(3000, "a");
  many["maps"][0]["keys"] = std::vector<std::string>(3000, "a");
  EXPECT_TRUE(holds(message_of<DataError>([&] { make_report({.attention = file_of(many)}); }),
                    "a page holds at most 8,000,000 attention weights"));
}

TEST(Report, RefusesWhatIsNoRun) {
  const TempFolder folder;
  const auto message = [&](const std::vector<fs::path>& folders) {
    return message_of<DataError>([&] { make_report({.folders = folders}); });
  };
  EXPECT_TRUE(holds(message({}), "a report needs something to show"));
  EXPECT_TRUE(holds(message({folder / "none"}), "none: there is no such folder"));
  write_file(folder / "file", "");
  EXPECT_TRUE(holds(message({folder / "file"}), "file: is a file; give the folder of a run"));
  fs::create_directory(folder / "empty");
  EXPECT_TRUE(holds(message({folder / "empty"}), "empty: holds neither a run"));
  for (int i = 0; i < 9; ++i) write_run(folder / "many" / cat("run", i), step_line(1, 1));
  EXPECT_TRUE(holds(message({folder / "many"}), "9 runs; a page compares at most 8"));
}

}  // namespace
}  // namespace zoo
