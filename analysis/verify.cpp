#include "analysis/verify.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "analysis/subject.h"
#include "analysis/with_threads.h"
#include "checkpoint/generation_config.h"
#include "core/config.h"
#include "core/scratch.h"
#include "decoding/context.h"

namespace zoo {

namespace {

/// Texts for a tokenizer's round trip: ASCII, white space, other scripts, a character of four
/// bytes.
constexpr std::string_view kTexts[] = {"The old books, 1984!",
                                       "  two  blanks\n\tand a tab\r\n",
                                       "naïve façade – Straße",
                                       "日本語のテキスト",
                                       "Привет, мир",
                                       "🙂 <|endoftext|> [MASK] </s>",
                                       "a"};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool is_finite(const Tensor& tensor) { return tensor.isfinite().all().item<bool>(); }

/// Equal bit for bit, NaN included.
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         torch::equal(a.contiguous().view(torch::kUInt8), b.contiguous().view(torch::kUInt8));
}

/// A module's weights in bfloat16 while this lives. The others are kept and not copied.
class InBfloat16 {
 public:
  explicit InBfloat16(const torch::nn::Module& module) : tensors_(module.parameters()) {
    for (const Tensor& buffer : module.buffers()) tensors_.push_back(buffer);
    for (Tensor& tensor : tensors_) {
      before_.push_back(tensor.detach());
      if (tensor.is_floating_point()) tensor.set_data(tensor.detach().to(torch::kBFloat16));
    }
  }
  ~InBfloat16() {
    for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].set_data(before_[i]);
  }
  InBfloat16(const InBfloat16&) = delete;
  InBfloat16& operator=(const InBfloat16&) = delete;

 private:
  std::vector<Tensor> tensors_, before_;
};

class Verification {
 public:
  Verification(const LoadedModel& loaded, const VerifyOptions& options)
      : loaded_(loaded),
        options_(options),
        model_(*loaded.model),
        subject_(subject_of(*loaded.model)),
        device_(device_of(model_)),
        dtype_(dtype_of(model_)),
        tolerance_(options.tolerance.value_or(dtype_ == torch::kFloat32 ? kFloat32Tolerance
                                                                        : kBfloat16Tolerance)) {}

