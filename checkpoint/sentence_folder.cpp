#include "checkpoint/sentence_folder.h"

#include "core/error.h"
#include "core/json.h"

namespace zoo {

namespace {

constexpr const char* kFolder = "1_Pooling";

constexpr std::pair<Pooling, const char*> kModes[] = {
    {Pooling::cls, "pooling_mode_cls_token"},
    {Pooling::mean, "pooling_mode_mean_tokens"},
    {Pooling::max, "pooling_mode_max_tokens"},
};

/// The config of an encoder without a head; null for other models.
BertConfig* bare_encoder(ModelConfig& config) {
  auto* bert = std::get_if<BertConfig>(&config);
  return bert != nullptr && std::holds_alternative<NoHeadConfig>(bert->head) ? bert : nullptr;
}

}  // namespace

void read_sentence_pooling(const fs::path& folder, ModelConfig& config) {
  BertConfig* bert = bare_encoder(config);
  const fs::path path = folder / kFolder / "config.json";
  if (bert == nullptr || !fs::exists(path)) return;
  const Json json = read_json_file(path);
  const auto is_on = [&](const std::string& key) {
    return json.contains(key) && json[key].is_boolean() && json[key].get<bool>();
  };
  int64_t modes = 0;
  if (json.is_object())
    for (const auto& [key, value] : json.items())
      modes += key.starts_with("pooling_mode_") && is_on(key);
  for (const auto& [pooling, key] : kModes)
    if (modes == 1 && is_on(key)) {
      bert->pooling = pooling;
      bert->pooler = Pooler::none;
      return;
    }
  throw DataError(cat(utf8(path),
                      ": expected exactly one of pooling_mode_cls_token, pooling_mode_mean_tokens "
                      "and pooling_mode_max_tokens to be true, and no other mode"));
}

void write_sentence_pooling(const fs::path& folder, const ModelConfig& config) {
  ModelConfig copy = config;
  const BertConfig* bert = bare_encoder(copy);
  if (bert == nullptr || bert->pooler != Pooler::none) return;
  Json json = {{"word_embedding_dimension", bert->d_model}};
  for (const auto& [pooling, key] : kModes) json[key] = pooling == bert->pooling;
  fs::create_directory(folder / kFolder);
  write_json_file(folder / kFolder / "config.json", json);
}

}  // namespace zoo
