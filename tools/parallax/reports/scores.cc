#include "reports/scores.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>

#include "parallax/elements.h"

namespace parallax::cli {
namespace {

constexpr std::uintmax_t kMaxLabelBytes = 64U << 20U;

}  // namespace

std::optional<ScoreShape> score_shape(const TensorView& output) {
  const Dims& dims = output.dims;
  if (info_of(output.dtype).kind != DTypeClass::kFloat || dims.rank() == 0 || dims.elements() == 0)
    return std::nullopt;
  ScoreShape shape{dims.rank() == 1 ? 1 : dims[0], 0};
  for (int i = dims.rank() == 1 ? 0 : 1; i < dims.rank(); ++i) {
    if (dims[i] == 1) continue;
    if (shape.classes != 0) return std::nullopt;
    shape.classes = dims[i];
  }
  return shape.classes == 0 ? std::nullopt : std::optional(shape);
}

std::vector<std::size_t> top_indices(std::span<const float> scores, std::size_t most) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto better = [&](std::size_t a, std::size_t b) {
    const float x = scores[a], y = scores[b];
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) == std::isnan(y) ? a < b : !std::isnan(x);
    return x != y ? x > y : a < b;
  };
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), end, order.end(), better);
  order.erase(end, order.end());
  return order;
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    return tl::unexpected(
        Error{Stage::kFiles, code, {}, fmt::format("--labels {}: {}", path, why)});
  };
  std::error_code error;
  if (const auto size = std::filesystem::file_size(path, error); error)
    return refuse(ErrorCode::kIo, error.message());
  else if (size > kMaxLabelBytes)
    return refuse(ErrorCode::kInvalidInput, "is larger than 64 MiB");
  errno = 0;
  std::ifstream file(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(std::move(line));
  }
  if (!file.eof()) return refuse(ErrorCode::kIo, std::generic_category().message(errno));
  if (labels.empty()) return refuse(ErrorCode::kInvalidInput, "has no lines");
  return labels;
}

void print_top(const TensorView& output, const ScoreShape& shape, std::size_t most,
               const std::vector<std::string>& labels) {
  const auto classes = static_cast<std::size_t>(shape.classes);
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape.rows); ++row) {
    std::vector<float> scores(classes);
    read_elements(output.dtype, output.bytes.data(), static_cast<std::int64_t>(row) * shape.classes,
                  std::span(scores));
    for (std::size_t index : top_indices(scores, most)) {
      const std::string score = fmt::format("{:.6g}", scores[index]);
      if (labels.empty())
        fmt::print("  row {:<4} {:>6}  {}\n", row, index, score);
      else
        fmt::print("  row {:<4} {:>6}  {:<12}  {}\n", row, index, score, labels[index]);
    }
  }
}

}  // namespace parallax::cli
