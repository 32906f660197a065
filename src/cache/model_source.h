// The source from which a model is loaded: a mapped file, or memory of the caller. Made when a
// model is opened (session/model.cc); WeightCache names and checks its files by it.
// Thread-safety: plain values.
#pragma once

#include <filesystem>
#include <optional>

#include "base/files/mapped_file.h"
#include "parallax/model.h"

namespace parallax {

/// The bytes from which a model is loaded, and the file that holds them, if there is one. The bytes
/// may hold several models. Copies share the map of the file.
struct ModelSource {
  struct File {
    std::filesystem::path path;  ///< as the user gave it
    FileIdentity identity;       ///< identity when it was mapped
  };

  /// All bytes of the file or of the caller's memory, with what keeps them alive. find_model()
  /// finds the model among them.
  ModelBytes model;
  /// Nullopt if the bytes are the caller's, who must not change them while the model lives.
  std::optional<File> file;
};

}  // namespace parallax
