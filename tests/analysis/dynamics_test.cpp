// Looking into trainings: groups of parameters, clipping, updates, and how far gradients reach.

#include "analysis/dynamics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/train_dynamics.h"
#include "checkpoint/checkpoint.h"
#include "models/zoo.h"
#include "tests/support/message_of.h"
#include "tests/support/seq2seq_variants.h"
#include "tests/training/fake_task.h"
#include "tests/training/small_translation.h"

namespace zoo {
namespace {

using testing::kRecurrent;
using testing::LogitsTask;
using testing::message_of;
using testing::Notices;
using testing::SmallProject;
using testing::SmallTranslation;

ModelConfig with_vocabularies(ModelConfig config) {
  fit_to_vocabulary(config, 23, 19);
  return config;
}

std::vector<ModelConfig> all_models() {
  std::vector<ModelConfig> models;
  for (const testing::Seq2SeqVariant& variant : testing::seq2seq_variants())
    models.push_back(variant.config);
  GptConfig gpt = GptConfig::preset("modern");
  gpt.block.attention = {.num_heads = 4, .num_kv_heads = 2, .bias = true, .qk_norm = true};
  gpt.num_layers = 2;
  gpt.d_model = 16;
  gpt.tie_embeddings = false;
  models.push_back(with_vocabularies(gpt));
  BertConfig bert;
  bert.num_layers = 1;
  bert.d_model = 16;
  bert.block.attention.num_heads = 2;
  bert.head = MaskedLmHeadConfig{.next_sentence = true};
  models.push_back(with_vocabularies(bert));
  VitConfig vit;
  vit.num_layers = 1;
  vit.d_model = 16;
  vit.block.attention.num_heads = 2;
  vit.labels = {"a", "b"};
  models.push_back(vit);
  return models;
}

NamedTensors parameters_of(const torch::nn::Module& module) {
  NamedTensors parameters;
  for (const auto& item : module.named_parameters()) parameters.emplace_back(item.key(), *item);
  return parameters;
}

TEST(ParameterParts, CoverEachNumberOnceAndKnowEachName) {
  for (const ModelConfig& config : all_models()) {
    const auto model = make_model(config);
    const NamedTensors parameters = parameters_of(*model);
    std::vector<Tensor> covered;
    for (const auto& [name, parameter] : parameters)
      covered.push_back(torch::zeros({parameter.size(0)}, torch::kInt64));
    for (const ParameterPart& part : parameter_parts(config, parameters)) {
      covered[part.parameter].narrow(0, part.first, part.rows) += 1;
      EXPECT_NE(part.group.group, "other") << parameters[part.parameter].first;
    }
    for (size_t i = 0; i < covered.size(); ++i)
      EXPECT_TRUE(covered[i].eq(1).all().item<bool>())
          << model_type(config) << " " << parameters[i].first;
  }
}

TEST(ParameterParts, QueriesKeysAndValuesAreRowsOfOneMatrix) {
  GptConfig config = GptConfig::preset("modern");
  config.vocab_size = 11;
  config.num_layers = 2;
  config.d_model = 16;
  config.block.attention = {.num_heads = 4, .num_kv_heads = 2};  // heads of 4 numbers
  const NamedTensors parameters = parameters_of(*make_model(config));
  std::vector<std::string> found;
  for (const ParameterPart& part : parameter_parts(config, parameters))
    if (parameters[part.parameter].first == "blocks.1.attention.qkv.weight")
      found.push_back(
          cat(part.group.group, " ", part.group.layer, " ", part.first, "+", part.rows));
  EXPECT_EQ(found, (std::vector<std::string>{"attention.q block.1 0+16", "attention.k block.1 16+8",
                                             "attention.v block.1 24+8"}));
}

TEST(ParameterParts, RecurrentLayersAreCutIntoGates) {
  RnnSeq2SeqConfig config = testing::tiny_rnn();
  config.cell = RecurrentCell::lstm;
  const NamedTensors parameters = parameters_of(*make_model(config));
  std::vector<std::string> found;
  for (const ParameterPart& part : parameter_parts(config, parameters))
    if (parameters[part.parameter].first == "encoder.weight_hh_l0_reverse")
      found.push_back(cat(part.group.group, " ", part.group.layer, " ", part.first));
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "recurrent.input encoder.0.reverse 0", "recurrent.forget encoder.0.reverse 6",
                "recurrent.cell encoder.0.reverse 12", "recurrent.output encoder.0.reverse 18"}));
}

