// `parallax run`: one run or several, outputs to files or as a summary.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "files/pb_objects.h"
#include "inputs/inputs.h"
#include "inputs/state.h"
#include "nan.h"
#include "outputs.h"
#include "parallax/elements.h"
#include "reports/report.h"
#include "reports/scores.h"

namespace parallax::cli {
namespace {

std::string summary(const TensorView& tensor) {
  const std::int64_t n = tensor.dims.elements();
  if (n == 0) return "no elements";
  if (const std::int64_t nans = count_nan(tensor); nans > 0)
    return fmt::format("min nan  mean nan  max nan  ({} of {} elements are NaN)", nans, n);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  double low = kInfinite, high = -kInfinite, sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto element = read_element<double>(tensor.dtype, tensor.bytes.data(), i);
    low = std::min(low, element);
    high = std::max(high, element);
    sum += element;
  }
  return fmt::format("min {:.6g}  mean {:.6g}  max {:.6g}", low, sum / static_cast<double>(n),
                     high);
}

std::string object_summary(const Object& object) {
  if (object.type() != ObjectType::kTensor) {
    const auto size = object.type() == ObjectType::kMap
                          ? object.elements()[0].dims().elements()
                          : static_cast<std::int64_t>(object.elements().size());
    return fmt::format("{} of {}", to_string(object.type()), size);
  }
  constexpr std::size_t kShown = 3;
  std::string text = fmt::format("{} {}", to_string(object.dtype()), object.dims().to_string());
  for (std::size_t i = 0; i < std::min(kShown, object.strings().size()); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "  " : ", ", object.strings()[i].substr(0, 40));
  return object.strings().size() > kShown ? text + ", ..." : text;
}

// The best classes of each output that has scores.
Status print_scores(const Options& options, const Model& model, const std::vector<Object>& outputs,
                    const std::vector<std::string>& labels) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView view = outputs[i].tensor_view();
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
  return tl::unexpected(Error{Stage::kFiles,
                              ErrorCode::kInvalidInput,
                              {},
                              fmt::format("--top: no output has scores, floats {}; there is {}",
                                          wanted, fmt::join(others, ", "))});
}

// A line for each output.
void print_outputs(const Model& model, const std::vector<Object>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView view = outputs[i].tensor_view();
    if (is_object(model.outputs()[i])) {
      fmt::print("{}  {}\n", model.outputs()[i].name, object_summary(outputs[i]));
      continue;
    }
    fmt::print("{}  {} {}  {}\n", model.outputs()[i].name, to_string(view.dtype),
               view.dims.to_string(), summary(view));
  }
}

// Prints or writes what run `run` made.
Status show(const Options& options, const Model& model, const std::vector<Object>& outputs,
            const std::vector<std::string>& labels, int run) {
  const std::filesystem::path folder = options.output_dir;
  const bool prints = options.top > 0 || folder.empty();
  if (prints && options.repeat > 0) fmt::print("run {}\n", run);
  if (options.top > 0) {
    if (auto status = print_scores(options, model, outputs, labels); !status) return status;
  } else if (prints) {
    print_outputs(model, outputs);
  }
  if (folder.empty()) return {};
  if (options.repeat == 0) return write_outputs(folder, model, outputs, options.output_format);
  const std::filesystem::path numbered = folder / std::to_string(run);
  if (auto status = make_output_folder(numbered); !status) return status;
  return write_outputs(numbered, model, outputs, options.output_format);
}

Status run_all(const Options& options, Opened& opened, const Inputs& inputs,
               const std::vector<std::string>& labels) {
  auto state = make_state(options, opened.model, opened.session, inputs);
  if (!state) return tl::unexpected(state.error());
  for (int run = 0; run < std::max(1, options.repeat); ++run) {
    if (*state && options.reset_state && run > 0) {
      if (auto status = begin_state(**state, inputs); !status) return status;
    }
    auto outputs = opened.session.run_objects(inputs.views(), run_options(*state, true));
    if (!outputs) return tl::unexpected(outputs.error());
    if (auto status = show(options, opened.model, *outputs, labels, run); !status) return status;
  }
  return {};
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
  auto inputs = make_inputs(options, opened->model, opened->session, opened->values);
  if (!inputs) return tl::unexpected(inputs.error());
  if (!folder.empty() && options.repeat > 0) {
    remove_outputs(folder);
    remove_numbered_outputs(folder, 0);
  }
  return run_all(options, *opened, *inputs, labels);
}

}  // namespace parallax::cli
