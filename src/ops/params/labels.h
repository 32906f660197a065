// Attributes of the operators of ai.onnx.ml on categories and maps: what is looked up lies in
// attributes. Inference is in ops/labels.cc, kernels are in kernels/objects. The operators run on
// objects, never on delegates. Floats compare by value, NaN as equal to itself. If a key or
// category occurs twice, its last entry counts; in the vocabulary of DictVectorizer the first.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// A list that an operator has in one of several types, each with an attribute of its own.
/// Inference checks that exactly one member is set, otherwise kInvalidModel. Operators visit only
/// the members that they have.
struct OneOfLists {
  /// A list of f32, i64 or strings, or a tensor, whose elements count in row-major order; its dtype
  /// is that of the list.
  std::optional<std::vector<float>> floats;
  std::optional<std::vector<std::int64_t>> int64s;
  std::optional<std::vector<std::string>> strings;
  std::optional<Constant> tensor;
};

/// LabelEncoder (of ai.onnx.ml): element i of `keys` becomes element i of `values`; the shape
/// stays. Keys have the type of the input, f32, f64, i16, i32, i64 or string; values may have
/// another of these. Both lists have one length.
struct LabelEncoderParams {
  /// ONNX `default_float`, `default_int64` and `default_string`: the result for elements that are
  /// no keys; that of the values' type counts, and `default_float` for f64 too. The standard's
  /// default is -0.0.
  float default_float = -0.0F;
  std::int64_t default_int64 = -1;
  std::string default_string = "_Unused";
  /// ONNX `default_tensor`: replaces these. One element of the values' type, otherwise
  /// kInvalidModel.
  std::optional<Constant> default_tensor;
  /// ONNX `keys_floats`, `keys_int64s`, `keys_strings` or `keys_tensor`, and the same for values.
  OneOfLists keys, values;

  template <class Visitor>
  void visit(Visitor& v) {
    v("default_float", default_float);
    v("default_int64", default_int64);
    v("default_string", default_string);
    v("default_tensor", default_tensor);
    v("keys_floats", keys.floats);
    v("keys_int64s", keys.int64s);
    v("keys_strings", keys.strings);
    v("keys_tensor", keys.tensor);
    v("values_floats", values.floats);
    v("values_int64s", values.int64s);
    v("values_strings", values.strings);
    v("values_tensor", values.tensor);
  }
};

/// CategoryMapper: strings become the numbers (i64) at the same place in the lists, or numbers the
/// strings, after the type of the input. Both lists have one length, otherwise kInvalidModel.
struct CategoryMapperParams {
  /// ONNX `cats_int64s` and `cats_strings`: entry i of one stands for entry i of the other.
  std::vector<std::int64_t> cats_int64s;
  std::vector<std::string> cats_strings;
  /// ONNX `default_int64` and `default_string`: the results for elements in no category.
  std::int64_t default_int64 = -1;
  std::string default_string = "_Unused";

  template <class Visitor>
  void visit(Visitor& v) {
    v("cats_int64s", cats_int64s);
    v("cats_strings", cats_strings);
    v("default_int64", default_int64);
    v("default_string", default_string);
  }
};

/// OneHotEncoder: an axis is added behind the last, as long as the categories, with 1 (f32) at the
/// element's category and 0 elsewhere.
struct OneHotEncoderParams {
  /// ONNX `cats_int64s` or `cats_strings`. With strings the input has strings; with integers
  /// numbers, which lose their fraction before they are compared.
  OneOfLists cats;
  /// ONNX `zeros`: an element in no category becomes zeros instead of an error (kInvalidInput
  /// during the run).
  bool zeros = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("cats_int64s", cats.int64s);
    v("cats_strings", cats.strings);
    v("zeros", zeros);
  }
};

/// ZipMap: each row of an f32 tensor [n, C] or [C] becomes a map from labels to its C values; the
/// result is a sequence of maps.
struct ZipMapParams {
  /// ONNX `classlabels_int64s` or `classlabels_strings`: the C keys of every map, and their type.
  OneOfLists classlabels;

  template <class Visitor>
  void visit(Visitor& v) {
    v("classlabels_int64s", classlabels.int64s);
    v("classlabels_strings", classlabels.strings);
  }
};

/// DictVectorizer: a map becomes a tensor [1, length of the vocabulary] with each value at the
/// place of its key, zeros (or empty strings) elsewhere. A key that the vocabulary lacks is
/// kInvalidInput during the run.
struct DictVectorizerParams {
  /// ONNX `int64_vocabulary` or `string_vocabulary`; its type must be that of the map's keys,
  /// otherwise kInvalidModel.
  OneOfLists vocabulary;

  template <class Visitor>
  void visit(Visitor& v) {
    v("int64_vocabulary", vocabulary.int64s);
    v("string_vocabulary", vocabulary.strings);
  }
};

/// The element type of CastMap's result: f32, string or i64. Floats that become integers lose their
/// fraction and stop at the ends of i64; NaN becomes 0.
enum class MapCast : std::uint8_t { kFloat, kString, kInt64 };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<MapCast> = {"TO_FLOAT", "TO_STRING",
                                                                      "TO_INT64"};

/// kDense has the values in the order of their keys, kSparse each at the position that is its key,
/// zeros elsewhere.
enum class MapForm : std::uint8_t { kDense, kSparse };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<MapForm> = {"DENSE", "SPARSE"};

/// CastMap: a map with integer keys becomes a tensor [1, length].
struct CastMapParams {
  /// ONNX `cast_to`: the type of the result. Another string is refused with kUnsupported.
  MapCast cast_to = MapCast::kFloat;
  /// ONNX `map_form`: the order of values. The length of kDense is known only during a run.
  MapForm map_form = MapForm::kDense;
  /// ONNX `max_map`: length of the result of kSparse, not negative. A key outside [0, max_map) is
  /// kOutOfRange during the run. kDense does not read it.
  std::int64_t max_map = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("cast_to", cast_to);
    v("map_form", map_form);
    v("max_map", max_map);
  }
};

}  // namespace parallax
