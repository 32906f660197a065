#include "load/tflite/entry.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "base/status.h"
#include "load/names.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using TensorMaps = flatbuffers::Vector<flatbuffers::Offset<schema::TensorMap>>;

Result<const schema::SignatureDef*> find_signature(const TfliteFile& file, std::string_view name) {
  std::string known;
  const auto* const signatures = file.model->signature_defs();
  for (std::size_t i = 0; i < length_of(signatures); ++i) {
    const auto* const signature = signatures->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::string_view key = text_of(signature->signature_key());
    if (key == name) return signature;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", quote(key));
  }
  return tl::unexpected(
      load_error(ErrorCode::kInvalidInput,
                 fmt::format("the model has no signature {}; it has {}", quote(name),
                             known.empty() ? "no signatures" : shorten(known, 2000))));
}

/// `maps`: the names that a signature gives, or null.
std::vector<std::string> names_of_ends(const schema::SubGraph& graph,
                                       std::span<const std::int32_t> ends, const TensorMaps* maps,
                                       std::string_view kind) {
  std::map<std::uint32_t, std::string_view> given;
  for (std::size_t i = 0; i < length_of(maps); ++i) {
    const auto& map = *maps->Get(static_cast<flatbuffers::uoffset_t>(i));
    given.emplace(map.tensor_index(), text_of(map.name()));
  }
  std::vector<std::string> names;
  std::set<std::int32_t> seen;
  for (const std::int32_t index : ends) {
    const auto tensor = static_cast<flatbuffers::uoffset_t>(index);
    if (!seen.insert(index).second) {
      names.emplace_back();  // the memory for names is then linear in the file
      continue;
    }
    const auto found = given.find(tensor);
    std::string_view name;
    if (found != given.end()) name = found->second;
    if (name.empty()) name = text_of(graph.tensors()->Get(tensor)->name());
    names.push_back(name.empty() ? fmt::format("{}{}", kind, names.size()) : std::string(name));
  }
  return names;
}

}  // namespace

Result<TfliteEntry> find_entry(const TfliteFile& file, std::string_view signature) {
  TfliteEntry entry;
  const schema::SignatureDef* given = nullptr;
  if (!signature.empty()) {
    PX_ASSIGN(given, find_signature(file, signature));
    entry.subgraph = given->subgraph_index();
    entry.named = true;
  }
  const schema::SubGraph& graph = *file.subgraphs[entry.subgraph].graph;
  entry.inputs = names_of_ends(graph, elements_of(graph.inputs()),
                               given == nullptr ? nullptr : given->inputs(), "input");
  entry.outputs = names_of_ends(graph, elements_of(graph.outputs()),
                                given == nullptr ? nullptr : given->outputs(), "output");
  return entry;
}

}  // namespace parallax
