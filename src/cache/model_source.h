// The source from which a model is loaded: a mapped file, or memory of the caller. Made when a
// model is opened (session/model.cc); WeightCache names and checks its files by it.
// Thread-safety: plain values.
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
  /// Nullopt if the bytes are the caller's, who must not change them while the model lives.
  std::optional<File> file;
};

}  // namespace parallax
