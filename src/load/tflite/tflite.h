// Reads a TFLite model (schema version 3) into a Graph. The file is an attacker's: tflite_file.h
// checks it. Thread-safety: pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "load/model_file.h"

namespace parallax {

/// The functions of model_file.h, for a TFLite file. LoadOptions::signature and inputs are read;
/// nesting is limited by kMaxNesting alone. `external` is not touched: bytes in other files are
/// refused. If the file's bytes are not aligned (tflite_file.h), the graph keeps a copy of the file
/// instead of ModelBytes::owner. describe_tflite() and the metadata copy their texts. Errors: those
/// of open_tflite(), find_entry() and assemble_tflite(); kOutOfMemory from the first two functions.
Result<Graph> load_tflite(const ModelBytes& model, const LoadOptions& options,
                          std::vector<NamedFile>* external, LoadQuota* quota);
Result<std::vector<UnsupportedNode>> check_tflite(const ModelBytes& model,
                                                  const LoadOptions& options);
Result<DescribedModel> describe_tflite(std::span<const std::byte> bytes);
Result<ModelMetadata> read_tflite_metadata(std::span<const std::byte> bytes,
                                           std::string_view graph_name);

}  // namespace parallax
