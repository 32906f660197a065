// Rules of ai.onnx.ml (learning_*.cc): all but tree ensembles are few operators of ai.onnx. Each
// changes the node in place.
//
// Attributes, names and formulas are those of the operators in ONNX's ai.onnx.ml specification.
// Errors: as normalize.h. Labels are strings or i64, scores f32 unless stated otherwise.
#pragma once

#include <string>
#include <vector>

#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"

namespace parallax {

Status rewrite_array_feature_extractor(FileNode& file);
Status rewrite_binarizer(FileNode& file);
Status rewrite_feature_vectorizer(FileNode& file);
Status rewrite_imputer(FileNode& file);
Status rewrite_linear_classifier(FileNode& file);
Status rewrite_linear_regressor(FileNode& file);
Status rewrite_normalizer(FileNode& file);
Status rewrite_one_hot_encoder(FileNode& file);
Status rewrite_scaler(FileNode& file);
Status rewrite_svm_regressor(FileNode& file);
Status rewrite_tree_ensemble(FileNode& file);
Status rewrite_tree_ensemble_classifier(FileNode& file);
Status rewrite_tree_ensemble_regressor(FileNode& file);

/// A constant of those elements and dimensions. REQUIRES: as many as the dimensions say. The
/// constant is f32.
ValueId float_list(Rewriting& to, const std::vector<float>& elements, const Dims& dims);
/// Input 0 as [rows, features] of f32; f64 stays where `keep_double`. An input of rank 1 becomes
/// one row.
ValueId feature_rows(Rewriting& to, bool keep_double = false);
/// Scores [rows, classes] behind the transform of that name. NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO
/// or PROBIT; others fail with kInvalidModel. SOFTMAX_ZERO keeps scores of 0. PROBIT uses
/// Winitzki's approximation of the inverse error function.
ValueId transformed_scores(Rewriting& to, ValueId scores, const std::string& transform);

/// Labels of classes; one of the lists is empty.
struct ClassLabels {
  std::vector<std::int64_t> integers;
  std::vector<std::string> strings;
  std::int64_t count() const { return std::ssize(integers) + std::ssize(strings); }
};

/// How the single score of a classifier of two classes is read.
struct BinaryScore {
  double threshold = 0;     ///< above it the second class wins
  bool complement = false;  ///< the first class has 1 - score, else -score
};
/// Output 0: labels of the classes with the highest of the `classes` scores; output 1: the scores.
/// `scores` is [rows, classes]. With one score, class 1 wins above BinaryScore::threshold, and
/// output 1 has two columns. Fails with kInvalidModel if classes > 1 and labels differ in number.
/// Without exactly two labels the labels of a single score are 0 and 1.
void write_classes(Rewriting& to, ValueId scores, std::int64_t classes, const ClassLabels& labels,
                   const std::string& transform, const BinaryScore& binary);
/// Reads the labels; refuses an empty list, and both kinds together. `integers`: the attribute that
/// has such labels. `integers` is "classlabels_ints", or "classlabels_int64s" for tree ensembles;
/// strings come from "classlabels_strings". Fails with kInvalidModel.
ClassLabels take_labels(Rewriting& to, const char* integers);

}  // namespace parallax
