// Reads a TFLite model (schema version 3) into a Graph. The file is an attacker's: tflite_file.h
// checks it. Thread-safety: pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "load/model_file.h"

namespace parallax {

/// The functions of model_file.h, for a TFLite file. Of LoadOptions only `signature` is read.
Result<Graph> load_tflite(const ModelBytes& model, const LoadOptions& options,
                          std::vector<NamedFile>* external, LoadQuota* quota);
Result<std::vector<UnsupportedNode>> check_tflite(const ModelBytes& model,
                                                  const LoadOptions& options);
Result<DescribedModel> describe_tflite(std::span<const std::byte> bytes);
Result<ModelMetadata> read_tflite_metadata(std::span<const std::byte> bytes,
                                           std::string_view graph_name);

}  // namespace parallax
