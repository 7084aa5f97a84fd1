#pragma once
// Whether a model says the same however it is run. Works by contract (models/contracts.h), so that
// a new model needs no line here.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace zoo {

/// What can be verified, in the order of the results.
enum class VerifyCheck { finite, repeat, cache, batch, padding, stream, threads, roundtrip, bf16 };
template <>
struct EnumNames<VerifyCheck> {
  static constexpr std::array values{
      std::pair{VerifyCheck::finite, "finite"},   std::pair{VerifyCheck::repeat, "repeat"},
      std::pair{VerifyCheck::cache, "cache"},     std::pair{VerifyCheck::batch, "batch"},
      std::pair{VerifyCheck::padding, "padding"}, std::pair{VerifyCheck::stream, "stream"},
      std::pair{VerifyCheck::threads, "threads"}, std::pair{VerifyCheck::roundtrip, "roundtrip"},
      std::pair{VerifyCheck::bf16, "bf16"}};
};

/// Of the largest |logit|, how much two ways of computing the same may differ. Orders of summation
/// differ by some 1e-6 in float32, whose numbers have 24 bits, and by some 1e-2 in bfloat16, whose
/// have 8; a wrong position, key or neighbour shows far above.
constexpr double kFloat32Tolerance = 1e-4, kBfloat16Tolerance = 5e-2;
/// The largest drift in bfloat16: the root mean square of what logits change by, over that of their
/// distances from the mean of their row (which softmax takes away). A rounding to 8 bits is wrong
/// by up to 2^-9, and the some 200 writes into the residual stream of 100 blocks add up to
/// sqrt(200) 2^-9 = 0.03; logits that are far from 0 and near each other lose more when they are
/// rounded themselves.
constexpr double kBfloat16Drift = 0.25;

struct VerifyOptions {
  std::vector<VerifyCheck> checks = {};  ///< none: all
  std::optional<double> tolerance = {};  ///< in place of kFloat32Tolerance; not of the drift
  uint64_t seed = 1337;                  ///< of the random inputs
  std::function<void(VerifyCheck)> on_start = {};  ///< called before each check
};

enum class VerifyOutcome { passed, failed, not_applicable };
template <>
struct EnumNames<VerifyOutcome> {
  static constexpr std::array values{std::pair{VerifyOutcome::passed, "pass"},
                                     std::pair{VerifyOutcome::failed, "FAIL"},
                                     std::pair{VerifyOutcome::not_applicable, "not applicable"}};
};

/// One comparison; a check makes one or several.
struct VerifyResult {
  VerifyCheck check;
  std::string compared;  ///< "a token at a time against one pass"
  VerifyOutcome outcome = VerifyOutcome::passed;
  /// The largest difference of two logits (of a model without a head: of two vectors' numbers), or
  /// the drift; NaN if one of them is not finite. Unset where something else than numbers is
  /// compared, or nothing.
  std::optional<double> deviation = {};
  double scale = 0;       ///< the largest |logit|, or 1 for the drift
  double tolerance = 0;   ///< the largest deviation that passes
  std::string note = {};  ///< where it failed, or why it is not applicable; may be empty
};

/// Runs the checks on random inputs of its own, in evaluation mode, on the device and in the dtype
/// of the model, which is the same afterwards. What a check throws (but for a lack of memory) is
/// its failure.
///
///   finite     no NaN and no infinity in parameters and logits
///   repeat     the same pass twice
///   cache      a token at a time and several at once, with what was remembered, against one pass
///   batch      rows alone, beside others of their length and of other lengths; states reordered
///   padding    random ids in the padding against others
///   stream     greedy decoding, streamed, against one pass over what it wrote, and its text
///   threads    one thread against all
///   roundtrip  saved and loaded again: parameters bit for bit, logits, tokenizer, config, options
///              (writes a copy of the checkpoint into the system's temporary folder)
///   bf16       the drift in bfloat16, see kBfloat16Drift
///
/// @throws ConfigError if the model has none of the contracts
std::vector<VerifyResult> verify(const LoadedModel& loaded, const VerifyOptions& options = {});

}  // namespace zoo
