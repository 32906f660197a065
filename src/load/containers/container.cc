#include "load/containers/container.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/status.h"
#include "load/containers/litertlm.h"
#include "load/containers/zip.h"
#include "load/names.h"
#include "load/tflite/tflite_file.h"

namespace parallax {
namespace {

/// Bytes of a list of names in a message.
constexpr std::size_t kLongestList = 2000;

/// Returns the sections, each archive among them followed by its entries. `most`: bytes that names
/// may have, since those of all entries repeat the archive's.
Result<std::vector<Section>> with_inner(std::vector<Section> outer, std::size_t most) {
  std::vector<Section> all;
  for (Section& section : outer) {
    const bool inner = !section.compressed && is_zip(section.bytes);
    all.push_back(std::move(section));
    if (!inner) continue;
    const std::string folder = all.back().shown.name + "/";
    PX_ASSIGN(std::vector<Section> entries, read_zip(all.back().bytes));
    for (Section& entry : entries) {
      if (folder.size() > most) return invalid_model("names in the ZIP archive are too long");
      most -= folder.size();
      entry.shown.name = folder + entry.shown.name;
      all.push_back(std::move(entry));
    }
  }
  return all;
}

Status check_names_differ(const std::vector<Section>& sections) {
  std::set<std::string_view> names;
  for (const Section& section : sections) {
    if (names.insert(section.shown.name).second) continue;
    return invalid_model(fmt::format("the file has two sections {}", quote(section.shown.name)));
  }
  return {};
}

/// Returns the names of sections for which `wanted` holds, in quotes and in one line.
template <class Wanted>
std::string names_of_sections(const ModelContainer& container, Wanted wanted) {
  std::string names;
  for (const Section& section : container.sections) {
    if (!wanted(section)) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", quote(section.shown.name));
    if (names.size() > kLongestList) break;
  }
  return shorten(names, kLongestList);
}

std::string model_names(const ModelContainer& container) {
  return names_of_sections(container, [](const Section& one) { return one.shown.is_model; });
}

/// Says why there is no model without a name to choose.
Error no_single_model(const ModelContainer& container) {
  const std::string models = model_names(container);
  if (!models.empty()) {
    return load_error(
        ErrorCode::kInvalidInput,
        fmt::format("the {} has several models: choose a section of {}", container.format, models));
  }
  const std::string compressed =
      names_of_sections(container, [](const Section& one) { return one.compressed; });
  if (!compressed.empty()) {
    return load_error(
        ErrorCode::kUnsupported,
        fmt::format("the {} has no TFLite model that is stored; compressed ones are not read: "
                    "store them, as 'zip -0' does: {}",
                    container.format, compressed));
  }
  return load_error(
      ErrorCode::kInvalidModel,
      fmt::format("the file is a {} without a TFLite model{}", container.format,
                  container.format.starts_with("ZIP")
                      ? ", as PyTorch's .pt files are: unpack it, or export the model to ONNX"
                      : ""));
}

}  // namespace

Result<std::optional<ModelContainer>> open_container(std::span<const std::byte> bytes) {
  if (is_tflite(bytes)) return std::optional<ModelContainer>();
  ModelContainer container;
  if (is_zip(bytes)) {
    container.format = "ZIP archive";
    PX_ASSIGN(std::vector<Section> entries, read_zip(bytes));
    PX_ASSIGN(container.sections, with_inner(std::move(entries), bytes.size()));
  } else if (is_litertlm(bytes)) {
    PX_ASSIGN(container.sections, read_litertlm(bytes));
    container.format = litertlm_format(bytes);
  } else {
    return std::optional<ModelContainer>();
  }
  PX_RETURN_IF_ERROR(check_names_differ(container.sections));
  return std::optional(std::move(container));
}

std::size_t count_models(const ModelContainer& container) {
  return static_cast<std::size_t>(std::ranges::count_if(
      container.sections, [](const Section& section) { return section.shown.is_model; }));
}

Result<std::span<const std::byte>> find_section(const ModelContainer& container,
                                                std::string_view section) {
  if (section.empty() && count_models(container) != 1)
    return tl::unexpected(no_single_model(container));
  const auto found = std::ranges::find_if(container.sections, [&](const Section& one) {
    return section.empty() ? one.shown.is_model : one.shown.name == section;
  });
  if (found == container.sections.end()) {
    const std::string models = model_names(container);
    return tl::unexpected(
        load_error(ErrorCode::kInvalidInput,
                   fmt::format("the {} has no section {}; its models are {}", container.format,
                               quote(section), models.empty() ? "compressed or missing" : models)));
  }
  if (found->shown.is_model) return found->bytes;
  if (found->compressed) {
    return unsupported(fmt::format("section {} is compressed: store it, as 'zip -0' does",
                                   quote(found->shown.name)));
  }
  return tl::unexpected(
      load_error(ErrorCode::kInvalidInput,
                 fmt::format("section {} is no model but {}; models are {}",
                             quote(found->shown.name), found->shown.type, model_names(container))));
}

}  // namespace parallax
