// How `info` shows the statements of a model's file about itself.
#pragma once

#include <nlohmann/json.hpp>

#include "parallax/model.h"

namespace parallax::cli {

/// Prints one line for each statement that the file makes. Control characters are escaped, and long
/// texts and lists are cut: the JSON has all.
void print_metadata(const ModelMetadata& metadata);

/// Returns all of it. Pairs are an array of {"key", "value"}, since keys may repeat.
nlohmann::json metadata_json(const ModelMetadata& metadata);

}  // namespace parallax::cli