// A loss whose gradient is what the test says.
struct GradientTask : LogitsTask {
  explicit GradientTask(Tensor wanted)
      : LogitsTask(torch::tensor({0.f, 2.f, 0.f})), gradient(std::move(wanted)) {
    batches = {LogitsTask::of({0})};
  }
  Tensor loss_sum(torch::nn::Module&, const Batch&) override {
    return (model.logits * gradient).sum();
  }
  Tensor gradient;
};

// Worked out by hand: the gradient (3, 0, 4) has norm 5 and is clipped to (.6, 0, .8); plain
// gradient descent at rate 1 takes that step from weights of norm 2.
TEST(DynamicsWatch, MeasuresAStepWorkedOutByHand) {
  GradientTask task(torch::tensor({3.f, 0.f, 4.f}));
  ProjectConfig project;
  project.training.optimizer = SgdConfig{.momentum = 0};
  project.training.clip_norm = 1;
  Dynamics dynamics;
  DynamicsWatch watch(project, task, {.every = 2}, dynamics);
  TrainingStep step(task, project.training,
                    Schedule(ConstantScheduleConfig{}, /*learning_rate=*/1, 0, 1), torch::kCPU);
  step.set_watch(&watch);
  for (int64_t i = 1; i <= 3; ++i) {
    if (i == 3) task.gradient /= 10;
    step.run(task.batches, i);
  }
  ASSERT_EQ(dynamics.steps.size(), 2U);  // 1 and 2
  const DynamicsStep& first = dynamics.steps[0];
  ASSERT_EQ(first.groups.size(), 1U);
  EXPECT_EQ(dynamics.groups[0], (ParameterGroup{"other", "logits"}));
  EXPECT_NEAR(first.groups[0].grad, 5, 1e-6);
  EXPECT_NEAR(first.groups[0].weight, 2, 1e-6);
  EXPECT_NEAR(first.groups[0].update_ratio, 0.5, 1e-6);
  EXPECT_NEAR(first.clipped_norm, 1, 1e-6);
  EXPECT_NEAR(first.clip_cosine, 1, 1e-6);
  EXPECT_EQ(first.clipped, 1);
  EXPECT_EQ(first.step, 1);
  EXPECT_EQ(dynamics.steps[1].step, 2);
  EXPECT_EQ(dynamics.read.size(), 3U);
  for (const TheoryCheck& check : dynamics_checks(dynamics, "test"))
    EXPECT_TRUE(check.pass()) << check.id << " " << check.claim << " " << check.value;
}

TEST(DynamicsWatch, CountsClippedStepsBetweenTwoLooks) {
  GradientTask task(torch::tensor({3.f, 0.f, 4.f}));
  ProjectConfig project;
  project.training.clip_norm = 1;
  Dynamics dynamics;
  DynamicsWatch watch(project, task, {.every = 4}, dynamics);
  TrainingStep step(task, project.training, Schedule(ConstantScheduleConfig{}, 1e-3, 0, 1),
                    torch::kCPU);
  step.set_watch(&watch);
  for (int64_t i = 1; i <= 4; ++i) {
    task.gradient = torch::tensor({i == 3 ? 3.f : .1f, 0.f, 0.f});
    step.run(task.batches, i);
  }
  ASSERT_EQ(dynamics.steps.size(), 2U);
  EXPECT_EQ(dynamics.steps[0].clipped, 0);
  EXPECT_NEAR(dynamics.steps[1].clipped, 1.0 / 3, 1e-12);  // of the steps 2, 3 and 4
}

