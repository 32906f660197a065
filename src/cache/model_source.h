// What a model is loaded from: a mapped file, or memory of the caller's.
// Thread-safety: plain values.
#pragma once

#include <filesystem>
#include <optional>

#include "base/files/mapped_file.h"
#include "parallax/model.h"

namespace parallax {

struct ModelSource {
  struct File {
    std::filesystem::path path;
    FileIdentity identity;
  };

  ModelBytes model;
  /// Nothing where the bytes are the caller's, who keeps them as they are.
  std::optional<File> file;
};

}  // namespace parallax
