#include "load/onnx/metadata.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/onnx.h"

namespace parallax {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Copies texts until all limits of ModelMetadata are used up.
class Texts {
 public:
  std::string copy(std::string_view text) {
    std::string result;
    while (!text.empty()) {
      const std::size_t length = utf8_length(text);
      const std::string_view character = length == 0 ? kReplacement : text.substr(0, length);
      if (character.size() > left_) {
        truncated = true;
        break;
      }
      left_ -= character.size();
      result += character;
      text.remove_prefix(length == 0 ? 1 : length);
    }
    return result;
  }
  bool full() const { return left_ == 0; }

  bool truncated = false;

 private:
  std::size_t left_ = ModelMetadata::kMaxBytes;
};

}  // namespace

ModelMetadata onnx_metadata(const OnnxModel& model, std::string_view graph_name) {
  Texts texts;
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
