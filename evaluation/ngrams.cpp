#include "evaluation/ngrams.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace zoo {

namespace {

/// Mixes all bits of a key into the lower ones (the finalizer of SplitMix64; Steele et al. 2014).
uint64_t mixed(uint64_t key) {
  key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9;
  key = (key ^ key >> 27) * 0x94D049BB133111EB;
  return key ^ key >> 31;
}

uint64_t key_of(uint32_t parent, uint32_t symbol) { return uint64_t{parent} << 32 | symbol; }

uint32_t hash_of(std::string_view word) {
  return static_cast<uint32_t>(std::hash<std::string_view>{}(word));
}

}  // namespace

size_t WordNumbers::place_of(std::string_view word, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t place = hash & mask;
  while (slots_[place].line == line_ &&
         (slots_[place].hash != hash || words_[slots_[place].number] != word))
    place = (place + 1) & mask;
  return place;
}

uint32_t WordNumbers::add(std::string_view word) {
  const uint32_t hash = hash_of(word);
  Slot& slot = slots_[place_of(word, hash)];
  if (slot.line == line_) return slot.number;
  const auto number = static_cast<uint32_t>(words_.size());
  slot = {line_, hash, number};
  words_.push_back(word);
  if (2 * words_.size() > slots_.size()) grow();
  return number;
}

uint32_t WordNumbers::find(std::string_view word) const {
  const Slot& slot = slots_[place_of(word, hash_of(word))];
  return slot.line == line_ ? slot.number : kUnknown;
}

void WordNumbers::grow() {
  slots_.assign(2 * slots_.size(), Slot{});
  for (size_t i = 0; i < words_.size(); ++i) {
    const uint32_t hash = hash_of(words_[i]);
    slots_[place_of(words_[i], hash)] = {line_, hash, static_cast<uint32_t>(i)};
  }
}

NgramMatcher::Slot& NgramMatcher::slot_of(uint32_t parent, uint32_t symbol) {
  const uint64_t key = key_of(parent, symbol);
  uint64_t place = mixed(key) & mask_;
  while (slots_[place].hypothesis == hypothesis_ && slots_[place].key != key)
    place = (place + 1) & mask_;
  return slots_[place];
}

void NgramMatcher::set_hypothesis(std::span<const uint32_t> symbols) {
  const size_t needed = std::bit_ceil(2 * max_order_ * symbols.size() + 1);
  if (slots_.size() < needed) slots_.assign(needed, Slot{});
  mask_ = needed - 1;  // a short line stays in a small part of the table, and in the cache
  ++hypothesis_;
  nodes_.assign(1, Node{});
  for (size_t start = 0; start < symbols.size(); ++start) {
    uint32_t node = kRoot;
    for (const uint32_t symbol :
         symbols.subspan(start, std::min(max_order_, symbols.size() - start))) {
      Slot& slot = slot_of(node, symbol);
      if (slot.hypothesis != hypothesis_) {
        slot = {key_of(node, symbol), hypothesis_, static_cast<uint32_t>(nodes_.size())};
        nodes_.emplace_back();
      }
      node = slot.node;
      ++nodes_[node].in_hypothesis;
    }
  }
  forget_references();
}

void NgramMatcher::match(std::span<const uint32_t> reference, std::span<double> matches) {
  ++reference_;
  for (size_t start = 0; start < reference.size(); ++start) {
    uint32_t number = kRoot;
    const size_t longest = std::min(max_order_, reference.size() - start);
    for (size_t n = 0; n < longest; ++n) {
      const Slot& slot = slot_of(number, reference[start + n]);
      if (slot.hypothesis != hypothesis_) break;  // then no longer one is there either
      number = slot.node;
      Node& node = nodes_[number];
      if (node.reference != reference_) {
        if (node.reference < first_of_group_) node.matched = 0;
        node.reference = reference_;
        node.in_reference = 0;
      }
      if (++node.in_reference > node.matched && node.in_reference <= node.in_hypothesis) {
        ++node.matched;
        matches[n] += 1;
      }
    }
  }
}

}  // namespace zoo
