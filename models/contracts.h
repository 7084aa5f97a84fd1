#pragma once
// What decoding, training and evaluation may know of a model.

#include <memory>

#include "core/shape.h"
#include "nn/tap.h"

namespace zoo {

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

}  // namespace zoo
