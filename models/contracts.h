#pragma once
// What decoding, training and evaluation may know of a model. Letters of the shapes: core/shape.h.

#include <memory>

#include "core/shape.h"
#include "models/bert_config.h"
#include "nn/image_config.h"
#include "nn/tap.h"

namespace zoo {

/// Where a model's parameters lie; the CPU if it has none.
inline torch::Device device_of(const torch::nn::Module& model) {
  const std::vector<Tensor> parameters = model.parameters();
  return parameters.empty() ? torch::Device(torch::kCPU) : parameters.front().device();
}

/// The format of a model's parameters; float32 if it has none.
inline torch::Dtype dtype_of(const torch::nn::Module& model) {
  const std::vector<Tensor> parameters = model.parameters();
  return parameters.empty() ? torch::kFloat32 : parameters.front().scalar_type();
}

/// What a decoder remembers of the tokens it has read: a KV cache, a recurrent state.
class DecodeState {
 public:
  virtual ~DecodeState() = default;
  virtual int64_t length() const = 0;    ///< tokens read so far, padding included
  virtual int64_t capacity() const = 0;  ///< tokens it can hold
  virtual int64_t batch() const = 0;
  /// Keeps the rows `rows` ((B') int64, repeats allowed) in that order: beam search, finished rows.
  virtual void reorder(const Tensor& rows) = 0;
};

struct DecodeArgs {
  DecodeState* state = nullptr;  ///< continue from it, and extend it by these tokens
  Tap* tap = nullptr;            ///< observe
  /// (B) int64: how many tokens at the left of each row are padding. Given with the first tokens;
  /// a state remembers it. Undefined: none.
  Tensor left_pad;
  bool last_only = false;  ///< logits of the last position only: (B, 1, V)
};

/// A decoder-only language model: p(next token | tokens so far).
class CausalLm : public torch::nn::Module {
 public:
  static constexpr std::string_view kKind = "language model";  ///< in messages

  /// Logits of the next token at every position.
  /// @param tokens (B, T) int64, ids in [0, V)
  /// @return (B, T, V), or (B, 1, V) with args.last_only
  /// @throws ShapeError if past and present tokens exceed max_length()
  virtual Tensor forward(const Tensor& tokens, const DecodeArgs& args) = 0;
  Tensor forward(const Tensor& tokens) { return forward(tokens, DecodeArgs{}); }

  /// An empty state for `batch` sequences of up to `capacity` tokens, allocated once.
  virtual std::unique_ptr<DecodeState> start(int64_t batch, int64_t capacity) const = 0;

  /// A module of the same architecture, its parameters allocated but not set; null where two of
  /// them side by side could not take the place of one, since training draws random numbers
  /// (dropout).
  virtual std::shared_ptr<CausalLm> replica() const { return nullptr; }

  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_length() const = 0;  ///< longest sequence, in tokens
};

/// What an encoder found in B source sequences.
struct Encoded {
  Tensor memory;   ///< (B, S, M), a vector for each source token; of no meaning at padding
  Tensor lengths;  ///< (B) int64, the real tokens of each row
  Tensor summary;  ///< what a recurrent decoder starts from; undefined for others
};

/// How a decoder is taught.
struct TeachArgs {
  /// Probability, for each step and row, that the true previous token is read and not the model's
  /// own most probable one (Bengio et al. 2015, "Scheduled Sampling"). Below 1 the steps are taken
  /// one after the other and draw from torch's default generator.
  double teacher_forcing = 1;
  Tap* tap = nullptr;  ///< observe; attention is that of the target to the source, (B, H, T, S)
  /// Observe the attention of the target to itself, (B, H, T, T), and nothing else; a recurrent
  /// decoder has none.
  Tap* self_tap = nullptr;
};

/// A model of p(target | source), both sequences of tokens: an encoder and a decoder.
///
/// Sequences are padded at the right, with any ids; what stands there changes no real result. The
/// decoder reads a begin token, then the target: its output at place i predicts token i of the
/// target.
class Seq2Seq : public torch::nn::Module {
 public:
  static constexpr std::string_view kKind = "sequence-to-sequence model";

  /// Reads the sources.
  /// @param source (B, S) int64, ids in [0, source_vocab_size())
  /// @param lengths (B) int64 in [1, S], on the device of `source`
  /// @param tap hidden states and the attention of the source to itself, (B, H, S, S), are put
  /// there, or null; of a recurrent encoder the embedding and the memory
  /// @throws ShapeError if S exceeds max_source_length()
  virtual Encoded encode(const Tensor& source, const Tensor& lengths, Tap* tap) = 0;
  Encoded encode(const Tensor& source, const Tensor& lengths) {
    return encode(source, lengths, nullptr);
  }

  /// Reads whole targets.
  /// @param inputs (B, T) int64, ids in [0, V): the begin token, then the target without its end
  /// @return (B, T, D), for logits()
  /// @throws ShapeError if T exceeds max_length()
  virtual Tensor decode(const Encoded& encoded, const Tensor& inputs, const TeachArgs& args) = 0;
  Tensor decode(const Encoded& encoded, const Tensor& inputs) {
    return decode(encoded, inputs, TeachArgs{});
  }

