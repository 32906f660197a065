// The best classes of outputs that look like scores: `run --top`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallax/tensor.h"

namespace parallax::cli {

/// Scores of `classes` classes for each of `rows` examples.
struct ScoreShape {
  std::int64_t rows = 1, classes = 0;
};
/// A float output has scores where one dimension counts classes, at least two: its only one, or the
/// one behind the first that is not 1, as in 4x1000, 1x10 and 4x1000x1x1.
std::optional<ScoreShape> score_shape(const TensorView& output);

/// Indices of the `most` largest values of `scores`, largest first, the smaller index first where
/// values are equal. NaN counts as less than any number.
std::vector<std::size_t> top_indices(std::span<const float> scores, std::size_t most);

/// The lines of a text file, one a class. Errors: kIo, kInvalidInput if it has more than a
/// million lines or 64 MiB.
Result<std::vector<std::string>> read_labels(const std::string& path);

/// Prints the `most` largest scores of each row of `output`, with the labels if there are any.
/// REQUIRES: labels is empty or has a label for each class.
void print_top(const TensorView& output, const ScoreShape& shape, std::size_t most,
               const std::vector<std::string>& labels);

}  // namespace parallax::cli
