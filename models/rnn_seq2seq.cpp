#include "models/rnn_seq2seq.h"

#include "models/seq2seq_parts.h"

namespace zoo {

struct RnnSeq2Seq::Decoding {
  RecurrentSteps steps;
  StepProduct readout;
  SourceView source;                 ///< with attention
  const SourceRows* rows = nullptr;  ///< which source a row reads; null: row i reads source i
  Tensor vector;                     ///< (B, H): without attention, the source
  StepState layers;
  Tensor last_read;  ///< (B, D): what the last step's readout was, if the next one reads it
};

/// Of one step (B, ...), or of all (B, T, ...).
struct RnnSeq2Seq::Found {
  Tensor embedded;  ///< (..., E), the tokens read; of one step undefined
  Tensor hidden;    ///< (..., H), the top layer
  Tensor read;      ///< (..., D), what the output projection reads; undefined if not wanted
  Tensor context;   ///< (..., M), or the source's one vector (..., H)
  Tensor weights;   ///< (..., S) with attention
};

/// What RnnSeq2Seq::step() carries on.
class RnnSeq2Seq::State final : public DecodeState {
 public:
  State(const RnnSeq2Seq& model, Decoding start, const Encoded& encoded, int64_t capacity)
      : decoding(std::move(start)), rows(encoded.lengths), model_(model), capacity_(capacity) {
    decoding.rows = &rows;
  }
  int64_t length() const override { return length_; }
  int64_t capacity() const override { return capacity_; }
  int64_t batch() const override { return rows.rows(); }
  void advance() { ++length_; }

  void reorder(const Tensor& kept) override {
    const auto pick = [&](Tensor& tensor) {
      if (tensor.defined()) tensor = tensor.index_select(0, kept);
    };
    for (Tensor& h : decoding.layers.h) pick(h);
    for (Tensor& c : decoding.layers.c) pick(c);
    pick(decoding.vector);
    pick(decoding.last_read);
    const Tensor sources = rows.reorder(kept);
    if (sources.defined() && model_.attention)
      decoding.source.keep(*model_.attention, sources, rows.longest());
  }

  Decoding decoding;
  SourceRows rows;

