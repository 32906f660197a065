// The source from which a model is loaded: a mapped file, or memory of the caller. Thread-safety:
// plain values.
#pragma once

#include <filesystem>
#include <optional>

#include "base/files/mapped_file.h"
#include "parallax/model.h"

namespace parallax {

/// The bytes of a model and their file. Copies share the map of the file.
struct ModelSource {
  struct File {
    std::filesystem::path path;  ///< as the user gave it
    FileIdentity identity;       ///< identity when it was mapped
  };

  ModelBytes model;  ///< the model's bytes, with what keeps them alive
  /// nullopt if the bytes are the caller's, who must not change them.
  std::optional<File> file;
};

}  // namespace parallax
