// `parallax run`: one run, outputs to files or as a summary.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "inputs.h"
#include "nan.h"
#include "outputs.h"
#include "report.h"
#include "scores.h"

namespace parallax::cli {
namespace {

template <class T>
std::string summary_of(const TensorView& tensor) {
  const T* data = tensor.as<T>();
  const auto n = static_cast<std::size_t>(tensor.dims.elements());
  if (n == 0) return "no elements";
  if (const std::int64_t nans = count_nan(tensor); nans > 0)
    return fmt::format("min nan  mean nan  max nan  ({} of {} elements are NaN)", nans, n);
  const auto [low, high] = std::minmax_element(data, data + n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(data[i]);
  return fmt::format("min {:.6g}  mean {:.6g}  max {:.6g}", static_cast<double>(*low),
                     sum / static_cast<double>(n), static_cast<double>(*high));
}

std::string summary(const TensorView& tensor) {
  return dispatch<kComputedTypes>(
      tensor.dtype, [&](auto type) { return summary_of<typename decltype(type)::type>(tensor); });
}

// The best classes of each output that has scores.
Status print_scores(const Options& options, const Model& model, const std::vector<Tensor>& outputs,
                    const std::vector<std::string>& labels) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView view = outputs[i].view();
    const std::string what = fmt::format("{} {} {}", model.outputs()[i].name, to_string(view.dtype),
                                         view.dims.to_string());
    const auto shape = score_shape(view);
    if (!shape || (!labels.empty() && static_cast<std::int64_t>(labels.size()) != shape->classes)) {
      others.push_back(what);
      continue;
    }
    fmt::print("{}\n", what);
    print_top(view, *shape, static_cast<std::size_t>(options.top), labels);
  }
  if (others.size() < outputs.size()) return {};
  const std::string wanted =
      labels.empty() ? "ROWSxCLASSES" : fmt::format("ROWSx{}", labels.size());
  return tl::unexpected(Error{Stage::kIo,
                              ErrorCode::kInvalidInput,
                              {},
                              fmt::format("--top: no output has scores, float32 {}; there is {}",
                                          wanted, fmt::join(others, ", "))});
}

}  // namespace

Status run_command(const Options& options) {
  const std::filesystem::path folder = options.output_dir;
  if (!folder.empty()) {
    if (auto status = make_output_folder(folder); !status) return status;
  }
  std::vector<std::string> labels;
  if (!options.labels.empty()) {
    auto lines = read_labels(options.labels);
    if (!lines) return tl::unexpected(lines.error());
    labels = *std::move(lines);
  }
  auto opened = open_model(options);
  if (!opened) return tl::unexpected(opened.error());
  const Model& model = opened->model;
  auto inputs = make_inputs(options, model, opened->session, opened->values);
  if (!inputs) return tl::unexpected(inputs.error());
  auto outputs = opened->session.run(inputs->views());
  if (!outputs) return tl::unexpected(outputs.error());

  if (options.top > 0) {
    if (auto status = print_scores(options, model, *outputs, labels); !status) return status;
  }
  if (!folder.empty()) return write_outputs(folder, model, *outputs);
  if (options.top > 0) return {};
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const TensorView view = (*outputs)[i].view();
    fmt::print("{}  {} {}  {}\n", model.outputs()[i].name, to_string(view.dtype),
               view.dims.to_string(), summary(view));
  }
  return {};
}

}  // namespace parallax::cli
