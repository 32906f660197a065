// Attributes of operators on tensors of strings.
#pragma once

#include "ops/params/params.h"

namespace parallax {

enum class CaseChange : std::uint8_t { kNone, kLower, kUpper };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<CaseChange> = {"NONE", "LOWER", "UPPER"};

struct StringNormalizerParams {
  CaseChange case_change_action = CaseChange::kNone;
  bool is_case_sensitive = false;  ///< in the comparison with `stopwords`
  std::string locale;              ///< ignored: letters are those of Unicode
  std::vector<std::string> stopwords;

  template <class Visitor>
  void visit(Visitor& v) {
    v("case_change_action", case_change_action);
    v("is_case_sensitive", is_case_sensitive);
    v("locale", locale);
    v("stopwords", stopwords);
  }
};

struct StringSplitParams {
  std::string delimiter;                 ///< empty: runs of white space
  std::optional<std::int64_t> maxsplit;  ///< absent: no limit

  template <class Visitor>
  void visit(Visitor& v) {
    v("delimiter", delimiter);
    v("maxsplit", maxsplit);
  }
};

struct RegexFullMatchParams {
  std::optional<std::string> pattern;  ///< inference refuses nodes without

  template <class Visitor>
  void visit(Visitor& v) {
    v("pattern", pattern);
  }
};

/// The result for an n-gram: its count, its weight if it occurs, or the product of both.
enum class NGramMode : std::uint8_t { kTf, kIdf, kTfIdf };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<NGramMode> = {"TF", "IDF", "TFIDF"};

struct TfIdfVectorizerParams {
  std::int64_t max_gram_length = 1, max_skip_count = 0, min_gram_length = 1;
  NGramMode mode = NGramMode::kTf;
  std::vector<std::int64_t> ngram_counts;   ///< begin in the pool of the 1-grams, 2-grams, ...
  std::vector<std::int64_t> ngram_indexes;  ///< position of each n-gram's result
  std::optional<std::vector<std::int64_t>> pool_int64s;
  std::optional<std::vector<std::string>> pool_strings;
  std::vector<float> weights;

  template <class Visitor>
  void visit(Visitor& v) {
    v("max_gram_length", max_gram_length);
    v("max_skip_count", max_skip_count);
    v("min_gram_length", min_gram_length);
    v("mode", mode);
    v("ngram_counts", ngram_counts);
    v("ngram_indexes", ngram_indexes);
    v("pool_int64s", pool_int64s);
    v("pool_strings", pool_strings);
    v("weights", weights);
  }
};

}  // namespace parallax
