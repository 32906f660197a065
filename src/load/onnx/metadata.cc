#include "load/onnx/metadata.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "load/metadata_texts.h"
#include "load/onnx/onnx.h"

namespace parallax {
ModelMetadata onnx_metadata(const OnnxModel& model, std::string_view graph_name) {
  MetadataTexts texts;
  ModelMetadata metadata;
  metadata.producer_name = texts.copy(model.producer_name);
  metadata.producer_version = texts.copy(model.producer_version);
  metadata.domain = texts.copy(model.domain);
  metadata.model_version = model.model_version;
  metadata.graph_name = texts.copy(graph_name);
  for (const OnnxEntry& entry : model.properties) {
    if (texts.full()) texts.truncated = true;
    if (texts.truncated) break;
    std::string key = texts.copy(entry.key);
    metadata.properties.emplace_back(std::move(key), texts.copy(entry.value));
  }
  // The description comes last: programs read keys, and a description may be long.
  metadata.doc_string = texts.copy(model.doc_string);
  metadata.truncated = texts.truncated || model.further_properties > 0;
  return metadata;
}

Result<ModelMetadata> read_onnx_metadata(std::span<const std::byte> bytes,
                                         std::string_view graph_name) {
  PX_ASSIGN(const OnnxModel model, parse_onnx_file(bytes));
  return onnx_metadata(model, graph_name);
}

}  // namespace parallax
