#include "analysis/attention_maps.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/rollout.h"
#include "core/text.h"
#include "decoding/context.h"
#include "decoding/translate.h"
#include "evaluation/text_batches.h"

namespace zoo {

namespace {

using Ids = std::vector<int64_t>;

// ---- summaries ---------------------------------------------------------------------------------

/// How many keys each query may see: (T) float64.
Tensor visible_keys(const AttentionMaps& maps) {
  const int64_t queries = std::ssize(maps.queries), keys = std::ssize(maps.keys);
  return maps.causal ? torch::arange(1, queries + 1, torch::kFloat64)
                     : torch::full({queries}, keys, torch::kFloat64);
}

/// Attention that is the same on every key that may be seen: (T, K) float64.
Tensor uniform_weights(const AttentionMaps& maps) {
  const int64_t queries = std::ssize(maps.queries), keys = std::ssize(maps.keys);
  const Tensor seen = torch::ones({queries, keys}, torch::kFloat64);
  return (maps.causal ? seen.tril() : seen) / visible_keys(maps).unsqueeze(1);
}

/// NaN of no value.
double mean_of(const Tensor& values) {
  return values.numel() == 0 ? NAN : values.mean().item<double>();
}

/// Places of queries and keys, counted from 0: (T, 1) and (K).
std::pair<Tensor, Tensor> places(const Tensor& weights) {
  return {torch::arange(weights.size(0), torch::kFloat64).unsqueeze(1),
          torch::arange(weights.size(1), torch::kFloat64)};
}

/// Pearson's correlation of both places under the joint distribution weights / T.
/// @param weights (T, K) float64
double diagonality(const Tensor& weights) {
  const auto [i, j] = places(weights);
  const Tensor p = weights / weights.sum();
  const Tensor from = i - (p * i).sum(), to = j - (p * j).sum();
  const double spread =
      std::sqrt((p * from.square()).sum().item<double>() * (p * to.square()).sum().item<double>());
  // Where all queries look at one key, places are not related.
  return spread < 1e-9 ? NAN : (p * from * to).sum().item<double>() / spread;
}

/// Between the centres of patches, in pixels: (P, P) for P patches.
Tensor patch_distances(const PatchGrid& grid) {
  const Tensor patch = torch::arange(grid.rows * grid.columns, torch::kFloat64);
  const auto apart = [](const Tensor& place) { return place.unsqueeze(1) - place.unsqueeze(0); };
  const Tensor down = apart((patch / grid.columns).floor());
  const Tensor right = apart(patch.remainder(grid.columns));
  return static_cast<double>(grid.patch_size) * (down.square() + right.square()).sqrt();
}

void summarize_places(const Tensor& weights, const AttentionMaps& maps, HeadSummary& summary) {
  // The first query of a causal map sees itself alone.
  const int64_t begin = maps.causal ? 1 : 0;
  const auto along = [&](int64_t offset) { return weights.diagonal(offset); };
  summary.self = mean_of(along(0).slice(0, begin));
  if (maps.grid) {
    const int64_t others = maps.grid->class_token ? 1 : 0;
    const Tensor patches = weights.slice(0, others).slice(1, others);  // (P, P)
    summary.distance =
        ((patches * patch_distances(*maps.grid)).sum() / patches.sum()).item<double>();
    return;
  }
  const auto [i, j] = places(weights);
  summary.distance = mean_of((weights * (i - j).abs()).sum(1).slice(0, begin));
  summary.previous = mean_of(along(-1));
  if (!maps.causal) summary.next = mean_of(along(1));
}

}  // namespace

HeadSummary summarize(const Tensor& weights, const AttentionMaps& maps) {
  const int64_t queries = std::ssize(maps.queries), keys = std::ssize(maps.keys);
  require_shape(weights, {queries, keys}, "attention weights");
  HeadSummary summary;
  const int64_t begin = maps.causal ? 1 : 0;
  if (keys < 2 || queries <= begin) return summary;  // nothing is chosen
  const Tensor all = weights.to(torch::kFloat64);
  const Tensor a = all.slice(0, begin);               // (T, K)
  const Tensor entropy = -torch::xlogy(a, a).sum(1);  // (T)
  summary.entropy = mean_of(entropy);
  summary.relative_entropy = mean_of(entropy / visible_keys(maps).slice(0, begin).log());
  if (!maps.grid || maps.grid->class_token) summary.first = mean_of(a.select(1, 0));
  if (std::find(maps.separators.begin(), maps.separators.end(), true) != maps.separators.end()) {
    const std::vector<uint8_t> flags(maps.separators.begin(), maps.separators.end());
    const Tensor is_separator = torch::tensor(at::ArrayRef<uint8_t>(flags)).to(torch::kFloat64);
    summary.separators = mean_of(a.matmul(is_separator));
  }
  if (maps.part == AttentionPart::cross)
    summary.diagonality = diagonality(a);
  else
    summarize_places(all, maps, summary);
  return summary;
}

// ---- maps --------------------------------------------------------------------------------------

namespace {

/// @param layers (H, T, K) each
void add_heads(AttentionMaps& maps, const std::vector<Tensor>& layers) {
  for (int64_t layer = 0; layer < std::ssize(layers); ++layer) {
    const Tensor weights = layers[static_cast<size_t>(layer)].to(torch::kCPU, torch::kFloat32);
    for (int64_t head = 0; head < weights.size(0); ++head)
      maps.heads.push_back({layer, head, weights[head], summarize(weights[head], maps)});
  }
  maps.uniform = summarize(uniform_weights(maps), maps);
  if (maps.part != AttentionPart::self && maps.part != AttentionPart::encoder) return;
  std::vector<Tensor> batches;
  for (const Tensor& layer : layers)
    batches.push_back(layer.to(torch::kCPU, torch::kFloat32).unsqueeze(0));
  maps.rollout = attention_rollout(batches)[0];
}

/// @param tap after a pass of one input, (1, H, T, K) of each layer
void add_heads(AttentionMaps& maps, const Tap& tap) {
  if (tap.attention.empty())
    throw ConfigError("attention: this model has no attention; give one that has");
  std::vector<Tensor> layers;
  for (const Tensor& layer : tap.attention) layers.push_back(layer[0]);
  add_heads(maps, layers);
}

/// Which tokens stand between texts or at their end.
std::vector<bool> separators_among(const Tokenizer* tokenizer, const Ids& ids) {
  if (tokenizer == nullptr) return {};
  const SpecialIds special = tokenizer->special_ids();
  std::vector<bool> found;
  for (const int64_t id : ids) found.push_back(id == special.sep || id == special.eos);
  return found;
}

Tap wanting_attention() {
  Tap tap;
  tap.want_attention = true;
  return tap;
}

}  // namespace

std::vector<std::string> token_labels(const Tokenizer* tokenizer, const Ids& ids) {
  std::vector<std::string> labels;
  for (const int64_t id : ids)
    labels.push_back(tokenizer == nullptr ? std::to_string(id) : tokenizer->piece(id));
  return labels;
}

AttentionMaps attention_maps(CausalLm& model, const Ids& tokens, const Tokenizer* tokenizer) {
  const torch::InferenceMode inference;
  const EvaluationMode evaluation(model);
  AttentionMaps maps;
  maps.causal = true;
  maps.queries = maps.keys = token_labels(tokenizer, tokens);
  maps.separators = separators_among(tokenizer, tokens);
  Tap tap = wanting_attention();
  DecodeArgs args;
  args.tap = &tap;
  args.last_only = true;
  model.forward(torch::tensor(tokens).unsqueeze(0).to(device_of(model)), args);
  add_heads(maps, tap);
  return maps;
}

AttentionMaps attention_maps(TextEncoder& model, const EncodedText& text,
                             const Tokenizer* tokenizer) {
  const torch::InferenceMode inference;
  const EvaluationMode evaluation(model);
  AttentionMaps maps;
  maps.queries = maps.keys = token_labels(tokenizer, text.ids);
  maps.separators = separators_among(tokenizer, text.ids);
  Tap tap = wanting_attention();
  TextBatch batch = pad_texts({{text.ids, text.first_length}});
  for (Tensor* part : {&batch.tokens, &batch.segments, &batch.lengths})
    if (part->defined()) *part = part->to(device_of(model));
  model.encode(batch, &tap);
  add_heads(maps, tap);
  return maps;
}

AttentionMaps attention_maps(ImageEncoder& model, const Tensor& image) {
  const torch::InferenceMode inference;
  const EvaluationMode evaluation(model);
  Tap tap = wanting_attention();
  model.encode(image.unsqueeze(0).to(device_of(model), dtype_of(model)), &tap);
  const int64_t patch = model.image_shape().patch_size;
  AttentionMaps maps;
  maps.grid = PatchGrid{
      .rows = image.size(1) / patch, .columns = image.size(2) / patch, .patch_size = patch};
  const int64_t patches = maps.grid->rows * maps.grid->columns;
  maps.grid->class_token = !tap.attention.empty() && tap.attention[0].size(3) > patches;
  if (maps.grid->class_token) maps.keys.emplace_back("[class]");
  for (int64_t row = 0; row < maps.grid->rows; ++row)
    for (int64_t column = 0; column < maps.grid->columns; ++column)
      maps.keys.push_back(cat(row, ",", column));
  maps.queries = maps.keys;
  add_heads(maps, tap);
  return maps;
}

std::vector<AttentionMaps> attention_maps(Seq2Seq& model, const Ids& source, int64_t begin,
                                          const Ids& target, const Tokenizer* source_tokenizer,
                                          const Tokenizer* tokenizer) {
  const TranslationAttention found = translation_attention(model, source, begin, target);
  Ids inputs = {begin};
  inputs.insert(inputs.end(), target.begin(), target.end() - 1);
  std::vector<AttentionMaps> all;
  const auto add = [&](AttentionPart part, const std::vector<Tensor>& layers) {
    if (layers.empty()) return;
    const bool of_source = part != AttentionPart::decoder;
    const Tokenizer* of_keys = of_source ? source_tokenizer : tokenizer;
    AttentionMaps maps;
    maps.part = part;
    maps.causal = part == AttentionPart::decoder;
    maps.keys = token_labels(of_keys, of_source ? source : inputs);
    maps.queries = part == AttentionPart::cross ? token_labels(tokenizer, target) : maps.keys;
    maps.separators = separators_among(of_keys, of_source ? source : inputs);
    add_heads(maps, layers);
    all.push_back(std::move(maps));
  };
  add(AttentionPart::encoder, found.encoder);
  add(AttentionPart::decoder, found.decoder);
  add(AttentionPart::cross, found.cross);
  if (all.empty())
    throw ConfigError(
        "attention: this model has no attention, its source is one vector; give one that has");
  return all;
}

// ---- texts -------------------------------------------------------------------------------------

namespace {

void require_length(int64_t length, int64_t longest, std::string_view what) {
  if (length > longest)
    throw DataError(cat("attention: ", what, " has ", with_thousands(length),
                        " tokens, special ones included, but the model reads ",
                        with_thousands(longest), "; shorten it"));
}

AttentionMaps of_language_model(const LoadedModel& loaded, CausalLm& model, const std::string& text,
                                const EncodeOptions& options) {
  Ids tokens = loaded.tokenizer->encode(text, options);
  if (const auto bos = loaded.tokenizer->special_ids().bos) tokens.insert(tokens.begin(), *bos);
  require_length(std::ssize(tokens), model.max_length(), "the text");
  return attention_maps(model, tokens, loaded.tokenizer.get());
}

AttentionMaps of_encoder(const LoadedModel& loaded, TextEncoder& model, const std::string& text,
                         const std::optional<std::string>& second, const EncodeOptions& options) {
  // A text that is cut would be looked at as if its end had never been there.
  constexpr int64_t kUnlimited = int64_t{1} << 40;
  const TextEncoding encoding(*loaded.tokenizer, kUnlimited);
  const EncodedText encoded = encoding.encode(text, second, options);
  require_length(std::ssize(encoded.ids), model.max_length(),
                 second ? "the pair of texts" : "the text");
  return attention_maps(model, encoded, loaded.tokenizer.get());
}

/// The target that the model itself writes.
Ids written_greedily(const LoadedModel& loaded, Seq2Seq& model, const Ids& source, int64_t begin) {
  GenerationOptions options = loaded.generation;
  options.sample = false;
  options.beam_size = 1;
  TranslateArgs args;
  args.search.tokenizer = loaded.tokenizer.get();
  args.search.eos = loaded.special_ids.eos;
  args.begin = begin;
  return translate(model, {source}, options, args)[0][0].tokens;
}

}  // namespace

ModelAttention attention_of_text(const LoadedModel& loaded, const std::string& text,
                                 const std::optional<std::string>& second,
                                 const EncodeOptions& options) {
  const std::string name = utf8(loaded.folder);
  if (dynamic_cast<ImageEncoder*>(loaded.model.get()) != nullptr)
    throw ConfigError(name + ": is a vision model, which reads no text; give it a picture");
  if (!loaded.tokenizer)
    throw DataError(name + ": holds no tokenizer, so no text can be read; add its files");
  if (is_blank(text)) throw DataError("attention: the text is blank; give one with a token");
  if (second && is_blank(*second))
    throw DataError("attention: the second text or target is blank; leave it out or write one");
  ModelAttention found{.input = text, .second = second, .maps = {}};
  if (auto* causal = dynamic_cast<CausalLm*>(loaded.model.get())) {
    if (second)
      throw ConfigError(name +
                        ": is a language model, which reads one text; leave the second one out");
    found.maps.push_back(of_language_model(loaded, *causal, text, options));
  } else if (auto* encoder = dynamic_cast<TextEncoder*>(loaded.model.get())) {
    found.maps.push_back(of_encoder(loaded, *encoder, text, second, options));
  } else {
    const auto model = loaded.as<Seq2Seq>();
    const auto start = loaded.special_ids.decoder_start();
    const int64_t begin = start ? *start : begin_token(*loaded.tokenizer);
    const Ids source = encode_sentence(*loaded.source_tokenizer, text);
    require_length(std::ssize(source), model->max_source_length(), "the source");
    const Ids target = second ? encode_sentence(*loaded.tokenizer, *second)
                              : written_greedily(loaded, *model, source, begin);
    require_length(std::ssize(target), model->max_length(), "the target");
    if (!second) found.second = loaded.tokenizer->decode(target);
    found.maps = attention_maps(*model, source, begin, target, loaded.source_tokenizer.get(),
                                loaded.tokenizer.get());
  }
  return found;
}

// ---- selection ---------------------------------------------------------------------------------

void select(AttentionMaps& maps, const AttentionSelection& selection) {
  int64_t layers = 0, heads = 0;
  for (const HeadMap& map : maps.heads) {
    layers = std::max(layers, map.layer + 1);
    heads = std::max(heads, map.head.value_or(0) + 1);
  }
  const auto check = [&](const Ids& wanted, int64_t count, const char* what) {
    for (const int64_t one : wanted)
      if (one < 0 || one >= count)
        throw ConfigError(cat("attention: there is no ", what, " ", one, "; the attention \"",
                              enum_name(maps.part), "\" has ", what, "s 0 to ", count - 1));
  };
  check(selection.layers, layers, "layer");
  check(selection.heads, heads, "head");
  const auto has = [](const Ids& wanted, int64_t one) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), one) != wanted.end();
  };
  std::erase_if(maps.heads, [&](const HeadMap& map) {
    return !has(selection.layers, map.layer) || !has(selection.heads, map.head.value_or(0));
  });
  if (!selection.mean) return;
  std::vector<HeadMap> means;
  for (auto first = maps.heads.begin(); first != maps.heads.end();) {
    const auto last = std::find_if(first, maps.heads.end(),
                                   [&](const HeadMap& map) { return map.layer != first->layer; });
    std::vector<Tensor> weights;
    for (auto map = first; map != last; ++map) weights.push_back(map->weights);
    const Tensor mean = torch::stack(weights).mean(0);
    means.push_back({first->layer, std::nullopt, mean, summarize(mean, maps)});
    first = last;
  }
  maps.heads = std::move(means);
}

