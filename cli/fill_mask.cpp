// transformer-cli fill-mask: what a masked language model puts in the place of [MASK].

#include <algorithm>

#include "cli/lines.h"
#include "cli/text_model.h"
#include "core/json.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

struct FillMask {
  std::string model_path, text, input;
  int64_t top = 5;

  void declare(Flags& flags) {
    flags.describe(
        "Prints the most probable tokens for each [MASK] of the text, a line each: token, "
        "probability,\n"
        "and the text with the token in its place, separated by tabs. Other masks of the same text "
        "stay\n"
        "masked, and blank lines stand between masks. Where the tokenizer writes its mask "
        "otherwise, such\n"
        "as <mask>, write it that way.");
    flags.example("the missing word",
                  "transformer-cli fill-mask runs/bert 'the [MASK] finds old books'");
    flags.text("-m,--model,model", model_path, "DIR", "run, checkpoint or Hugging Face folder");
    flags.text("--text,text", text, "TEXT", "the text, with at least one [MASK]");
    flags.text("-i,--input", input, "FILE",
               "texts, a line each; - or no text at all: standard input");
    flags.number("--top,--top-k", top, at_least(1), "tokens to print for each mask");
  }

  int run(const GlobalOptions& globals) {
    if (!text.empty() && !input.empty())
      throw ConfigError("fill-mask: a text and --input were given; give one of them");
    const TextModel opened = load_text_model("fill-mask", model_path, globals);
    if (!std::holds_alternative<MaskedLmHeadConfig>(opened.model->head()))
      throw ConfigError(model_path +
                        ": has no head for masked tokens; give a model that was trained on the "
                        "task masked_lm");
    const auto mask = opened.loaded.tokenizer->special_ids().mask;
    if (!mask) throw ConfigError(model_path + ": its tokenizer has no mask token");
    if (!text.empty()) {
      fill(opened, *mask, text, "the text", globals.json);
      return kDone;
    }
    LineReader lines(input);
    for (int64_t number = 1; const auto line = lines.next(); ++number) {
      if (number > 1 && !globals.json) out() << '\n';
      fill(opened, *mask, *line, cat(lines.name(), ":", number), globals.json);
    }
    return kDone;
  }

 private:
  struct Guess {
    int64_t id;
    std::string token;
    double probability;
    std::string sentence;
  };

  void fill(const TextModel& opened, int64_t mask, const std::string& line,
            const std::string& where, bool json) const {
    const Tokenizer& tokenizer = *opened.loaded.tokenizer;
    const std::string mask_text = tokenizer.piece(mask);
    const EncodedText encoded = opened.encoding->encode(line, std::nullopt, {.special = true});
    std::vector<int64_t> places;
    for (size_t place = 0; place < encoded.ids.size(); ++place)
      if (encoded.ids[place] == mask) places.push_back(static_cast<int64_t>(place));
    std::vector<size_t> places_in_text;
    for (size_t at = line.find(mask_text); at != std::string::npos;
         at = line.find(mask_text, at + mask_text.size()))
      places_in_text.push_back(at);
    if (places_in_text.empty())
      throw DataError(cat(where, ": has no ", mask_text, "; write it where a token is missing"));
    if (places.size() != places_in_text.size())
      throw DataError(cat(where, ": is longer than the model's ", opened.model->max_length(),
                          " tokens, and a ", mask_text, " lies beyond; shorten it"));

    const Tensor best = probabilities(*opened.model, encoded, places);  // (M, V)
    const int64_t count = std::min(top, best.size(1));
    const auto [values, ids] = best.topk(count, 1);
    Json masks = Json::array();
    for (size_t index = 0; index < places.size(); ++index) {
      if (index > 0 && !json) out() << '\n';
      Json guesses = Json::array();
      for (int64_t rank = 0; rank < count; ++rank) {
        Guess guess{ids[index][rank].item<int64_t>(), "", values[index][rank].item<double>(), line};
        guess.token = tokenizer.piece(guess.id);
        put(guess, tokenizer, places_in_text[index], mask_text.size());
        if (json)
          guesses.push_back({{"token", guess.token},
                             {"token_id", guess.id},
                             {"probability", guess.probability},
                             {"sentence", guess.sentence}});
        else
          out() << guess.token << '\t' << fixed(guess.probability, 4) << '\t'
                << on_one_line(guess.sentence) << '\n';
      }
      masks.push_back(std::move(guesses));
    }
    if (json) out() << Json{{"text", line}, {"masks", std::move(masks)}}.dump() << '\n';
  }

  /// Puts the token in the mask's place; a piece that goes on with a word joins it.
  static void put(Guess& guess, const Tokenizer& tokenizer, size_t at, size_t length) {
    const bool joins = tokenizer.continues_word(guess.id);
    const std::string word = joins && guess.token.starts_with("##")
                                 ? guess.token.substr(2)
                                 : tokenizer.decode(std::vector<int64_t>{guess.id});
    while (joins && at > 0 && guess.sentence[at - 1] == ' ') {
      --at;
      ++length;
    }
    guess.sentence.replace(at, length, word);
  }

  /// @return (M, V): of every token at the M places
  static Tensor probabilities(TextEncoder& model, const EncodedText& text,
                              const std::vector<int64_t>& places) {
    const torch::InferenceMode inference;
    Tensor found;
    for_each_text_batch(
        {row_of(text)}, 1, device_of(model), [&](const auto&, const TextBatch& batch) {
          const Tensor rows = torch::tensor(places, torch::kInt64).to(batch.tokens.device());
          const Tensor hidden = model.encode(batch)[0].index_select(0, rows);
          found = model.logits(hidden, {}).to(torch::kFloat32).softmax(-1).cpu();
        });
    return found;
  }
};

}  // namespace

Command fill_mask_command() {
  return make_command<FillMask>("fill-mask", "What a masked language model puts in for [MASK]");
}

}  // namespace zoo::cli