TEST(DynamicsWatch, AStepThatIsSkippedSaysSo) {
  GradientTask task(torch::tensor({NAN, 0.f, 4.f}));
  ProjectConfig project;
  Dynamics dynamics;
  DynamicsWatch watch(project, task, {}, dynamics);
  TrainingStep step(task, project.training, Schedule(ConstantScheduleConfig{}, 1e-3, 0, 1),
                    torch::kCPU);
  step.set_watch(&watch);
  step.run(task.batches, 1);
  ASSERT_EQ(dynamics.steps.size(), 1U);
  EXPECT_TRUE(std::isnan(dynamics.steps[0].groups[0].grad));
  EXPECT_EQ(dynamics.steps[0].groups[0].update_ratio, 0);
  EXPECT_EQ(dynamics.steps[0].clipped, 0);
  EXPECT_NE(dynamics_csv(dynamics).find(",other,logits,,2,0,0"), std::string::npos)
      << dynamics_csv(dynamics);
}

Dynamics train_watched(const SmallProject& small, const ProjectConfig& project,
                       const std::string& run, bool watched = true) {
  Dynamics dynamics;
  TrainOptions options = small.options(run);
  if (watched)
    options.watch = [&](const ProjectConfig& resolved, Task& task) {
      return std::make_unique<DynamicsWatch>(resolved, task, DynamicsLook{.every = 3}, dynamics);
    };
  Notices notices;
  train(project, options, notices);
  return dynamics;
}

void expect_g12_and_g13(const Dynamics& dynamics, const std::string& name) {
  EXPECT_EQ(dynamics.steps.size(), 4U) << name;  // 1, 3, 6, 9
  const std::vector<TheoryCheck> checks = dynamics_checks(dynamics, name);
  EXPECT_EQ(checks.size(), 3U);
  for (const TheoryCheck& check : checks)
    EXPECT_TRUE(check.pass()) << check.id << " " << check.claim << ": " << check.value;
  for (const DynamicsStep& step : dynamics.steps) {
    double by_layer = 0, by_group = 0;
    for (const std::string& layer : dynamics.layers())
      by_layer += std::pow(grad_norm_of_layer(dynamics, step, layer), 2);
    for (const std::string& group : dynamics.group_names())
      by_group += std::pow(grad_norm_of_group(dynamics, step, group), 2);
    EXPECT_NEAR(by_layer / std::pow(step.grad_norm, 2), 1, 1e-6) << name;
    EXPECT_NEAR(by_group / std::pow(step.grad_norm, 2), 1, 1e-6) << name;
  }
}

// G12, G13 on the three kinds of models that generate.
TEST(Dynamics, HoldsForARecurrentNetworkATransformerAndAGpt) {
  const SmallTranslation small;
  const Dynamics rnn =
      train_watched(small, small.translation({kRecurrent, "training.clip_norm=0.05"}), "rnn");
  expect_g12_and_g13(rnn, "rnn");
  EXPECT_EQ(rnn.steps.back().clipped, 1);
  EXPECT_NE(std::find(rnn.groups.begin(), rnn.groups.end(),
                      ParameterGroup{"recurrent.update", "decoder.0"}),
            rnn.groups.end());
  const Dynamics transformer =
      train_watched(small, small.translation({"training.clip_norm=1000"}), "transformer");
  expect_g12_and_g13(transformer, "transformer");
  EXPECT_EQ(transformer.steps.back().clipped, 0);
  const SmallProject text;
  expect_g12_and_g13(train_watched(text, text.config({"training.clip_norm=0"}), "gpt"), "gpt");
}

TEST(Dynamics, LookingChangesNothing) {
  const SmallTranslation small;
  const auto weights = [&](const std::string& run) {
    return read_file(small.folder / run / "last/model.safetensors");
  };
  for (const std::vector<std::string>& settings : {std::vector<std::string>{}, {kRecurrent}}) {
    const std::string kind = settings.empty() ? "transformer" : "rnn";
    train_watched(small, small.translation(settings), kind, /*watched=*/false);
    train_watched(small, small.translation(settings), kind + "-watched");
    EXPECT_EQ(small.metrics(kind), small.metrics(kind + "-watched"));
    EXPECT_EQ(weights(kind), weights(kind + "-watched"));
  }
}

