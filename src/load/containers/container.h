// Files that hold several models: ZIP archives such as MediaPipe's .task, and LiteRT-LM files. The
// kind of a file follows from its bytes. A model stays where it is in the file. The file is an
// attacker's. Thread-safety: pure functions.
//
// Called by model_file.cc for every load and every report, before a loader sees the bytes. It opens
// no model and follows no path of an archive: an entry called "../x" is a name like any other.
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

/// Sections point into the bytes that open_container() was given.
struct ModelContainer {
  std::string format;             ///< "ZIP archive" or "LiteRT-LM 1.4.0"
  std::vector<Section> sections;  ///< in the file's order, with different names
};

/// Reads the sections of a container; nullopt for a file that is no container. The entries of an
/// archive inside an archive follow it, as "inner.task/model.tflite"; archives inside that one are
/// not read. Sections point into `bytes`. Takes memory linear in the file. Errors, of stage kLoad:
/// kInvalidModel for a damaged file, and for one whose sections share a name; kUnsupported for
/// encrypted ones, those in several parts and other versions. Limit: names of entries in inner
/// archives repeat the name of the archive; these repetitions may have as many bytes together as
/// the file (else kInvalidModel). A file that begins as a TFLite model is one, whatever follows.
Result<std::optional<ModelContainer>> open_container(std::span<const std::byte> bytes);

/// Returns the number of models among the sections. Compressed entries do not count, since what
/// they hold is not known. The model of an inner archive counts.
std::size_t count_models(const ModelContainer& container);

/// Returns the model in the section of that name, a part of the file; `section` empty: the only
/// model. Errors: those of LoadOptions::section; without a model kInvalidModel, or kUnsupported if
/// an entry is compressed. In detail: kInvalidInput if `section` is empty and there are several
/// models (the message lists them), if no section has the name, and if the section is no model;
/// kUnsupported for a compressed section, and if there is no model but something compressed;
/// kInvalidModel if there is no model at all. The span is not aligned: open_tflite() copies a model
/// that needs it. Lists in messages have at most 2,000 bytes.
Result<std::span<const std::byte>> find_section(const ModelContainer& container,
                                                std::string_view section);

}  // namespace parallax
