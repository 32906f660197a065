#include "load/model_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "load/containers/container.h"
#include "load/names.h"
#include "load/onnx/describe.h"
#include "load/onnx/metadata.h"
#include "load/onnx/onnx.h"
#include "load/tflite/tflite.h"
#include "load/tflite/tflite_file.h"
#include "load/within_memory.h"

namespace parallax {
namespace {

/// A format of files, with its loader.
struct FileFormat {
  bool (*has)(std::span<const std::byte> bytes);
  decltype(&load_model) load;
  decltype(&check_model) check;
  Result<DescribedModel> (*describe)(std::span<const std::byte> bytes);
  decltype(&read_metadata) metadata;
};

/// The last row takes what no other does: an ONNX file begins with no bytes of its own.
constexpr std::array kFileFormats = {
    FileFormat{is_tflite, load_tflite, check_tflite, describe_tflite, read_tflite_metadata},
    FileFormat{[](std::span<const std::byte>) { return true; }, load_onnx, check_onnx,
               describe_onnx, read_onnx_metadata},
};

const FileFormat& format_of(std::span<const std::byte> bytes) {
  return *std::ranges::find_if(kFileFormats,
                               [&](const FileFormat& format) { return format.has(bytes); });
}

tl::unexpected<Error> no_container(std::string_view section) {
  return tl::unexpected(load_error(
      ErrorCode::kInvalidInput, "the file has no section " + quote(section) + ": it is one model"));
}

}  // namespace

Result<ModelBytes> find_model(ModelBytes file, std::string_view section) {
  return within_memory([&]() -> Result<ModelBytes> {
    PX_ASSIGN(const auto container, open_container(file.bytes));
    if (!container && !section.empty()) return no_container(section);
    if (container) {
      PX_ASSIGN(file.bytes, find_section(*container, section));
    }
    return std::move(file);
  });
}

Result<Graph> load_model(const ModelBytes& model, const LoadOptions& options,
                         std::vector<NamedFile>* external, LoadQuota* quota) {
  return format_of(model.bytes).load(model, options, external, quota);
}

Result<std::vector<UnsupportedNode>> check_model(const ModelBytes& model,
                                                 const LoadOptions& options) {
  return format_of(model.bytes).check(model, options);
}

Result<DescribedModel> describe_model(std::span<const std::byte> bytes, std::string_view section) {
  PX_ASSIGN(auto container, open_container(bytes));
  if (!container) return section.empty() ? format_of(bytes).describe(bytes) : no_container(section);
  DescribedModel described;
  if (!section.empty() || count_models(*container) < 2) {
    PX_ASSIGN(const auto model, find_section(*container, section));
    PX_ASSIGN(described, format_of(model).describe(model));
  }
  described.report.container = std::move(container->format);
  for (Section& one : container->sections)
    described.report.sections.push_back(std::move(one.shown));
  return described;
}

Result<ModelMetadata> read_metadata(std::span<const std::byte> bytes, std::string_view graph_name) {
  return format_of(bytes).metadata(bytes, graph_name);
}

}  // namespace parallax