// The first step's weights are those that were drawn: an independent sum over them.
TEST(Dynamics, WeightNormsAreThoseOfTheParameters) {
  const SmallTranslation small;
  const Dynamics dynamics = train_watched(small, small.translation(), "run");
  ProjectConfig project = read_project(read_zoo_json(small.folder / "run"), "zoo.json");
  torch::manual_seed(static_cast<uint64_t>(project.training.seed));
  const auto model = make_model(project.model);
  for (const auto& [name, group] :
       {std::pair{"target_embedding.weight", ParameterGroup{"embedding", "target_embedding"}},
        {"encoder_blocks.0.feed_forward.down.weight", ParameterGroup{"ffn2", "encoder.0"}}}) {
    const auto place = std::find(dynamics.groups.begin(), dynamics.groups.end(), group);
    ASSERT_NE(place, dynamics.groups.end()) << name;
    const double found =
        dynamics.steps[0].groups[static_cast<size_t>(place - dynamics.groups.begin())].weight;
    EXPECT_NEAR(found, model->named_parameters()[name].norm().item<double>(), 1e-4 * found) << name;
  }
}

// Each token of the batch stands there once, so the gradient of its row in the embedding table is
// that of its place: another way to the same numbers.
void expect_reach(const ModelConfig& config, const std::string& name) {
  torch::manual_seed(3);
  const auto model = make_seq2seq(config);
  for (Tensor& parameter : model->parameters()) torch::nn::init::normal_(parameter, 0, 0.3);
  Batch batch;
  batch.source = torch::tensor({{1, 2, 3, 4, 5}, {6, 7, 8, 0, 0}});
  batch.source_lengths = torch::tensor({5, 3});
  batch.inputs = torch::tensor({{9, 10, 11, 12}, {13, 14, 15, 16}});
  batch.targets =
      torch::tensor(std::vector<int64_t>{10, 11, 12, 1, 14, 15, kNoTarget, kNoTarget}).view({2, 4});
  batch.examples = 2;
  model->train();
  const std::vector<GradientReach> reach = gradient_reach(*model, batch, 7);
  EXPECT_TRUE(model->is_training());
  ASSERT_EQ(reach.size(), 2U) << name;
  EXPECT_EQ(reach[0].side, "source");
  EXPECT_EQ(reach[1].side, "target");
  EXPECT_EQ(reach[0].step, 7);

  model->eval();
  const Tensor logits = model->forward(batch.source, batch.source_lengths, batch.inputs);
  const Tensor last = torch::stack({logits[0][3], logits[1][1]});  // (2, V)
  torch::nll_loss(last.log_softmax(-1), torch::tensor({1, 15}), {}, at::Reduction::Sum).backward();
  const auto* transformer = std::get_if<TransformerConfig>(&config);
  const double scale = transformer != nullptr && transformer->scale_embeddings
                           ? std::sqrt(static_cast<double>(transformer->d_model))
                           : 1;
  const auto parameters = model->named_parameters();
  const auto norms = [&](const char* table) {
    return (parameters[table].grad().square().sum(-1).to(torch::kFloat64) /
            (scale * scale));  // (V)
  };
  const Tensor source = norms("source_embedding.weight");
  const auto at = [&](const Tensor& table, int64_t one, int64_t two) {
    const double first = table[one].item<double>();
    return two < 0 ? std::sqrt(first) : std::sqrt((first + table[two].item<double>()) / 2);
  };
  const std::vector<double> wanted_source = {at(source, 5, 8), at(source, 4, 7), at(source, 3, 6),
                                             at(source, 2, -1), at(source, 1, -1)};
  ASSERT_EQ(reach[0].norm.size(), wanted_source.size()) << name;
  for (size_t k = 0; k < wanted_source.size(); ++k)
    EXPECT_NEAR(reach[0].norm[k], wanted_source[k], 1e-4 * wanted_source[k] + 1e-9)
        << name << " source " << k;
  const bool is_tied = std::visit(
      [](const auto& c) {
        if constexpr (requires { c.tie_embeddings == EmbeddingTying::none; })
          return c.tie_embeddings != EmbeddingTying::none;
        return false;
      },
      config);
  if (is_tied) return;  // the output's gradient is in the table, too
  const Tensor target = norms("target_embedding.weight");
  const std::vector<double> wanted = {at(target, 12, 14), at(target, 11, 13), at(target, 10, -1),
                                      at(target, 9, -1)};
  ASSERT_EQ(reach[1].norm.size(), wanted.size()) << name;
  for (size_t k = 0; k < wanted.size(); ++k)
    EXPECT_NEAR(reach[1].norm[k], wanted[k], 1e-4 * wanted[k] + 1e-9) << name << " target " << k;
}