 private:
  const RnnSeq2Seq& model_;
  int64_t capacity_, length_ = 0;
};

RnnSeq2Seq::RnnSeq2Seq(const RnnSeq2SeqConfig& config) : config_(config) {
  require_vocabularies(config);
  const int64_t d_embedding = config.d_embedding, d_hidden = config.d_hidden;
  if (config.tie_embeddings != EmbeddingTying::all)
    source_embedding =
        register_module("source_embedding", Embedding(config.source_vocab_size, d_embedding));
  target_embedding = register_module("target_embedding", Embedding(config.vocab_size, d_embedding));
  RecurrentOptions layers{.cell = config.cell,
                          .input = d_embedding,
                          .hidden = config.encoder_width(),
                          .layers = config.encoder_layers,
                          .bidirectional = config.bidirectional,
                          .dropout = config.dropout.layers,
                          .orthogonal = config.orthogonal,
                          .forget_bias = config.forget_bias};
  encoder = register_module("encoder", Recurrent(layers));
  if (config.bridge == Bridge::project) {
    const int64_t states = config.decoder_layers * d_hidden;
    bridge = register_module("bridge", Linear(config.memory_width(), states, /*with_bias=*/true));
    if (config.cell == RecurrentCell::lstm)
      bridge_cell =
          register_module("bridge_cell", Linear(config.memory_width(), states, /*with_bias=*/true));
  }
  layers.input = d_embedding + config.fed_width();
  layers.hidden = d_hidden;
  layers.layers = config.decoder_layers;
  layers.bidirectional = false;
  decoder = register_module("decoder", Recurrent(layers));
  attention = make_source_score(config.attention, {d_hidden, config.memory_width()});
  if (attention) register_module("attention", attention);
  if (config.readout != Readout::state) {
    const int64_t width =
        d_hidden + config.context_width() + (config.readout_reads_token() ? d_embedding : 0);
    const int64_t units = config.readout == Readout::maxout ? 2 : 1;
    readout = register_module("readout", Linear(width, units * config.readout_width(), true));
  }
  if (config.tie_embeddings == EmbeddingTying::none)
    output = register_module("output", Linear(config.readout_width(), config.vocab_size, true));
}

Tensor RnnSeq2Seq::embed(const Tensor& tokens, EmbeddingImpl& embedding) const {
  const Tensor x = embedding.forward(tokens);
  const double dropout = is_training() ? config_.dropout.embedding : 0;
  return dropout > 0 ? at::dropout(x, dropout, true) : x;
}

Tensor RnnSeq2Seq::drop_output(const Tensor& read) const {
  const double dropout = is_training() ? config_.dropout.output : 0;
  return dropout > 0 ? at::dropout(read, dropout, true) : read;
}

Encoded RnnSeq2Seq::encode(const Tensor& source, const Tensor& lengths, Tap* tap) {
  require_source(source, lengths, *this);
  const Tensor x = embed(source, *(source_embedding ? source_embedding : target_embedding));
  const auto [memory, state] = encoder->forward(x, lengths);
  if (tap != nullptr && tap->want_hidden) tap->hidden.insert(tap->hidden.end(), {x, memory});
  const int64_t directions = config_.bidirectional ? 2 : 1;
  const auto first_state = [&](const Tensor& last, Linear projection) -> Tensor {
    switch (config_.bridge) {
      case Bridge::project: {
        const Tensor top = last.narrow(0, last.size(0) - directions, directions);
        // The recurrence is as wide as its weights, whatever autocast makes of this product.
        const Tensor all = projection->forward(top.transpose(0, 1).flatten(1))
                               .tanh()
                               .to(last.scalar_type());  // (B, L H)
        return all.unflatten(1, {config_.decoder_layers, config_.d_hidden}).transpose(0, 1);
      }
      case Bridge::copy:
        return last;
      case Bridge::zero:
        return torch::zeros({config_.decoder_layers, source.size(0), config_.d_hidden},
                            last.options());
    }
    throw ConfigError("bridge: unknown value");
  };
  std::vector<Tensor> summary = {first_state(state.h, bridge)};
  if (state.c.defined()) summary.push_back(first_state(state.c, bridge_cell));
  return {.memory = memory, .lengths = lengths, .summary = torch::stack(summary)};
}

RnnSeq2Seq::Decoding RnnSeq2Seq::begin(const Encoded& encoded) {
  Decoding decoding;
  const int64_t fed = config_.has_attention() ? 0 : config_.fed_width();
  decoding.steps = RecurrentSteps(*decoder, config_.d_embedding + fed);
  if (readout) decoding.readout = StepProduct(readout->weight.t());
  const auto states = encoded.summary.unbind(0);  // (L, B, H)
  decoding.layers = StepState({states[0], states.size() > 1 ? states[1] : Tensor()});
  if (attention)
    decoding.source = SourceView(*attention, encoded.memory, encoded.lengths);
  else
    decoding.vector = decoding.layers.h.back();
  if (attention && config_.attend == AttendOrder::after && config_.input_feeding)
    decoding.last_read = torch::zeros({encoded.lengths.size(0), config_.readout_width()},
                                      encoded.summary.options().requires_grad(false));
  return decoding;
}

/// What the decoder reads at a step and does not depend on earlier ones.
/// @param embedded (..., E)  @param vector the source's, for the same steps (..., H)
Tensor RnnSeq2Seq::known_inputs(const Tensor& embedded, const Tensor& vector) const {
  const bool reads_vector = !config_.has_attention() && config_.input_feeding;
  return reads_vector ? torch::cat({embedded, vector}, -1) : embedded;
}

/// @param hidden (..., H)  @param context (..., M or H)  @param embedded (..., E)
Tensor RnnSeq2Seq::readout_input(const Tensor& hidden, const Tensor& context,
                                 const Tensor& embedded) const {
  return config_.readout_reads_token() ? torch::cat({hidden, context, embedded}, -1)
                                       : torch::cat({hidden, context}, -1);
}

/// @param products (..., D), or (..., 2 D) of maxout units  @return (..., D)
Tensor RnnSeq2Seq::bend(const Tensor& products) const {
  return config_.readout == Readout::maxout ? products.unflatten(-1, {-1, 2}).amax(-1)
                                            : products.tanh();
}

/// One step. @param gates (B, gates H) of known_inputs()  @param embedded (B, E) the token read
RnnSeq2Seq::Found RnnSeq2Seq::advance(Decoding& decoding, const Tensor& gates,
                                      const Tensor& embedded, bool want_read) const {
  Found found;
  const auto look = [&](const Tensor& state) {
    Tensor query = state.unsqueeze(1);  // (B, 1, H)
    if (decoding.rows != nullptr) query = decoding.rows->spread(query);
    auto [context, weights] = decoding.source.attend(query);
    if (decoding.rows != nullptr) {
      context = decoding.rows->gather(context);
      weights = decoding.rows->gather(weights);
    }
    found.context = context.squeeze(1);
    found.weights = weights.squeeze(1);
  };
  const bool before = attention && config_.attend == AttendOrder::before;
  if (before) look(decoding.layers.h.back());
  const Tensor fed = before && config_.input_feeding ? found.context : decoding.last_read;
  found.hidden = decoding.steps.step(gates, fed, decoding.layers);
  if (attention && !before) look(found.hidden);
  if (!attention) found.context = decoding.vector;

  if (want_read || decoding.last_read.defined())
    found.read = readout ? bend(decoding.readout(
                               readout_input(found.hidden, found.context, embedded), readout->bias))
                         : found.hidden;
  if (decoding.last_read.defined()) decoding.last_read = found.read;
  return found;
}

/// The whole target in one call of torch's kernel. @param inputs (B, T)
RnnSeq2Seq::Found RnnSeq2Seq::decode_at_once(Decoding& decoding, const Tensor& inputs) {
  const Tensor embedded = embed(inputs, *target_embedding);  // (B, T, E)
  const auto for_all_steps = [&](const Tensor& x) {
    return x.unsqueeze(1).expand({-1, inputs.size(1), -1});
  };
  Found found;
  found.embedded = embedded;
  if (!attention) found.context = for_all_steps(decoding.vector);
  RecurrentState start{torch::stack(decoding.layers.h), {}};
  if (decoding.layers.c[0].defined()) start.c = torch::stack(decoding.layers.c);
  found.hidden = decoder->forward(known_inputs(embedded, found.context), {}, start).output;
  if (attention) {
    const Attended attended = decoding.source.attend(found.hidden);
    found.context = attended.output;
    found.weights = attended.weights;
  }
  found.read = found.hidden;
  if (readout)
    found.read = bend(readout->forward(readout_input(found.hidden, found.context, embedded)));
  return found;
}

/// @param inputs (B, T)  @param teacher (B, T) bool: which of them are read, the model's own
/// predictions in place of the others; undefined: all
RnnSeq2Seq::Found RnnSeq2Seq::decode_stepwise(Decoding& decoding, const Tensor& inputs,
                                              const Tensor& teacher) {
  const int64_t length = inputs.size(1);
  Found found;
  std::vector<Tensor> embedded, gates;  // of each step, (B, E) and (B, gates H)
  if (!teacher.defined()) {
    // A view on the way to the steps, so that who observes it can ask for its gradient.
    found.embedded = embed(inputs.t(), *target_embedding).transpose(0, 1);
    const Tensor all = found.embedded.transpose(0, 1);  // (T, B, E): steps lie together
    const Tensor vector =
        attention ? Tensor() : decoding.vector.unsqueeze(0).expand({length, -1, -1});
    gates = decoding.steps.known_gates(known_inputs(all, vector)).unbind(0);
    embedded = all.unbind(0);
  }
  std::vector<Tensor> hidden, context, weights, read;
  for (int64_t t = 0; t < length; ++t) {
    if (teacher.defined()) {
      Tensor tokens = inputs.select(1, t);
      if (t > 0) {
        const torch::NoGradGuard no_grad;
        tokens = torch::where(teacher.select(1, t), tokens, logits(read.back()).argmax(-1));
      }
      embedded.push_back(embed(tokens, *target_embedding));
      gates.push_back(decoding.steps.known_gates(known_inputs(embedded.back(), decoding.vector)));
    }
    const Found step = advance(decoding, gates[t], embedded[t], /*want_read=*/teacher.defined());
    hidden.push_back(step.hidden);
    context.push_back(step.context);
    weights.push_back(step.weights);
    read.push_back(step.read);
  }
  const auto of_all = [](const std::vector<Tensor>& steps) {
    return torch::stack(steps, 0).transpose(0, 1);  // (B, T, ...)
  };
  if (teacher.defined()) found.embedded = of_all(embedded);
  found.hidden = of_all(hidden);
  if (weights[0].defined()) found.weights = of_all(weights);
  if (read[0].defined()) {
    found.read = of_all(read);
  } else if (readout) {
    // Nothing waits for the readout: one product for all steps.
    const Tensor input = readout_input(torch::stack(hidden), torch::stack(context),
                                       torch::stack(embedded));  // (T, B, ...)
    found.read = bend(readout->forward(input)).transpose(0, 1);
  } else {
    found.read = found.hidden;
  }
  return found;
}

Tensor RnnSeq2Seq::decode(const Encoded& encoded, const Tensor& inputs, const TeachArgs& args) {
  require_shape(inputs, {encoded.lengths.size(0), -1}, "inputs");
  require_target_length(inputs.size(1), *this);
  Decoding decoding = begin(encoded);
  const Tensor teacher =
      args.teacher_forcing < 1 ? draw_teacher(inputs, args.teacher_forcing) : Tensor();
  const Found found = config_.reads_at_once() && !teacher.defined()
                          ? decode_at_once(decoding, inputs)
                          : decode_stepwise(decoding, inputs, teacher);
  if (args.tap != nullptr && args.tap->want_attention && attention)
    args.tap->attention.push_back(found.weights.unsqueeze(1));  // (B, 1, T, S)
  if (args.tap != nullptr && args.tap->want_hidden)
    args.tap->hidden.insert(args.tap->hidden.end(), {found.embedded, found.hidden});
  return drop_output(found.read);
}

Tensor RnnSeq2Seq::logits(const Tensor& hidden) {
  return output ? output->forward(hidden) : project(hidden, target_embedding->weight, {});
}

std::unique_ptr<DecodeState> RnnSeq2Seq::start(const Encoded& encoded, int64_t capacity) {
  require_target_length(capacity, *this);
  return std::make_unique<State>(*this, begin(encoded), encoded, capacity);
}

Tensor RnnSeq2Seq::step(const Tensor& tokens, DecodeState& state, Tap* tap) {
  auto& own = static_cast<State&>(state);
  require_shape(tokens, {own.batch()}, "tokens");
  if (own.length() == own.capacity())
    throw ShapeError(cat("decoder's state: ", own.length() + 1,
                         " tokens do not fit into its capacity of ", own.capacity()));
  const Tensor embedded = embed(tokens, *target_embedding);
  const Tensor gates = own.decoding.steps.known_gates(known_inputs(embedded, own.decoding.vector));
  const Found found = advance(own.decoding, gates, embedded, /*want_read=*/true);
  own.advance();
  if (tap != nullptr && tap->want_attention && attention)
    tap->attention.push_back(found.weights.unsqueeze(1).unsqueeze(1));  // (B, 1, 1, S)
  if (tap != nullptr && tap->want_hidden)
    tap->hidden.insert(tap->hidden.end(), {embedded.unsqueeze(1), found.hidden.unsqueeze(1)});
  return logits(drop_output(found.read));
}

std::shared_ptr<Seq2Seq> RnnSeq2Seq::replica() const {
  const RnnDropoutConfig& dropout = config_.dropout;
  const bool draws = dropout.embedding > 0 || dropout.layers > 0 || dropout.output > 0;
  return draws ? nullptr : std::make_shared<RnnSeq2Seq>(config_);
}

}  // namespace zoo