// ---- files -------------------------------------------------------------------------------------

namespace {

/// The double whose shortest text is that of the float: 0.1 and not 0.10000000149011612.
double shortest(float value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double same = 0;
  std::from_chars(text.data(), end, same);
  return same;
}

Json summary_json(const HeadSummary& summary) {
  Json json = Json::object();
  summary.fields([&](const char* name, double value, const char*) {
    if (!std::isnan(value)) json[name] = shortest(static_cast<float>(value));
  });
  return json;
}

std::string head_name(const HeadMap& map) { return map.head ? std::to_string(*map.head) : "mean"; }

Json maps_json(const AttentionMaps& maps, bool weights) {
  Json json = {{"attention", enum_name(maps.part)},
               {"causal", maps.causal},
               {"queries", maps.queries},
               {"keys", maps.keys}};
  if (maps.part != AttentionPart::cross) json["distance_unit"] = maps.grid ? "pixels" : "tokens";
  if (maps.grid)
    json["patches"] = {{"rows", maps.grid->rows},
                       {"columns", maps.grid->columns},
                       {"size", maps.grid->patch_size},
                       {"class_token", maps.grid->class_token}};
  json["uniform"] = summary_json(maps.uniform);
  Json heads = Json::array();
  for (const HeadMap& map : maps.heads) {
    Json head = {{"layer", map.layer},
                 {"head", map.head ? Json(*map.head) : Json("mean")},
                 {"summary", summary_json(map.summary)}};
    if (weights) head["weights"] = matrix_json(map.weights);
    heads.push_back(std::move(head));
  }
  json["heads"] = std::move(heads);
  if (weights && maps.rollout.defined()) {
    json["rollout"] = matrix_json(maps.rollout);
    if (maps.grid)
      json["relevance"] = matrix_json(
          patch_relevance(maps.rollout.unsqueeze(0), maps.grid->rows, maps.grid->columns)[0]);
  }
  return json;
}

}  // namespace

