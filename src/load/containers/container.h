// Files that hold several models: ZIP archives such as MediaPipe's .task, and LiteRT-LM files. The
// kind of a file follows from its bytes. A model stays where it is in the file. The file is an
// attacker's. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/containers/section.h"
#include "parallax/result.h"

namespace parallax {

struct ModelContainer {
  std::string format;             ///< "ZIP archive" or "LiteRT-LM 1.4.0"
  std::vector<Section> sections;  ///< in the file's order, with different names
};

/// Reads the sections of a container; nullopt for a file that is no container. The entries of an
/// archive inside an archive follow it, as "inner.task/model.tflite"; archives inside that one are
/// not read. Sections point into `bytes`. Takes memory linear in the file. Errors, of stage kLoad:
/// kInvalidModel for a damaged file, and for one whose sections share a name; kUnsupported for
/// encrypted ones, those in several parts and other versions.
Result<std::optional<ModelContainer>> open_container(std::span<const std::byte> bytes);

/// Returns the number of models among the sections.
std::size_t count_models(const ModelContainer& container);

/// Returns the model in the section of that name, a part of the file; `section` empty: the only
/// model. Errors: those of LoadOptions::section; without a model kInvalidModel, or kUnsupported if
/// an entry is compressed.
Result<std::span<const std::byte>> find_section(const ModelContainer& container,
                                                std::string_view section);

}  // namespace parallax
