// How `info` shows the sections of a container file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "parallax/model.h"

namespace parallax::cli {

/// Prints one line for each section; nothing for a file that is no container.
void print_sections(const FileReport& file);

/// Prints that a model must be chosen, and a command line that chooses the first. `path`: the file.
void print_choice(const FileReport& file, const std::string& path);

/// Returns an array of {"name", "type", "bytes", "model"}.
nlohmann::json sections_json(const FileReport& file);

}  // namespace parallax::cli
