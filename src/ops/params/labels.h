// Attributes of the operators of ai.onnx.ml on categories and maps.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// A list that an operator has in one of several types: inference checks that one member is set.
struct OneOfLists {
  std::optional<std::vector<float>> floats;
  std::optional<std::vector<std::int64_t>> int64s;
  std::optional<std::vector<std::string>> strings;
  std::optional<Constant> tensor;
};

/// Element i of `keys` becomes element i of `values`. The default for other elements is that of the
/// values' type, or `default_tensor`.
struct LabelEncoderParams {
  float default_float = -0.0F;
  std::int64_t default_int64 = -1;
  std::string default_string = "_Unused";
  std::optional<Constant> default_tensor;
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

/// Numbers become strings or strings numbers, after the type of the input.
struct CategoryMapperParams {
  std::vector<std::int64_t> cats_int64s;
  std::vector<std::string> cats_strings;
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

struct OneHotEncoderParams {
  OneOfLists cats;
  bool zeros = true;  ///< an element in no category becomes zeros instead of an error

  template <class Visitor>
  void visit(Visitor& v) {
    v("cats_int64s", cats.int64s);
    v("cats_strings", cats.strings);
    v("zeros", zeros);
  }
};

struct ZipMapParams {
  OneOfLists classlabels;

  template <class Visitor>
  void visit(Visitor& v) {
    v("classlabels_int64s", classlabels.int64s);
    v("classlabels_strings", classlabels.strings);
  }
};

struct DictVectorizerParams {
  OneOfLists vocabulary;

  template <class Visitor>
  void visit(Visitor& v) {
    v("int64_vocabulary", vocabulary.int64s);
    v("string_vocabulary", vocabulary.strings);
  }
};

enum class MapCast : std::uint8_t { kFloat, kString, kInt64 };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<MapCast> = {"TO_FLOAT", "TO_STRING",
                                                                      "TO_INT64"};

/// kDense has the values in the order of their keys, kSparse each at the position that is its key.
enum class MapForm : std::uint8_t { kDense, kSparse };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<MapForm> = {"DENSE", "SPARSE"};

struct CastMapParams {
  MapCast cast_to = MapCast::kFloat;
  MapForm map_form = MapForm::kDense;
  std::int64_t max_map = 1;  ///< length of the result of kSparse

  template <class Visitor>
  void visit(Visitor& v) {
    v("cast_to", cast_to);
    v("map_form", map_form);
    v("max_map", max_map);
  }
};

}  // namespace parallax
