#include "expected.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "difference.h"
#include "files/npy.h"
#include "files/pb.h"
#include "inputs/inputs.h"
#include "inputs/state.h"
#include "parallax/elements.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

Error fault(ErrorCode code, std::string message) {
  return {Stage::kFiles, code, {}, std::move(message)};
}

// The file of each output of the model.
Result<std::vector<fs::path>> expected_files(const fs::path& folder, const Model& model) {
  std::vector<fs::path> files;
  const fs::path list = folder / "outputs.json";
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return tl::unexpected(
        fault(ErrorCode::kIo, fmt::format("--expected {}: {}", folder.string(),
                                          error ? error.message() : "is not a folder")));
  }
  if (!fs::exists(list, error)) {
    for (std::size_t i = 0; i < model.outputs().size(); ++i)
      files.push_back(folder / fmt::format("{}.npy", i));
    return files;
  }
  std::ifstream stream(list);
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  for (const TensorInfo& output : model.outputs()) {
    const auto entry = std::ranges::find_if(json, [&](const nlohmann::json& each) {
      return each.is_object() && each.value("name", nlohmann::json()) == output.name &&
             each.contains("file") && each["file"].is_string();
    });
    if (!json.is_array() || entry == json.end()) {
      return tl::unexpected(
          fault(ErrorCode::kInvalidInput,
                fmt::format("{}: has no file for output '{}'", list.string(), output.name)));
    }
    files.push_back(folder / (*entry)["file"].get<std::string>());
  }
  return files;
}

struct Verdict {
  bool same = false;
  std::string text;
};

Verdict compare_integers(const TensorView& ours, const TensorView& expected) {
  std::int64_t different = 0;
  double largest = 0;
  for (std::int64_t i = 0; i < ours.dims.elements(); ++i) {
    if (read_element<std::int64_t>(ours.dtype, ours.bytes.data(), i) ==
        read_element<std::int64_t>(expected.dtype, expected.bytes.data(), i))
      continue;
    ++different;
    const auto a = read_element<double>(ours.dtype, ours.bytes.data(), i);
    const auto b = read_element<double>(expected.dtype, expected.bytes.data(), i);
    largest = std::max(largest, std::abs(a - b));
  }
  if (different == 0) return {true, "equal"};
  return {false, fmt::format("{} of {} elements differ, at most by {:g}", different,
                             ours.dims.elements(), largest)};
}

Verdict compare(const TensorView& ours, const TensorView& expected, double tolerance) {
  if (ours.dtype != expected.dtype || !(ours.dims == expected.dims)) {
    return {false,
            fmt::format("is {} {}, expected is {} {}", to_string(ours.dtype), ours.dims.to_string(),
                        to_string(expected.dtype), expected.dims.to_string())};
  }
  if (info_of(ours.dtype).kind != DTypeClass::kFloat) return compare_integers(ours, expected);
  const Difference by = difference(ours, expected);
  return {!by.apart && by.relative <= tolerance, to_string(by)};
}

// A file that was made for an output of the type.
Result<Tensor> read_expected(const fs::path& file, DType dtype) {
  if (!is_pb(file)) return read_npy(file, dtype);
  const auto message = read_pb(file);
  if (!message) return tl::unexpected(message.error());
  return parse_pb_tensor(*message, file);
}

}  // namespace

Status verify_expected(const Options& options) {
  auto opened = open_model(options);
  if (!opened) return tl::unexpected(opened.error());
  const Model& model = opened->model;
  const auto files = expected_files(options.expected, model);
  if (!files) return tl::unexpected(files.error());
  auto inputs = make_inputs(options, model, opened->session, opened->values);
  if (!inputs) return tl::unexpected(inputs.error());
  auto state = make_state(options, model, opened->session, *inputs);
  if (!state) return tl::unexpected(state.error());
  auto outputs = opened->session.run(inputs->views(), run_options(*state, true));
  if (!outputs) return tl::unexpected(outputs.error());

  std::size_t same = 0;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const auto expected = read_expected((*files)[i], model.outputs()[i].dtype);
    if (!expected) return tl::unexpected(expected.error());
    const Verdict verdict = compare((*outputs)[i].view(), expected->view(), options.tolerance);
    fmt::print("  {}: {}{}\n", model.outputs()[i].name, verdict.text,
               verdict.same ? "" : "  DIFFERENT");
    same += verdict.same ? 1 : 0;
  }
  fmt::print("{}: {} of {} outputs as in {}, floats within {:g} of the largest magnitude\n",
             options.model, same, outputs->size(), options.expected, options.tolerance);
  if (same == outputs->size()) return {};
  return tl::unexpected(
      Error{Stage::kRun,
            ErrorCode::kInternal,
            {},
            fmt::format("{} of {} outputs differ from those in {}", outputs->size() - same,
                        outputs->size(), options.expected)});
}

}  // namespace parallax::cli