Json matrix_json(const Tensor& matrix) {
  const Tensor rows = matrix.contiguous();
  const float* value = rows.const_data_ptr<float>();
  Json json = Json::array();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    Json row = Json::array();
    for (int64_t j = 0; j < rows.size(1); ++j) row.push_back(shortest(*value++));
    json.push_back(std::move(row));
  }
  return json;
}

Json to_json(const ModelAttention& attention, bool weights) {
  Json json = {{"input", attention.input}};
  if (attention.second) json["second"] = *attention.second;
  Json all = Json::array();
  for (const AttentionMaps& maps : attention.maps) all.push_back(maps_json(maps, weights));
  json["maps"] = std::move(all);
  return json;
}

void write_csv_header(std::ostream& out, bool weights) {
  out << "input,attention,layer,head";
  if (weights)
    out << ",query,key,query_label,key_label,weight";
  else
    HeadSummary().fields([&](const char* name, double, const char*) { out << ',' << name; });
  out << '\n';
}

void write_csv(std::ostream& out, const ModelAttention& attention, int64_t number, bool weights) {
  for (const AttentionMaps& maps : attention.maps)
    for (const HeadMap& map : maps.heads) {
      const std::string start =
          cat(number, ',', enum_name(maps.part), ',', map.layer, ',', head_name(map));
      if (!weights) {
        out << start;
        map.summary.fields([&](const char*, double value, const char*) {
          out << ',' << csv_number(shortest(static_cast<float>(value)));
        });
        out << '\n';
        continue;
      }
      const Tensor rows = map.weights.contiguous();
      const float* value = rows.const_data_ptr<float>();
      for (size_t i = 0; i < maps.queries.size(); ++i)
        for (size_t j = 0; j < maps.keys.size(); ++j)
          out << start << ',' << i << ',' << j << ',' << csv_field(maps.queries[i]) << ','
              << csv_field(maps.keys[j]) << ',' << csv_number(shortest(*value++)) << '\n';
    }
}

}  // namespace zoo
