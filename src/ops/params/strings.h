// Attributes of operators on tensors of strings: UTF-8, but any bytes are accepted. Kernels in
// kernels/objects read patterns and vocabularies; StringConcat has no attributes.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Letters stay, or become small or capital ones.
enum class CaseChange : std::uint8_t { kNone, kLower, kUpper };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<CaseChange> = {"NONE", "LOWER", "UPPER"};

/// StringNormalizer (since operator set 10): strings [C] or [1, C] without those in `stopwords`,
/// and in one case. If all are left out, one empty string stays.
struct StringNormalizerParams {
  /// ONNX `case_change_action`: the case of the strings that stay. Another string is refused with
  /// kUnsupported.
  CaseChange case_change_action = CaseChange::kNone;
  /// ONNX `is_case_sensitive`: in the comparison with `stopwords`; otherwise small letters of both
  /// are compared.
  bool is_case_sensitive = false;
  /// ONNX `locale`. Ignored: letters are those of Unicode, or of ASCII on a system without the C
  /// library's UTF-8 locale.
  std::string locale;
  /// ONNX `stopwords`: whole strings that are left out.
  std::vector<std::string> stopwords;

  template <class Visitor>
  void visit(Visitor& v) {
    v("case_change_action", case_change_action);
    v("is_case_sensitive", is_case_sensitive);
    v("locale", locale);
    v("stopwords", stopwords);
  }
};

/// StringSplit (since operator set 20): each string becomes a row of parts, filled with empty
/// strings up to the longest; output 1 is the number of parts (i64).
struct StringSplitParams {
  /// ONNX `delimiter` between two parts. Empty: runs of white space, and no part is empty.
  std::string delimiter;
  /// ONNX `maxsplit`: the most cuts of one string, not negative (kInvalidModel); the last part has
  /// the rest. Absent: no limit.
  std::optional<std::int64_t> maxsplit;

  template <class Visitor>
  void visit(Visitor& v) {
    v("delimiter", delimiter);
    v("maxsplit", maxsplit);
  }
};

/// RegexFullMatch (since operator set 20): whether the whole string matches.
struct RegexFullMatchParams {
  /// ONNX `pattern`, in the syntax of RE2. Inference refuses nodes without one (kInvalidModel).
  std::optional<std::string> pattern;

  template <class Visitor>
  void visit(Visitor& v) {
    v("pattern", pattern);
  }
};

/// The result for an n-gram: its count, its weight if it occurs, or the product of both.
enum class NGramMode : std::uint8_t { kTf, kIdf, kTfIdf };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<NGramMode> = {"TF", "IDF", "TFIDF"};

/// TfIdfVectorizer (since operator set 9): words, strings or integers (i32, i64), [C] or [N, C],
/// become f32 [.., greatest index + 1], a number for each n-gram of the pool. Inference checks pool
/// and indexes; the kernel checks the rest when it runs (kInvalidModel).
struct TfIdfVectorizerParams {
  /// ONNX `max_gram_length` and `min_gram_length`: words of the n-grams that are counted, 1 <= min
  /// <= max. ONNX `max_skip_count`: with s skips, from 0 to this number, a word stands s + 1 places
  /// behind the one before.
  std::int64_t max_gram_length = 1, max_skip_count = 0, min_gram_length = 1;
  /// ONNX `mode`. Another string is refused with kUnsupported.
  NGramMode mode = NGramMode::kTf;
  /// ONNX `ngram_counts`: where the 1-grams, 2-grams, .. begin in the pool, in words; ascending. At
  /// least as many as min_gram_length.
  std::vector<std::int64_t> ngram_counts;
  /// ONNX `ngram_indexes`: position of each n-gram's result, in the order of the pool; from 0 on,
  /// at least one.
  std::vector<std::int64_t> ngram_indexes;
  /// ONNX `pool_int64s` and `pool_strings`: words of all n-grams, one after the other. Exactly one
  /// is given, of the input's kind; otherwise kInvalidModel.
  std::optional<std::vector<std::int64_t>> pool_int64s;
  std::optional<std::vector<std::string>> pool_strings;
  /// ONNX `weights`: one for each n-gram. Empty: 1. kTf does not read them.
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
