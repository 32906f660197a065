// `parallax run`: one run, outputs to files or as a summary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "inputs.h"
#include "npy.h"
#include "report.h"
#include "scores.h"

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

Error unwritable(const fs::path& path, const std::error_code& error) {
  return {
      Stage::kIo,
      ErrorCode::kIo,
      {},
      fmt::format("cannot write {}: {}", path.string(), error ? error.message() : "write failed")};
}

template <class T>
std::string summary_of(const TensorView& tensor) {
  const T* data = tensor.as<T>();
  const auto n = static_cast<std::size_t>(tensor.dims.elements());
  if (n == 0) return "no elements";
  const auto [low, high] = std::minmax_element(data, data + n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(data[i]);
  return fmt::format("min {:.6g}  mean {:.6g}  max {:.6g}", static_cast<double>(*low),
                     sum / static_cast<double>(n), static_cast<double>(*high));
}

std::string summary(const TensorView& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
      return summary_of<float>(tensor);
    case DType::kI64:
      return summary_of<std::int64_t>(tensor);
    case DType::kI32:
      return summary_of<std::int32_t>(tensor);
    case DType::kI8:
      return summary_of<std::int8_t>(tensor);
    case DType::kU8:
      return summary_of<std::uint8_t>(tensor);
    case DType::kBool:
      return summary_of<bool>(tensor);
  }
  return {};
}

Status write_outputs(const fs::path& folder, const Model& model, const std::vector<Tensor>& outputs,
                     std::vector<fs::path>& written) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string file = fmt::format("{}.npy", i);
    written.push_back(folder / file);
    if (auto status = write_npy(written.back(), outputs[i].view()); !status) return status;
    const Dims& dims = outputs[i].dims();
    list.push_back({{"name", model.outputs()[i].name},
                    {"dtype", to_string(outputs[i].dtype())},
                    {"shape", std::vector<std::int64_t>(dims.begin(), dims.end())},
                    {"file", file}});
  }
  written.push_back(folder / "outputs.json");
  std::ofstream json(written.back());
  json << list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  json.close();
  if (!json) return tl::unexpected(unwritable(written.back(), {}));
  return {};
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
  const fs::path folder = options.output_dir;
  if (!folder.empty()) {  // before the run: a long run must not end at a folder that cannot be
                          // written
    std::error_code error;
    fs::create_directories(folder, error);
    if (error || !fs::is_directory(folder, error)) return tl::unexpected(unwritable(folder, error));
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
  const CacheWarning warning(model);
  auto inputs = make_inputs(options, model, opened->session, opened->values);
  if (!inputs) return tl::unexpected(inputs.error());
  auto outputs = opened->session.run(inputs->views());
  if (!outputs) return tl::unexpected(outputs.error());

  if (options.top > 0) {
    if (auto status = print_scores(options, model, *outputs, labels); !status) return status;
  }
  if (folder.empty()) {
    if (options.top > 0) return {};
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const TensorView view = (*outputs)[i].view();
      fmt::print("{}  {} {}  {}\n", model.outputs()[i].name, to_string(view.dtype),
                 view.dims.to_string(), summary(view));
    }
    return {};
  }
  std::vector<fs::path> written;
  auto status = write_outputs(folder, model, *outputs, written);
  if (!status) {  // all or nothing
    std::error_code ignored;
    for (const fs::path& file : written) fs::remove(file, ignored);
  }
  return status;
}

}  // namespace parallax::cli
