// transformer-cli embed: a vector for each text, or how alike texts are.

#include <charconv>

#include "checkpoint/safetensors.h"
#include "cli/lines.h"
#include "cli/text_model.h"
#include "core/npy.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

struct Embed {
  std::string model_path, input, output = "-";
  std::optional<std::string> pooling;
  bool pair = false, normalize = false, similarity = false;
  int64_t batch_size = 8192;

  void declare(Flags& flags) {
    flags.describe(
        "Writes a vector for each line of text, in their order, as the model pools its tokens' "
        "vectors.\n"
        "The output's name decides the form: .npy (N, D) in float32, .safetensors with the tensor\n"
        "\"embeddings\", .json an array of arrays; .jsonl and standard output: an array a line.\n"
        "--similarity writes the cosine of each text's vector with every text's instead: N rows of "
        "N.");
    flags.example(
        "vectors for NumPy",
        "transformer-cli embed runs/bert -i source.txt --pooling mean -o vectors.npy && ls "
        "vectors.npy");
    flags.example("how alike texts are",
                  "printf 'old books\\nmy uncle\\n' | transformer-cli embed runs/bert --pooling "
                  "mean --similarity");
    flags.text("-m,--model,model", model_path, "DIR", "run, checkpoint or Hugging Face folder");
    flags.text("-i,--input", input, "FILE", "texts, a line each; - or none: standard input");
    flags.text("-o,--output", output, "FILE", "where to write; - : standard output");
    flags.flag("--pair", pair, "each line holds two texts, read together: text<TAB>text");
    flags.choice("--pooling", pooling, {"cls", "mean", "max"},
                 "the first token's vector, or the mean or maximum over the tokens' (default: the "
                 "model's)");
    flags.flag("--normalize", normalize, "scale each vector to the length 1");
    flags.flag("--similarity", similarity, "write cosines and not vectors");
    flags.number("--batch-size", batch_size, at_least(1),
                 "tokens computed together; changes no result");
  }

  int run(const GlobalOptions& globals) {
    const fs::path path = utf8_path(output);
    const std::string form = output == "-" ? ".jsonl" : utf8(path.extension());
    if (form != ".npy" && form != ".safetensors" && form != ".json" && form != ".jsonl")
      throw ConfigError(
          cat("--output: \"", output,
              "\" has none of the endings .npy, .safetensors, .json and .jsonl, which "
              "say what to write"));
    if (similarity && form == ".safetensors")
      throw ConfigError("--similarity: is written as .npy, .json or .jsonl; name such a file");
    const TextModel opened = load_text_model("embed", model_path, globals);
    std::vector<EncodedText> texts;
    LineReader reader(input);
    int64_t cut = 0;
    while (const auto line = reader.next()) {
      texts.push_back(
          encode_line(*opened.encoding, *line, pair, cat(reader.name(), ":", texts.size() + 1)));
      cut += texts.back().cut;
    }
    if (texts.empty()) throw DataError(reader.name() + ": holds no text");
    if (cut > 0)
      log_warning(cut, " texts are longer than the model's ", opened.model->max_length(),
                  " tokens, and their ends are cut off");
    std::vector<TextRow> rows;
    for (const EncodedText& text : texts) rows.push_back(row_of(text));
    std::optional<Pooling> wanted;
    if (pooling) wanted = enum_value<Pooling>(*pooling);
    Tensor vectors = text_vectors(*opened.model, rows, wanted, batch_size);  // (N, D)
    if (normalize || similarity)
      vectors = vectors / vectors.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12);
    write(similarity ? vectors.matmul(vectors.t()) : vectors, path, form);
    return kDone;
  }

 private:
  /// "[0.5,-1]", each number in as few digits as give back the same float.
  static std::string to_json(const Tensor& row) {
    const auto* values = row.const_data_ptr<float>();
    std::string text = "[";
    for (int64_t i = 0; i < row.numel(); ++i) {
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, values[i]).ptr;
      text += (i == 0 ? "" : ",") + std::string(digits, end);
    }
    return text + "]";
  }

  void write(const Tensor& values, const fs::path& path, const std::string& form) const {
    if (form == ".npy") return write_npy(path, values);
    if (form == ".safetensors")
      return write_safetensors(path, {{"embeddings", values.contiguous()}});
    const Tensor rows = values.contiguous();
    const auto lines = [&](std::ostream& stream) {
      const bool one_array = form == ".json";
      for (int64_t row = 0; row < rows.size(0); ++row)
        stream << (one_array ? (row == 0 ? "[" : ",\n") : "") << to_json(rows[row])
               << (one_array ? "" : "\n");
      if (one_array) stream << "]\n";
    };
    if (output == "-")
      lines(out());
    else
      write_file(path, lines);
  }
};

}  // namespace

Command embed_command() {
  return make_command<Embed>("embed", "Vectors of texts, or how alike texts are");
}

}  // namespace zoo::cli
