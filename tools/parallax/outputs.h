// A folder of outputs: 0.npy (or 0.pb), 1.npy, ... in the model's order, and outputs.json, which
// lists them.
#pragma once

#include <filesystem>
#include <vector>

#include "options/options.h"

namespace parallax::cli {

/// Makes the folder if it does not exist. Call it before a run, so that the run is not lost to a
/// folder that cannot be written. Errors: kIo.
Status make_output_folder(const std::filesystem::path& folder);
/// Removes what earlier runs wrote there.
void remove_outputs(const std::filesystem::path& folder);
/// Likewise for the folders 'first', 'first + 1', ... in it, up to the first without such files.
void remove_numbered_outputs(const std::filesystem::path& folder, int first);
/// Writes all files or none; objects as .pb whatever the format. Those that an earlier outputs.json
/// of the folder lists go away; no other file does. Errors: kIo.
Status write_outputs(const std::filesystem::path& folder, const Model& model,
                     const std::vector<Object>& outputs, OutputFormat format);

}  // namespace parallax::cli
