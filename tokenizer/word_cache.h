#pragma once
// The ids of words that have been seen before: words come again, and cutting one up costs much more
// than looking it up.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo {

/// Hash of text by which a map of std::string is searched without making one.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// A pool of caches. Who encodes borrows one, so that threads do not wait for each other.
class WordCaches {
  using Words = TextMap<std::vector<int32_t>>;

 public:
  class Borrowed {
   public:
    explicit Borrowed(WordCaches& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      if (owner_.idle_.empty()) {
        words_ = std::make_unique<Words>();
      } else {
        words_ = std::move(owner_.idle_.back());
        owner_.idle_.pop_back();
      }
    }
    ~Borrowed() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.idle_.push_back(std::move(words_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    /// Appends the ids of `word` to `ids`; cut_up(word) makes them when they are not known.
    template <class CutUp>
    void append(std::string_view word, CutUp&& cut_up, std::vector<int64_t>& ids) {
      const auto add = [&](const std::vector<int32_t>& found) {
        ids.insert(ids.end(), found.begin(), found.end());
      };
      if (word.size() > kMaxBytes) return add(cut_up(word));
      auto entry = words_->find(word);
      if (entry == words_->end()) {
        std::vector<int32_t> found = cut_up(word);
        if (words_->size() == kMaxWords) words_->clear();
        entry = words_->emplace(word, std::move(found)).first;
      }
      add(entry->second);
    }

   private:
    WordCaches& owner_;
    std::unique_ptr<Words> words_;
  };

 private:
  // Long words are rare and seldom come again; with these bounds a cache stays below some 10 MB.
  static constexpr size_t kMaxBytes = 64;
  static constexpr size_t kMaxWords = 1 << 16;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Words>> idle_;
};

}  // namespace zoo
