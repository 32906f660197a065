// A folder of outputs: 0.npy, 1.npy, ... in the model's order, and outputs.json, which lists them.
#pragma once

#include <filesystem>
#include <vector>

#include "parallax/session.h"

namespace parallax::cli {

/// Makes the folder where there is none; asked before a run, which must not end at a folder that
/// cannot be written. Errors: kIo.
Status make_output_folder(const std::filesystem::path& folder);
/// Writes all files or none. Those that an earlier outputs.json of the folder lists go away; no
/// other file does. Errors: kIo.
Status write_outputs(const std::filesystem::path& folder, const Model& model,
                     const std::vector<Tensor>& outputs);

}  // namespace parallax::cli