TEST(GradientReach, IsThatOfTheEmbeddingTables) {
  for (const testing::Seq2SeqVariant& variant : testing::seq2seq_variants())
    if (variant.name != "transformer_all_tied") expect_reach(variant.config, variant.name);
}

TEST(GradientReach, OfALanguageModelSeesItsOwnPlacesOnly) {
  GptConfig config = GptConfig::preset("modern");
  config.vocab_size = 11;
  config.num_layers = 1;
  config.d_model = 16;
  config.block.attention.num_heads = 2;
  config.block.attention.num_kv_heads = 0;
  torch::manual_seed(1);
  const auto model = make_causal_lm(config);
  Batch batch;
  batch.inputs = torch::tensor({{1, 2, 3, 0, 0}});
  batch.targets = torch::tensor(std::vector<int64_t>{2, 3, 4, kNoTarget, kNoTarget}).view({1, 5});
  batch.examples = 1;
  const std::vector<GradientReach> reach = gradient_reach(*model, batch, 1);
  ASSERT_EQ(reach.size(), 1U);
  EXPECT_EQ(reach[0].side, "target");
  EXPECT_EQ(reach[0].norm.size(), 3U);  // the padding behind the last target is not among them
  for (const double norm : reach[0].norm) EXPECT_GT(norm, 0);
  // Models that read all places at once have no such thing.
  EXPECT_TRUE(gradient_reach(*make_model(all_models().back()), batch, 1).empty());
}

TEST(DynamicsFiles, AreReadBack) {
  const SmallTranslation small;
  const Dynamics written = train_watched(small, small.translation(), "run");
  const Dynamics read = read_dynamics(dynamics_csv(written), reach_csv(written), "run");
  ASSERT_EQ(read.groups.size(), written.groups.size());
  EXPECT_EQ(read.groups, written.groups);
  ASSERT_EQ(read.steps.size(), written.steps.size());
  EXPECT_EQ(read.steps[2].groups[1].grad, written.steps[2].groups[1].grad);
  EXPECT_EQ(read.steps[2].clipped, written.steps[2].clipped);
  ASSERT_EQ(read.reach.size(), written.reach.size());
  EXPECT_EQ(read.reach[1].norm, written.reach[1].norm);
  EXPECT_EQ(dynamics_csv(read), dynamics_csv(written));
  EXPECT_EQ(dynamics_csv(written, "a, b").substr(0, 11), "model,step,");
  EXPECT_NE(dynamics_csv(written, "a, b").find("\n\"a, b\",1,"), std::string::npos);
  for (const std::string& picture :
       {layer_chart(written, "run"), group_chart(written, "run"), reach_chart({{"run", &written}}),
        clipping_chart({{"run", &written}})}) {
    EXPECT_TRUE(picture.starts_with("<svg")) << picture.substr(0, 80);
    EXPECT_EQ(picture.find("no data"), std::string::npos);
  }
  const Json json = to_json(written, "run");
  EXPECT_EQ(json["steps"].size(), 4U);
  EXPECT_EQ(json["checks"][0]["id"], "G12");
}

