// transformer-cli score: the log-probability of given translations or texts.

#include <numeric>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/lines.h"
#include "cli/runtime.h"
#include "core/json.h"
#include "core/text.h"
#include "decoding/translate.h"
#include "evaluation/likelihood.h"

namespace zoo::cli {
namespace {

constexpr size_t kLinesAtOnce = 2048;

struct Score {
  std::string model_path, source, target, text;
  bool tokens = false, normalize = false;
  int64_t batch_size = 4096;

  // Set by run().
  LoadedModel loaded;
  int64_t line_count = 0;

  void declare(Flags& flags) {
    flags.describe(
        "Prints a line for each pair or text: the natural logarithm of its probability, the sum "
        "over its\n"
        "tokens. Of a translation that is ln p(target | source), the end token included; of a text "
        "every\n"
        "token but the first, which nothing precedes (all of them where the tokenizer has a bos "
        "token).\n"
        "A line without a token to predict gives 0.");
    flags.example("how good a translation the model finds",
                  "printf 'a b c\\n' > source.txt; printf 'c b a\\n' > target.txt; transformer-cli "
                  "score runs/translate --source source.txt --target target.txt");
    flags.example(
        "how probable lines are, a token on average",
        "printf 'To be\\nor not\\n' | transformer-cli score weights/gpt-shakespeare-char --text - "
        "--normalize");
    flags.text("-m,--model,model", model_path, "DIR", "run, checkpoint or Hugging Face folder");
    flags.text("--source", source, "FILE", "source sentences, a line each; - : standard input");
    flags.text("--target", target, "FILE", "their translations, as many lines");
    flags.text("--text", text, "FILE",
               "for a decoder-only model: texts, a line each; - : standard input");
    flags.flag("--tokens", tokens, "print each token's log-probability, separated by blanks");
    flags.flag("--normalize", normalize, "print the mean over the tokens and not their sum");
    flags.number("--batch-size", batch_size, at_least(1),
                 "tokens computed together; changes no score");
  }

  int run(const GlobalOptions& globals) {
    if (model_path.empty()) throw ConfigError("score: no model is given; name its folder: -m DIR");
    const bool pairs = !source.empty() || !target.empty();
    if (pairs == !text.empty() || (pairs && (source.empty() || target.empty())))
      throw ConfigError(
          "score: needs --source FILE and --target FILE for an encoder–decoder, or --text FILE for "
          "a language model");
    if (tokens && normalize)
      throw ConfigError("--tokens prints every term, --normalize their mean; give one of them");
    const Runtime runtime = start_runtime(globals);
    loaded = load_model(utf8_path(model_path), {.device = runtime.device, .dtype = runtime.dtype});
    if (!loaded.tokenizer) throw DataError(model_path + ": holds no tokenizer; add its files");
    if (pairs)
      score_pairs(globals.json);
    else
      score_texts(globals.json);
    return kDone;
  }

 private:
  void score_pairs(bool json) {
    const auto model = loaded.as<Seq2Seq>();
    const auto start = loaded.special_ids.decoder_start();
    const int64_t begin = start ? *start : begin_token(*loaded.tokenizer);
    LineReader sources(source), targets(target);
    std::vector<LikelihoodPair> pairs;
    std::vector<bool> is_pair;  // of each line; the others are blank
    const auto flush = [&] {
      const auto scores = target_log_probabilities(*model, pairs, begin, batch_size);
      auto next = scores.begin();
      for (const bool real : is_pair) print(real ? *next++ : std::vector<double>(), json);
      pairs.clear();
      is_pair.clear();
    };
    const auto with_end = [&](const Tokenizer& tokenizer, const std::string& line, int64_t longest,
                              const char* side) {
      std::vector<int64_t> ids = encode_sentence(tokenizer, line);
      if (std::ssize(ids) > longest)
        throw DataError(cat(side, ", line ", line_count, ": ", ids.size(),
                            " tokens, the end token included, but the model takes ", longest));
      return ids;
    };
    int64_t source_lines = 0, target_lines = 0;
    for (;;) {
      const auto s = sources.next(), t = targets.next();
      source_lines += s.has_value();
      target_lines += t.has_value();
      if (!s || !t) break;
      ++line_count;
      is_pair.push_back(!is_blank(*s) && !is_blank(*t));
      if (is_pair.back())
        pairs.push_back(
            {with_end(*loaded.source_tokenizer, *s, model->max_source_length(), "--source"),
             with_end(*loaded.tokenizer, *t, model->max_length(), "--target")});
      if (is_pair.size() == kLinesAtOnce) flush();
    }
    while (sources.next()) ++source_lines;
    while (targets.next()) ++target_lines;
    if (source_lines != target_lines)
      throw DataError(cat(source, " has ", source_lines, " lines, but ", target, " has ",
                          target_lines, "; each source needs its target"));
    flush();
  }

  void score_texts(bool json) {
    const auto model = loaded.as<CausalLm>();
    const auto bos = loaded.tokenizer->special_ids().bos;
    LineReader reader(text);
    std::vector<std::vector<int64_t>> texts;
    std::vector<bool> is_text;
    const auto flush = [&] {
      const auto scores = token_log_probabilities(*model, texts, batch_size);
      auto next = scores.begin();
      for (const bool real : is_text) print(real ? *next++ : std::vector<double>(), json);
      texts.clear();
      is_text.clear();
    };
    while (const auto line = reader.next()) {
      ++line_count;
      std::vector<int64_t> ids = loaded.tokenizer->encode(*line);
      if (bos) ids.insert(ids.begin(), *bos);
      if (std::ssize(ids) > model->max_length() + 1)
        throw DataError(cat("--text, line ", line_count, ": ", ids.size(),
                            " tokens, but the model's context is ", model->max_length(),
                            "; `eval` scores longer texts in windows"));
      is_text.push_back(ids.size() > 1);
      if (is_text.back()) texts.push_back(std::move(ids));
      if (is_text.size() == kLinesAtOnce) flush();
    }
    flush();
  }

  void print(const std::vector<double>& terms, bool json) const {
    const double sum = std::accumulate(terms.begin(), terms.end(), 0.0);
    const double mean = terms.empty() ? 0 : sum / static_cast<double>(terms.size());
    if (json) {
      Json line = {{"log_probability", sum}, {"tokens", terms.size()}, {"mean", mean}};
      if (tokens) line["token_scores"] = terms;
      out() << line.dump() << '\n';
      return;
    }
    if (!tokens) {
      out() << (normalize ? mean : sum) << '\n';
      return;
    }
    std::vector<std::string> parts;
    for (const double term : terms) parts.push_back(cat(term));
    out() << join(parts, " ") << '\n';
  }
};

}  // namespace

Command score_command() {
  return make_command<Score>("score", "Log-probabilities of given translations or texts");
}

}  // namespace zoo::cli
