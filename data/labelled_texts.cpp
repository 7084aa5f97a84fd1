#include "data/labelled_texts.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "data/line_place.h"

namespace zoo {

namespace {

/// Calls use(columns) for each line with text, and blank() for each other.
void for_each_labelled_line(const fs::path& file,
                            const std::function<void(const std::vector<std::string>&)>& use,
                            const std::function<void()>& blank) {
  const MappedFile mapped(file);
  int64_t number = 0;
  for_each_line(mapped.text(), [&](std::string_view line) {
    ++number;
    if (is_blank(line)) return blank();
    const std::vector<std::string> columns = split(line, '\t');
    with_place(utf8(file), number, [&] {
      if (columns.size() != 2 && columns.size() != 3)
        throw DataError(cat("expected \"label<TAB>text\" or \"label<TAB>text<TAB>text\", found ",
                            columns.size() - 1, " tabs"));
      if (is_blank(columns[0])) throw DataError("the label before the tab is blank");
      is_blank(columns[1]) ? blank() : use(columns);
    });
  });
}

/// Calls use(words, tags) for each sentence.
void for_each_tagged_sentence(
    const fs::path& file, const std::function<void(const std::vector<std::string>& words,
                                                   const std::vector<std::string>& tags)>& use) {
  const MappedFile mapped(file);
  int64_t number = 0;
  std::vector<std::string> words, tags;
  const auto end = [&] {
    if (!words.empty()) with_place(utf8(file), number, [&] { use(words, tags); });
    words.clear();
    tags.clear();
  };
  for_each_line(mapped.text(), [&](std::string_view line) {
    ++number;
    if (is_blank(line)) return end();
    const std::string_view text = trim(line);
    const size_t first = text.find_first_of(" \t"), last = text.find_last_of(" \t");
    if (first == std::string_view::npos)
      throw DataError(cat(utf8(file), ":", number,
                          ": expected a word and its tag, separated by a tab or a blank, found "
                          "only \"",
                          text, "\""));
    words.emplace_back(text.substr(0, first));
    tags.emplace_back(text.substr(last + 1));
  });
  end();
}

bool is_integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<std::string> labels_in(const std::vector<fs::path>& files, LabelUnit unit) {
  std::set<std::string> found;
  for (const fs::path& file : files) {
    if (unit == LabelUnit::text)
      for_each_labelled_line(
          file, [&](const std::vector<std::string>& columns) { found.insert(columns[0]); }, [] {});
    else
      for_each_tagged_sentence(file, [&](const auto&, const std::vector<std::string>& tags) {
        found.insert(tags.begin(), tags.end());
      });
  }
  std::vector<std::string> labels(found.begin(), found.end());
  if (std::all_of(labels.begin(), labels.end(), is_integer))
    std::stable_sort(labels.begin(), labels.end(), [](const std::string& a, const std::string& b) {
      return std::stoll(a) < std::stoll(b);
    });
  return labels;
}

EncodedWords encode_words(const std::vector<std::string>& words, const TextEncoding& encoding) {
  std::vector<int64_t> ids;
  EncodedWords encoded;
  for (const std::string& word : words) {
    const std::vector<int64_t> pieces = encoding.tokenizer().encode(word);
    if (pieces.empty() || std::ssize(ids) + std::ssize(pieces) > encoding.room(1)) break;
    encoded.places.push_back(std::ssize(ids) + 1);  // behind [CLS]
    ids.insert(ids.end(), pieces.begin(), pieces.end());
  }
  encoded.text = encoding.frame(std::move(ids));
  return encoded;
}

LabelledTexts read_labelled_texts(const std::vector<fs::path>& files, LabelUnit unit,
                                  const std::vector<std::string>& labels,
                                  const TextEncoding& encoding) {
  std::map<std::string, int64_t> numbers;
  for (const std::string& label : labels)
    numbers.emplace(label, static_cast<int64_t>(numbers.size()));
  const auto number_of = [&](const std::string& label) {
    const auto found = numbers.find(label);
    if (found == numbers.end())
      throw DataError(
          cat("the label \"", label, "\" is none of the model's ", labels.size(), ": ",
              join({labels.begin(), labels.begin() + std::min<size_t>(labels.size(), 20)}, ", ")));
    return found->second;
  };
  LabelledTexts read;
  const auto read_text = [&](const std::vector<std::string>& columns) {
    std::optional<std::string_view> second;
    if (columns.size() == 3) second = columns[2];
    LabelledText example{encoding.encode(columns[1], second), {number_of(columns[0])}};
    read.cut += example.text.cut;
    read.texts.push_back(std::move(example));
  };
  const auto read_sentence = [&](const std::vector<std::string>& words,
                                 const std::vector<std::string>& tags) {
    EncodedWords encoded = encode_words(words, encoding);
    read.cut += encoded.places.size() < words.size();
    if (encoded.places.empty()) {
      ++read.blank;
      return;
    }
    LabelledText example{std::move(encoded.text), {}};
    example.labels.assign(example.text.ids.size(), kNoLabel);
    for (size_t word = 0; word < encoded.places.size(); ++word)
      example.labels[encoded.places[word]] = number_of(tags[word]);
    read.texts.push_back(std::move(example));
  };
  for (const fs::path& file : files) {
    if (unit == LabelUnit::text)
      for_each_labelled_line(file, read_text, [&] { ++read.blank; });
    else
      for_each_tagged_sentence(file, read_sentence);
  }
  if (read.texts.empty())
    throw DataError(cat(
        files.empty() ? "the data" : utf8(files[0]), ": holds no labelled text; expected ",
        unit == LabelUnit::text ? "\"label<TAB>text\" a line"
                                : "a word and its tag a line, sentences separated by blank lines"));
  return read;
}

}  // namespace zoo