  std::vector<VerifyResult> run() {
    for (const auto& [check, name] : EnumNames<VerifyCheck>::values) {
      const auto& wanted = options_.checks;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), check) == wanted.end())
        continue;
      if (options_.on_start) options_.on_start(check);
      check_ = check;
      run_check();
    }
    return std::move(results_);
  }

 private:
  void run_check() {
    switch (check_) {
      case VerifyCheck::finite:
        return finite();
      case VerifyCheck::repeat:
        return repeat();
      case VerifyCheck::cache:
        return cache();
      case VerifyCheck::batch:
        return batch();
      case VerifyCheck::padding:
        return padding();
      case VerifyCheck::stream:
        return stream();
      case VerifyCheck::threads:
        return threads();
      case VerifyCheck::roundtrip:
        return roundtrip();
      case VerifyCheck::bf16:
        return bf16();
    }
  }

  // ---- checks ----------------------------------------------------------------------------------

  void finite() {
    record("every parameter is a finite number", [&](VerifyResult& result) {
      for (const auto& item : model_.named_parameters())
        if (!is_finite(item.value())) return fail(result, item.key() + " holds NaN or infinity");
    });
    record("every logit is a finite number", [&](VerifyResult& result) {
      for (const Tensor& table : whole(Lengths::equal))
        if (!is_finite(table)) return fail(result, "logits hold NaN or infinity");
    });
  }

  void repeat() {
    compare("one pass, twice", [&] {
      return TwoWays{whole(Lengths::equal), subject_->together(Lengths::equal)};
    });
  }

  void cache() {
    const auto with_state = [&](Lengths lengths, int64_t chunk) {
      return TwoWays{whole(lengths), subject_->by_state(lengths, chunk)};
    };
    compare("a token at a time, against one pass", [&] { return with_state(Lengths::equal, 1); });
    compare("one token and five in turn", [&] { return with_state(Lengths::equal, 5); });
    compare("a token at a time, behind padding", [&] { return with_state(Lengths::mixed, 1); });
  }

  void batch() {
    const auto alone = [&](Lengths lengths) {
      return TwoWays{subject_->alone(lengths), whole(lengths)};
    };
    compare("rows alone, against five of one length", [&] { return alone(Lengths::equal); });
    compare("rows alone, against five of other lengths", [&] { return alone(Lengths::mixed); });
    compare("rows of a state moved and repeated", [&] { return subject_->reordered(); });
  }

  void padding() {
    compare("random ids in the padding, against others", [&] {
      return TwoWays{whole(Lengths::mixed), subject_->together(Lengths::mixed, /*padding=*/1)};
    });
  }

  void stream() {
    std::optional<Written> written;
    record("greedy tokens, against those of one pass", [&](VerifyResult& result) {
      written = subject_->write();
      const Tensor logits = written->logits;  // (N, V)
      const Tensor chosen =
          logits.gather(1, torch::tensor(written->tokens).unsqueeze(1));  // (N, 1)
      // How far the token that was written lies behind the best one: nearly equal ones may change
      // places.
      set_deviation(result, {logits}, (logits.amax(1, /*keepdim=*/true) - chosen).max());
    });
    record("text piece by piece, against all at once", [&](VerifyResult& result) {
      if (!written) written = subject_->write();
      if (!written->has_text) throw NotApplicable{"the folder holds no tokenizer"};
      if (written->streamed != written->whole)
        fail(result, cat("the pieces make \"", written->streamed, "\", the whole is \"",
                         written->whole, "\""));
    });
  }

  void threads() {
    const int threads = std::max(2, at::get_num_threads());
    compare(cat("one thread, against ", threads), [&] {
      if (!device_.is_cpu()) throw NotApplicable{"the model is on a GPU"};
      const auto with = [&](int count) {
        const WithThreads limit(count);
        return subject_->together(Lengths::equal);
      };
      return TwoWays{with(1), with(threads)};
    });
  }

  void roundtrip() {
    const ScratchFolder folder;
    LoadedModel again;
    record("parameters, saved and loaded", [&](VerifyResult& result) {
      save_model(folder.path(), model_, loaded_.config, loaded_.tokenizer.get(), loaded_.generation,
                 loaded_.project, loaded_.source_tokenizer.get());
      again = load_model(folder.path(), {.device = device_, .dtype = dtype_});
      const auto parameters = again.model->named_parameters();
      for (const auto& item : model_.named_parameters()) {
        const Tensor* other = parameters.find(item.key());
        if (other == nullptr) return fail(result, item.key() + " is missing");
        if (!same_bits(item.value(), *other)) return fail(result, item.key() + " is another");
      }
    });
    if (!again.model) return;  // it could not be loaded, which stands in the result
    // Equal weights at other addresses may be summed in another order.
    compare("logits, saved and loaded", [&] {
      return TwoWays{whole(Lengths::equal), subject_of(*again.model)->together(Lengths::equal)};
    });
    record("tokenizer, on sample texts", [&](VerifyResult& result) {
      if (!loaded_.tokenizer) throw NotApplicable{"the folder holds no tokenizer"};
      require_same_ids(result, *loaded_.tokenizer, again.tokenizer.get());
      if (loaded_.source_tokenizer != loaded_.tokenizer)
        require_same_ids(result, *loaded_.source_tokenizer, again.source_tokenizer.get());
    });
    record("config and options of generation", [&](VerifyResult& result) {
      require_same(result, config_to_json(loaded_.config), config_to_json(again.config));
      // An encoder has none.
      if (fs::exists(folder.path() / "generation_config.json"))
        require_same(result, generation_to_hf(loaded_.generation),
                     generation_to_hf(again.generation));
    });
  }

  void bf16() {
    record("drift in bfloat16, over the logits' spread", [&](VerifyResult& result) {
      if (dtype_ != torch::kFloat32) throw NotApplicable{"the weights are not in float32"};
      const Tables& exact = whole(Lengths::equal);
      Tables near;
      {
        const InBfloat16 lowered(model_);
        near = subject_->together(Lengths::equal);
      }
      double drift = 0, spread = 0;  // sums of squares
      int64_t places = 0, agreed = 0;
      for (size_t i = 0; i < exact.size(); ++i) {
        const Tensor reference = centred(exact[i]);
        spread += reference.square().sum().item<double>();
        drift += (centred(near[i]) - reference).square().sum().item<double>();
        places += reference.size(0);
        agreed += (near[i].argmax(1) == exact[i].argmax(1)).sum().item<int64_t>();
      }
      result.scale = 1;
      result.tolerance = kBfloat16Drift;
      result.deviation = drift == 0 ? 0 : std::sqrt(drift / spread);
      result.note = cat("the largest is the same at ", agreed, " of ", places, " places");
      decide(result);
    });
  }

  // ---- results ---------------------------------------------------------------------------------

  /// Adds the result that `make` fills, or what it throws.
  void record(const std::string& compared, const std::function<void(VerifyResult&)>& make) {
    VerifyResult result{.check = check_, .compared = compared};
    try {
      make(result);
    } catch (const NotApplicable& why) {
      result.outcome = VerifyOutcome::not_applicable;
      result.note = why.reason;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(result, first_line(error.what()));
    }
    results_.push_back(std::move(result));
  }

  /// The same for tables that must be equal within the tolerance.
  void compare(const std::string& compared, const std::function<TwoWays()>& read) {
    record(compared, [&](VerifyResult& result) { set_difference(result, read()); });
  }

  void set_difference(VerifyResult& result, const TwoWays& both) const {
    Tensor largest = torch::zeros({});
    for (size_t i = 0; i < both.expected.size(); ++i) {
      const Tensor difference = (both.actual[i] - both.expected[i]).abs();  // (N, C)
      const Tensor worst = difference.max();
      if (!(worst.item<double>() <= largest.item<double>())) {
        largest = worst;
        const int64_t place = difference.argmax().item<int64_t>() / difference.size(1);
        result.note = cat("largest in table ", i, ", place ", place);
      }
      if (!std::isfinite(largest.item<double>())) break;
    }
    set_deviation(result, both.expected, largest);
    if (result.outcome == VerifyOutcome::passed) result.note.clear();
  }

  /// @param deviation a number, of these tables
  void set_deviation(VerifyResult& result, const Tables& tables, const Tensor& deviation) const {
    for (const Tensor& table : tables)
      result.scale = std::max(result.scale, table.abs().max().item<double>());
    result.deviation = deviation.item<double>();
    result.tolerance = tolerance_ * result.scale;
    decide(result);
  }

  static void decide(VerifyResult& result) {
    // NaN does not pass.
    if (!(*result.deviation <= result.tolerance)) result.outcome = VerifyOutcome::failed;
  }

  static void fail(VerifyResult& result, const std::string& why) {
    result.outcome = VerifyOutcome::failed;
    result.note = why;
  }

  // ---- parts -----------------------------------------------------------------------------------

  std::unique_ptr<Subject> subject_of(torch::nn::Module& model) const {
    const int64_t begin = loaded_.special_ids.decoder_start().value_or(0);
    return make_subject(model, loaded_.tokenizer.get(), begin, options_.seed);
  }

  /// One pass over all samples, which nearly all else is compared with.
  const Tables& whole(Lengths lengths) {
    std::optional<Tables>& tables = lengths == Lengths::equal ? equal_ : mixed_;
    if (!tables) tables = subject_->together(lengths);
    return *tables;
  }

  /// Without the mean of each row, which softmax takes away. @param table (N, C)
  static Tensor centred(const Tensor& table) {
    return table.size(1) == 1 ? table : table - table.mean(1, /*keepdim=*/true);
  }

  static void require_same(VerifyResult& result, const Json& before, const Json& after) {
    for (const ConfigDifference& difference : compare_json(before, after))
      fail(result, cat(difference.path, " is ", difference.second, ", was ", difference.first));
  }

  /// The ids of a text and the text of these, or why it cannot be read.
  static std::string ids_and_text(const Tokenizer& tokenizer, std::string_view text) {
    try {
      const std::vector<int64_t> ids = tokenizer.encode(text);
      std::string both;
      for (const int64_t id : ids) both += cat(id, " ");
      return both + tokenizer.decode(ids);
    } catch (const DataError& error) {
      return error.what();
    }
  }

  static void require_same_ids(VerifyResult& result, const Tokenizer& before,
                               const Tokenizer* after) {
    if (after == nullptr) return fail(result, "the saved folder holds no tokenizer");
    for (const std::string_view text : kTexts)
      if (ids_and_text(before, text) != ids_and_text(*after, text))
        return fail(result, cat("\"", text, "\" is read in another way"));
  }

  const LoadedModel& loaded_;
  const VerifyOptions& options_;
  torch::nn::Module& model_;
  std::unique_ptr<Subject> subject_;
  torch::Device device_;
  torch::Dtype dtype_;
  double tolerance_;
  VerifyCheck check_ = {};
  std::optional<Tables> equal_, mixed_;
  std::vector<VerifyResult> results_;
};

}  // namespace

std::vector<VerifyResult> verify(const LoadedModel& loaded, const VerifyOptions& options) {
  const torch::NoGradGuard no_grad;
  const EvaluationMode evaluation(*loaded.model);
  return Verification(loaded, options).run();
}

}  // namespace zoo