TEST(DynamicsFiles, OfAnotherFormAreRefused) {
  const std::string head = "step,loss,group,layer,grad,weight,update_ratio,clipped\n";
  const auto refusal = [&](const std::string& steps, const std::string& reach) {
    return message_of<FormatError>([&] { read_dynamics(steps, reach, "dynamics.csv"); });
  };
  EXPECT_EQ(refusal("a,b\n", ""),
            "dynamics.csv: begins with \"a,b\" and not with \"step,loss,group,layer,grad,weight,"
            "update_ratio,clipped\"; it was not written by a training that was looked into");
  EXPECT_EQ(refusal(head + "1,2,norm,block.0,1,1,1,0\n2,3\n", ""),
            "dynamics.csv:3: has 2 fields and not 8; remove the file or that line");
  EXPECT_EQ(refusal(head + "1,2,norm,block.0,1,1,1,0\n2,2,ffn1,block.0,1,1,1,0\n", ""),
            "dynamics.csv: step 2 has other groups than the first step; remove the file");
  EXPECT_EQ(refusal("", "step,side,distance,grad\n1,source,3,1\n"),
            "dynamics.csv: distances begin with 3 and not with 0");
}

TEST(TrainDynamics, WritesTheTablesOfAllTrainings) {
  const SmallTranslation small;
  const std::vector<DynamicsRun> runs = {{"rnn", small.translation({kRecurrent}), {}},
                                         {"transformer", small.translation(), {}}};
  TrainDynamicsOptions options;
  options.output = small.folder / "both";
  options.look.every = 5;
  Notices notices;
  const std::vector<TrainedDynamics> trainings = train_dynamics(runs, options, notices);
  ASSERT_EQ(trainings.size(), 2U);
  EXPECT_EQ(dynamics_checks(trainings).size(), 6U);
  write_train_dynamics(trainings, options.output);
  for (const char* file :
       {"train.csv", "reach.csv", "reach.svg", "clipping.svg", "rnn/layers.svg", "rnn/groups.svg",
        "transformer/layers.svg", "transformer/groups.svg", "gradnorm.json", "rnn/run.json",
        "rnn/dynamics.csv", "transformer/gradient_time.csv", "transformer/metrics.jsonl"})
    EXPECT_TRUE(fs::exists(options.output / file)) << file;
  const std::string table = read_file(options.output / "train.csv");
  EXPECT_TRUE(
      table.starts_with("model,step,loss,group,layer,grad,weight,update_ratio,clipped\nrnn,1,"));
  EXPECT_NE(table.find("\ntransformer,10,"), std::string::npos);
  const Json json = read_json_file(options.output / "gradnorm.json");
  EXPECT_EQ(json["mode"], "train");
  EXPECT_EQ(json["models"][1]["name"], "transformer");
  EXPECT_TRUE(json["models"][1]["checks"][2]["pass"].get<bool>());

  // From a checkpoint: its config and its weights.
  const DynamicsRun again =
      dynamics_run(utf8(options.output / "rnn"), {}, {parse_setting("training.max_steps=12")});
  EXPECT_EQ(again.name, "rnn");
  EXPECT_EQ(again.project.training.max_steps, 12);
  ASSERT_TRUE(again.init_from.has_value());
  EXPECT_TRUE(std::holds_alternative<RnnSeq2SeqConfig>(again.project.model));
  options.output = small.folder / "again";
  const std::vector<TrainedDynamics> more = train_dynamics({again}, options, notices);
  EXPECT_LT(more[0].dynamics.steps[0].loss, trainings[0].dynamics.steps[0].loss);
}

TEST(TrainDynamics, NamesOfOneFolderAreNumbered) {
  const SmallTranslation small;
  write_file(small.folder / "a.json", config_to_json(small.translation()).dump());
  write_file(small.folder / "b/a.json", config_to_json(small.translation()).dump());
  const auto runs = dynamics_runs({small.path("a.json"), small.path("b/a.json")}, {}, {});
  EXPECT_EQ(runs[0].name, "a");
  EXPECT_EQ(runs[1].name, "a-2");
}

}  // namespace
}  // namespace zoo
