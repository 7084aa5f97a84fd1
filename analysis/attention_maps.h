#pragma once
// Attention maps: how much each token looks at each other one, in every layer and head, with labels
// and with numbers that say what a head does. docs/attention.md describes the files.

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/fields.h"
#include "core/json.h"
#include "models/contracts.h"
#include "tokenizer/text_input.h"

namespace zoo {

/// Which attention of a model. A model without a source has `self` alone.
enum class AttentionPart { self, encoder, decoder, cross };
template <>
struct EnumNames<AttentionPart> {
  static constexpr std::array values{
      std::pair{AttentionPart::self, "self"}, std::pair{AttentionPart::encoder, "encoder"},
      std::pair{AttentionPart::decoder, "decoder"}, std::pair{AttentionPart::cross, "cross"}};
};

/// What a head does, as means over its queries. Queries that may see one key only are left out:
/// they have no choice. NaN where a map has no such thing.
struct HeadSummary {
  double entropy = NAN, relative_entropy = NAN, distance = NAN, first = NAN, previous = NAN,
         self = NAN, next = NAN, separators = NAN, diagonality = NAN;

  void fields(auto&& visit) const {
    visit("entropy", entropy, "of the weights a of a query, -sum a ln a, in nats");
    visit("relative_entropy", relative_entropy,
          "that over ln n for the n keys that the query may see: 0 is one key, 1 is uniform");
    visit(
        "distance", distance,
        "between a query and what it looks at (Vig & Belinkov 2019, section 4), in tokens; of "
        "pictures, between the centres of patches, in pixels (Dosovitskiy et al. 2021, figure 7)");
    visit("first", first,
          "share of the first key: [CLS], a class token, an attention sink (Xiao et al. 2024)");
    visit("previous", previous, "share of the key before the query's own place");
    visit("self", self, "share of the query's own place");
    visit("next", next, "share of the key behind the query's own place");
    visit("separators", separators,
          "share of separators and end tokens (Clark et al. 2019, section 3.2)");
    visit("diagonality", diagonality,
          "Pearson's correlation of the places of query and key, weighted by attention: 1 along "
          "the diagonal, -1 against it");
  }
};

/// One head, or the mean of a layer's heads.
struct HeadMap {
  int64_t layer = 0;            ///< counted from 0
  std::optional<int64_t> head;  ///< counted from 0; unset: the mean over heads
  Tensor weights;               ///< (T, K) float32 on the CPU, rows sum to 1
  HeadSummary summary;
};

/// How the patches of a picture lie.
struct PatchGrid {
  int64_t rows = 0, columns = 0;
  int64_t patch_size = 0;    ///< pixels
  bool class_token = false;  ///< it stands before the patches
};

/// The maps of one attention, those of a layer side by side.
struct AttentionMaps {
  AttentionPart part = AttentionPart::self;
  bool causal = false;  ///< query i sees keys 0 to i
  /// Labels of the T rows. cross: the tokens that were chosen; else: the tokens that were read.
  std::vector<std::string> queries;
  std::vector<std::string> keys;  ///< labels of the K columns
  std::vector<bool> separators;   ///< of each key; empty: none is one
  std::optional<PatchGrid> grid;  ///< of a picture
  std::vector<HeadMap> heads;
  HeadSummary uniform;  ///< of attention that is the same on every key that may be seen
  Tensor rollout;       ///< (T, T), see analysis/rollout.h; of self and encoder, else undefined
};

/// Everything of one input.
struct ModelAttention {
  std::string input;                  ///< the text, the source or the picture's name
  std::optional<std::string> second;  ///< the second text of a pair, or the target
  std::vector<AttentionMaps> maps;    ///< self; or encoder, decoder, cross: those that there are
};

// Maps of ids and pictures. Labels are pieces of the tokenizer, or the ids without one.
// @throws ConfigError if the model has no attention, ShapeError if the input does not fit

/// @param tokens T ids
AttentionMaps attention_maps(CausalLm& model, const std::vector<int64_t>& tokens,
                             const Tokenizer* tokenizer = nullptr);
AttentionMaps attention_maps(TextEncoder& model, const EncodedText& text,
                             const Tokenizer* tokenizer = nullptr);
/// @param image (X, Y, Z) as the model reads it
AttentionMaps attention_maps(ImageEncoder& model, const Tensor& image);
/// encoder, decoder and cross, those that there are. @param source S ids, with the end token
/// @param begin what the decoder reads first  @param target T ids, at least one
std::vector<AttentionMaps> attention_maps(Seq2Seq& model, const std::vector<int64_t>& source,
                                          int64_t begin, const std::vector<int64_t>& target,
                                          const Tokenizer* source_tokenizer = nullptr,
                                          const Tokenizer* tokenizer = nullptr);

/// The same of a text, as the model would read it: with the bos token where its tokenizer has one,
/// [CLS] and [SEP], the end token.
/// @param second the second text of a pair, or the target of a translation; unset: no second text,
/// or the target that the model itself writes, greedily
/// @throws ConfigError for a vision model, or a second text that a language model cannot read;
/// DataError without a tokenizer, for a blank text, and for one that exceeds the model's length
ModelAttention attention_of_text(const LoadedModel& loaded, const std::string& text,
                                 const std::optional<std::string>& second = std::nullopt,
                                 const EncodeOptions& options = {});

/// @param weights (T, K), of the shape of `maps`
HeadSummary summarize(const Tensor& weights, const AttentionMaps& maps);

/// What of the maps is wanted.
struct AttentionSelection {
  std::vector<int64_t> layers, heads;  ///< empty: all
  bool mean = false;                   ///< the mean over these heads in their place
};
/// @throws ConfigError for a layer or head that there is not
void select(AttentionMaps& maps, const AttentionSelection& selection);

/// The pieces of ids, as vocabulary files write them; without a tokenizer the ids.
std::vector<std::string> token_labels(const Tokenizer* tokenizer, const std::vector<int64_t>& ids);

/// Rows of numbers, each in the shortest form that reads back as the same float32.
Json matrix_json(const Tensor& matrix);

/// @param weights false: summaries alone
Json to_json(const ModelAttention& attention, bool weights = true);

/// The first line of a CSV file, for write_csv().
void write_csv_header(std::ostream& out, bool weights);
/// With `weights` a line for each weight, else one for each head.
/// @param number of the input, in the first column
void write_csv(std::ostream& out, const ModelAttention& attention, int64_t number, bool weights);

}  // namespace zoo
