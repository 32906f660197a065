// A TFLite file's statements about itself: its description, and entries of its metadata.
#include "load/tflite/metadata.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/status.h"
#include "load/metadata_texts.h"
#include "load/tflite/tflite.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

/// The texts of the flatbuffer "TFLITE_METADATA", by the places of their fields; its other fields
/// are not read.
class MetadataTable : private flatbuffers::Table {
 public:
  static constexpr std::array<std::pair<std::string_view, flatbuffers::voffset_t>, 5> kTexts = {
      {{"name", 4}, {"description", 6}, {"version", 8}, {"author", 12}, {"license", 14}}};

  template <class Verifier>
  bool Verify(Verifier& verifier) const {  // NOLINT: flatbuffers calls it by this name
    bool valid = VerifyTableStart(verifier);
    for (const auto& [name, place] : kTexts)
      valid = valid && VerifyOffset(verifier, place) && verifier.VerifyString(string_at(place));
    return valid && verifier.EndTable();
  }
  std::string_view text(flatbuffers::voffset_t place) const { return text_of(string_at(place)); }

 private:
  const flatbuffers::String* string_at(flatbuffers::voffset_t place) const {
    return GetPointer<const flatbuffers::String*>(place);
  }
};

/// A damaged table has no texts: metadata decides nothing.
void add_table(std::span<const std::byte> bytes, MetadataTexts& texts, ModelMetadata& metadata) {
  constexpr const char* kIdentifier = "M001";
  constexpr std::size_t kShortest = 8, kLongest = std::size_t{16} << 20;
  if (bytes.size() < kShortest || bytes.size() > kLongest) return;
  // Flatbuffers reads scalars in place, and a buffer may begin at any address.
  const std::vector<std::uint64_t> aligned = [&] {
    std::vector<std::uint64_t> words((bytes.size() + 7) / 8);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }();
  const auto* const data = reinterpret_cast<const std::uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!verifier.VerifyBuffer<MetadataTable>(kIdentifier)) return;
  const auto& table = *flatbuffers::GetRoot<MetadataTable>(data);
  for (const auto& [name, place] : MetadataTable::kTexts)
    if (const std::string_view text = table.text(place); !text.empty())
      metadata.properties.emplace_back(name, texts.copy(text));
}

/// A text in a buffer, which zeros may fill up.
std::string_view padded_text(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

}  // namespace

ModelMetadata tflite_metadata(const TfliteFile& file, std::string_view graph_name) {
  MetadataTexts texts;
  ModelMetadata metadata;
  metadata.graph_name = texts.copy(graph_name);
  bool has_table = false, has_version = false;
  for (std::size_t i = 0; i < length_of(file.model->metadata()); ++i) {
    const auto& entry = *file.model->metadata()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::string_view name = text_of(entry.name());
    const auto bytes = buffer_bytes(file, entry.buffer());
    if (name == "TFLITE_METADATA" && !std::exchange(has_table, true)) {
      add_table(bytes, texts, metadata);
    } else if (name == "min_runtime_version" && !std::exchange(has_version, true)) {
      metadata.properties.emplace_back(name, texts.copy(padded_text(bytes)));
    }
  }
  metadata.doc_string = texts.copy(text_of(file.model->description()));
  metadata.truncated = texts.truncated;
  return metadata;
}

Result<ModelMetadata> read_tflite_metadata(std::span<const std::byte> bytes,
                                           std::string_view graph_name) {
  PX_ASSIGN(const TfliteFile file, open_tflite(bytes));
  return tflite_metadata(file, graph_name);
}

}  // namespace parallax
