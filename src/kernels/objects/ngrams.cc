// TfIdfVectorizer. Words (numbers or strings) are mapped to small integers first. The n-grams of
// the pool form a tree of these, in which a match is followed from every position of the input.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/objects/kernels.h"
#include "ops/params/strings.h"

namespace parallax {
namespace {

tl::unexpected<Error> bad_pool(const ObjectCall& call, std::string message) {
  return tl::unexpected(object_error(call, ErrorCode::kInvalidModel, std::move(message)));
}

/// Assigns numbers to words, in the order in which they are added.
template <class Word>
class Vocabulary {
 public:
  std::int64_t add(const Word& word) {
    return words_.try_emplace(word, std::ssize(words_)).first->second;
  }
  std::int64_t find(const Word& word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? -1 : found->second;
  }

 private:
  std::map<Word, std::int64_t> words_;
};

/// The pool and the input as numbers; -1 for words that the pool lacks.
struct Words {
  std::vector<std::int64_t> pool, input;
};

template <class Word, class List>
Words numbered(const std::vector<Word>& pool, const List& input) {
  Vocabulary<Word> vocabulary;
  Words words;
  for (const Word& word : pool) words.pool.push_back(vocabulary.add(word));
  for (const Word& word : input) words.input.push_back(vocabulary.find(word));
  return words;
}

Result<Words> words_of(const ObjectCall& call, const TfIdfVectorizerParams& params) {
  const Object& input = *call.input(0);
  if (input.dtype() == DType::kString)
    return numbered(params.pool_strings.value_or(std::vector<std::string>()), input.strings());
  PX_ASSIGN(const auto numbers, integers_of(call, input));
  return numbered(params.pool_int64s.value_or(std::vector<std::int64_t>()), numbers);
}

/// A tree of n-grams: an edge for each word from each beginning.
class NGrams {
 public:
  /// Returns the child that `word` leads to, -1 if it leads to no child.
  std::int64_t next(std::int64_t node, std::int64_t word) const {
    const auto found = edges_.find({node, word});
    return found == edges_.end() ? -1 : found->second;
  }
  /// Index of the n-gram that ends at this node; -1: none does.
  std::int64_t ends(std::int64_t node) const { return ends_[static_cast<std::size_t>(node)]; }

  void add(std::span<const std::int64_t> words, std::int64_t number) {
    std::int64_t node = 0;
    for (const std::int64_t word : words) {
      const auto [edge, added] = edges_.try_emplace({node, word}, std::ssize(ends_));
      if (added) ends_.push_back(-1);
      node = edge->second;
    }
    ends_[static_cast<std::size_t>(node)] = number;
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> edges_;
  std::vector<std::int64_t> ends_ = {-1};
};

struct NGramRange {
  std::int64_t shortest = 1, longest = 1, skips = 0;
};

Result<NGramRange> range_of(const ObjectCall& call, const TfIdfVectorizerParams& params) {
  const NGramRange range{params.min_gram_length, params.max_gram_length, params.max_skip_count};
  if (range.shortest >= 1 && range.longest >= range.shortest && range.skips >= 0 &&
      range.skips < std::numeric_limits<std::int32_t>::max())
    return range;
  return bad_pool(call, "invalid lengths or skips of n-grams");
}

/// The pool has all 1-grams, all 2-grams, ...: `ngram_counts` says where each kind begins.
Result<NGrams> read_pool(const ObjectCall& call, std::span<const std::int64_t> pool,
                         const NGramRange& range, const TfIdfVectorizerParams& params) {
  const auto& begins = params.ngram_counts;
  const std::int64_t size = std::ssize(pool);
  if (begins.empty() || std::ssize(begins) < range.shortest)
    return bad_pool(call, "ngram_counts lacks requested lengths");
  NGrams grams;
  std::int64_t number = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : size;
    const auto length = static_cast<std::int64_t>(i + 1);
    if (begin < 0 || begin > end || end > size || (end - begin) % length != 0)
      return bad_pool(call,
                      fmt::format("no {}-grams from {} to {} of {}", length, begin, end, size));
    for (std::int64_t at = begin; at < end; at += length, ++number) {
      if (static_cast<std::size_t>(number) >= params.ngram_indexes.size())
        return bad_pool(call, "more n-grams than ngram_indexes");
      if (length < range.shortest || length > range.longest) continue;
      grams.add(pool.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length)),
                number);
    }
  }
  return grams;
}

/// Counts the n-grams of one row. With s skips a word stands s + 1 behind the one before; single
/// words have none to skip and count once.
template <class Count>
void count_row(const NGrams& grams, const NGramRange& range, std::span<const std::int64_t> row,
               Count count) {
  const std::int64_t size = std::ssize(row);
  for (std::int64_t skip = 0; skip <= range.skips && skip < std::max<std::int64_t>(size, 1);
       ++skip) {
    for (std::int64_t begin = 0; begin < size; ++begin) {
      std::int64_t node = 0, length = 0;
      for (std::int64_t at = begin; at < size && length < range.longest; at += skip + 1) {
        node = grams.next(node, row[static_cast<std::size_t>(at)]);
        if (node < 0) break;
        ++length;
        if (length == 1 && skip > 0) continue;
        if (grams.ends(node) >= 0) count(static_cast<std::size_t>(grams.ends(node)));
      }
    }
  }
}

}  // namespace

Status count_ngrams(const ObjectCall& call) {
  const auto params = params_of<TfIdfVectorizerParams>(call.node);
  const auto& indexes = params.ngram_indexes;
  const auto& weights = params.weights;
  if (!weights.empty() && weights.size() != indexes.size())
    return bad_pool(call, "weights and ngram_indexes differ in length");
  PX_ASSIGN(const NGramRange range, range_of(call, params));
  PX_ASSIGN(const Words words, words_of(call, params));
  PX_ASSIGN(const NGrams grams, read_pool(call, words.pool, range, params));

  const Dims& dims = call.input(0)->dims();
  Dims result = dims;
  const std::int64_t width = *std::ranges::max_element(indexes) + 1;
  result[result.rank() - 1] = width;
  PX_ASSIGN(Tensor tensor, take_tensor(call, DType::kF32, result));
  auto* row = tensor.mutable_view().as<float>();
  const std::int64_t rows = dims.rank() == 2 ? dims[0] : 1;
  const auto length = static_cast<std::size_t>(dims[dims.rank() - 1]);
  for (std::int64_t r = 0; r < rows; ++r, row += width) {
    const auto input = std::span(words.input).subspan(static_cast<std::size_t>(r) * length, length);
    count_row(grams, range, input, [&](std::size_t gram) {
      const float weight = params.mode == NGramMode::kTf || weights.empty() ? 1 : weights[gram];
      float& count = row[indexes[gram]];
      count = params.mode == NGramMode::kIdf ? weight : count + weight;
    });
  }
  PX_ASSIGN(call.outputs[0], counted(call, std::move(tensor)));
  return {};
}

}  // namespace parallax
