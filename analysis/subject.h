#pragma once
// A model behind its contract, with random samples, read in all the ways that shall agree.

#include <memory>
#include <string>
#include <vector>

#include "models/contracts.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

/// What a model says: for each sample a table (N, C), float32 on the CPU, of the logits at its N
/// real places; some heads give a second one. Without a head: vectors.
using Tables = std::vector<Tensor>;

/// Thrown by what a model has no way to do.
struct NotApplicable {
  std::string reason;
};

enum class Lengths { equal, mixed };

/// The same, computed in two ways.
struct TwoWays {
  Tables expected, actual;
};

/// What greedy decoding wrote.
struct Written {
  std::vector<int64_t> tokens;  ///< N new ones
  Tensor logits;                ///< (N, V) those of one pass at the places of these tokens
  bool has_text = false;        ///< there is a tokenizer
  std::string streamed, whole;  ///< the text as its pieces came, and decoded at once
};

class Subject {
 public:
  virtual ~Subject() = default;

  /// All samples in one batch. @param padding seed of the ids in the padding
  virtual Tables together(Lengths lengths, uint64_t padding = 0) = 0;
  /// Each sample in a batch of its own.
  virtual Tables alone(Lengths lengths) = 0;

  // What follows throws NotApplicable where the model cannot do it, as do the two above for
  // Lengths::mixed.

  /// As together(), by a state that reads one token and `chunk` tokens in turn.
  virtual Tables by_state(Lengths lengths, int64_t chunk);
  /// Rows of a state moved, repeated and left out midway (actual), against whole sequences.
  virtual TwoWays reordered();
  /// Greedy decoding of one sample.
  virtual Written write();
};

/// @param model a CausalLm, Seq2Seq, TextEncoder or ImageEncoder  @param tokenizer of what it
/// writes, or null  @param begin what a decoder reads first
/// @throws ConfigError for another model
std::unique_ptr<Subject> make_subject(torch::nn::Module& model, const Tokenizer* tokenizer,
                                      int64_t begin, uint64_t seed);

}  // namespace zoo