  /// Logits of the next token. Apart from decode(), so that a loss takes them at real targets only:
  /// hidden.index({mask}) has (N, D).
  /// @param hidden (..., D)  @return (..., V)
  virtual Tensor logits(const Tensor& hidden) = 0;

  /// logits(decode(encode(source, lengths), inputs)): (B, T, V).
  Tensor forward(const Tensor& source, const Tensor& lengths, const Tensor& inputs) {
    return logits(decode(encode(source, lengths), inputs));
  }

  /// A state that has read nothing yet, a row for each source, for up to `capacity` tokens. What
  /// depends on the source alone is computed here, once.
  ///
  /// Beam search widens and moves rows with reorder(): the rows of one source share what was
  /// computed of it, which is copied only when sources fall away.
  virtual std::unique_ptr<DecodeState> start(const Encoded& encoded, int64_t capacity) = 0;

  /// Reads the next token of each row.
  /// @param tokens (B) int64  @param tap attention and hidden states with T = 1, or null
  /// @return logits of the token after it, (B, V)
  /// @throws ShapeError if the state is full
  virtual Tensor step(const Tensor& tokens, DecodeState& state, Tap* tap) = 0;
  Tensor step(const Tensor& tokens, DecodeState& state) { return step(tokens, state, nullptr); }

  /// As CausalLm::replica().
  virtual std::shared_ptr<Seq2Seq> replica() const { return nullptr; }

  virtual int64_t source_vocab_size() const = 0;
  virtual int64_t vocab_size() const = 0;         ///< V, of the target
  virtual int64_t max_source_length() const = 0;  ///< longest source, in tokens
  virtual int64_t max_length() const = 0;         ///< longest target, its begin token included
};

/// Texts, or pairs of texts, for an encoder that reads both ways.
struct TextBatch {
  Tensor tokens;    ///< (B, T) int64, ids in [0, V); padded at the right, with any ids
  Tensor segments;  ///< (B, T) int64: which text of a pair; undefined: all the first
  Tensor lengths;   ///< (B) int64 in [1, T], the real tokens of each row
};

/// A model of whole texts: a vector for each token, one for the text, and what its head makes of
/// them. What stands in padding changes no real result.
class TextEncoder : public torch::nn::Module {
 public:
  static constexpr std::string_view kKind = "text encoder";

  /// @param tap hidden states and attention are put there, or null
  /// @return (B, T, D), at padding of no meaning  @throws ShapeError if T exceeds max_length()
  virtual Tensor encode(const TextBatch& batch, Tap* tap) = 0;
  Tensor encode(const TextBatch& batch) { return encode(batch, nullptr); }

  /// One vector for each text. @param hidden (B, T, D), of encode()  @param lengths (B)
  /// @return (B, D)
  virtual Tensor pool(const Tensor& hidden, const Tensor& lengths) = 0;

  /// What the head makes of encode()'s vectors.
  /// masked_lm: logits of the token at each place, (..., D) to (..., V), so that a loss takes them
  /// at masked places only; `lengths` is not read.
  /// tagger: (B, T, D) to (B, T, C); `lengths` is not read.
  /// classifier: (B, T, D) to (B, C).
  /// @throws ConfigError without a head
  virtual Tensor logits(const Tensor& hidden, const Tensor& lengths) = 0;

  /// Logits of "the second text follows the first", then of "it does not": (B, 2), in BERT's order.
  /// @throws ConfigError if the head has no such part
  virtual Tensor next_sentence_logits(const Tensor& hidden, const Tensor& lengths) = 0;

  /// As CausalLm::replica().
  virtual std::shared_ptr<TextEncoder> replica() const { return nullptr; }

  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_length() const = 0;  ///< longest text or pair, in tokens
  virtual const TextHeadConfig& head() const = 0;
};

/// The pictures that a model was made for.
struct ImageShape {
  int64_t channels = 3, height = 0, width = 0;
  int64_t patch_size = 1;  ///< divides the height and width of every picture
};

/// A model that tells the class of a picture.
class ImageEncoder : public torch::nn::Module {
 public:
  static constexpr std::string_view kKind = "vision model";

  /// @param images (B, X, Y, Z): X channels, Y rows, Z columns; other sizes than image_shape()'s
  /// are read too  @param tap hidden states and attention are put there, or null
  /// @return (B, T, D), a vector for each patch, row by row, behind that of the class token if
  /// there is one  @throws ShapeError
  virtual Tensor encode(const Tensor& images, Tap* tap) = 0;
  Tensor encode(const Tensor& images) { return encode(images, nullptr); }

  /// Logits of the classes. @param hidden (B, T, D), of encode()  @return (B, C)
  virtual Tensor logits(const Tensor& hidden) = 0;

  /// As CausalLm::replica().
  virtual std::shared_ptr<ImageEncoder> replica() const { return nullptr; }

  virtual const std::vector<std::string>& labels() const = 0;  ///< names of the C classes
  virtual ImageShape image_shape() const = 0;
  virtual const ImageInputConfig& input() const = 0;  ///< how pictures become `images`
};

}  // namespace zoo
