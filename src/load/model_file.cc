#include "load/model_file.h"

#include <algorithm>
#include <array>

#include "load/onnx/describe.h"
#include "load/onnx/metadata.h"
#include "load/onnx/onnx.h"
#include "load/tflite/tflite.h"
#include "load/tflite/tflite_file.h"

namespace parallax {
namespace {

/// A format of files, with its loader.
struct FileFormat {
  bool (*has)(std::span<const std::byte> bytes);
  decltype(&load_model) load;
  decltype(&check_model) check;
  decltype(&describe_model) describe;
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

}  // namespace

Result<Graph> load_model(const ModelBytes& model, const LoadOptions& options,
                         std::vector<NamedFile>* external, LoadQuota* quota) {
  return format_of(model.bytes).load(model, options, external, quota);
}

Result<std::vector<UnsupportedNode>> check_model(const ModelBytes& model,
                                                 const LoadOptions& options) {
  return format_of(model.bytes).check(model, options);
}

Result<DescribedModel> describe_model(std::span<const std::byte> bytes) {
  return format_of(bytes).describe(bytes);
}

Result<ModelMetadata> read_metadata(std::span<const std::byte> bytes, std::string_view graph_name) {
  return format_of(bytes).metadata(bytes, graph_name);
}

}  // namespace parallax
