#include <fmt/core.h>

#include <string>

#include "base/name_map.h"
#include "base/status.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

using TensorMaps = flatbuffers::Vector<flatbuffers::Offset<schema::TensorMap>>;

/// Checks the inputs of a signature, or its outputs: each has a name of its own and is an input or
/// output of the subgraph.
Status check_maps(TfliteChecks& checks, const TensorMaps* maps, std::size_t subgraph,
                  bool TfliteUses::*kind, std::string_view label) {
  const std::vector<TfliteUses>& uses = checks.uses[subgraph];
  NameSet names;
  for (std::size_t i = 0; i < length_of(maps); ++i) {
    const schema::TensorMap& map = *maps->Get(static_cast<flatbuffers::uoffset_t>(i));
    PX_RETURN_IF_ERROR(checks.check_name(label, map.name()));
    const std::string_view name = text_of(map.name());
    if (!names.insert(name).second)
      return invalid_model(fmt::format("two of {} have the name {}", label, quote(name)));
    if (map.tensor_index() >= uses.size() || !(uses[map.tensor_index()].*kind)) {
      return invalid_model(fmt::format("{} of {} is tensor {}, which is not one of subgraph {}",
                                       quote(name), label, map.tensor_index(), subgraph));
    }
  }
  return {};
}

Status check_signature(TfliteChecks& checks, const schema::SignatureDef& signature) {
  const std::string label = "signature " + quote(text_of(signature.signature_key()));
  const std::size_t subgraphs = checks.file.subgraphs.size();
  const std::size_t subgraph = signature.subgraph_index();
  if (subgraph >= subgraphs)
    return invalid_model(fmt::format("{} has subgraph {} of {}", label, subgraph, subgraphs));
  PX_RETURN_IF_ERROR(check_maps(checks, signature.inputs(), subgraph, &TfliteUses::input,
                                "the inputs of " + label));
  return check_maps(checks, signature.outputs(), subgraph, &TfliteUses::output,
                    "the outputs of " + label);
}

}  // namespace

Status check_signatures(TfliteChecks& checks) {
  const auto* signatures = checks.file.model->signature_defs();
  NameSet keys;
  for (std::size_t i = 0; i < length_of(signatures); ++i) {
    const auto& signature = *signatures->Get(static_cast<flatbuffers::uoffset_t>(i));
    PX_RETURN_IF_ERROR(
        checks.check_name(fmt::format("signature {}", i), signature.signature_key()));
    const std::string_view key = text_of(signature.signature_key());
    if (!keys.insert(key).second)
      return invalid_model(fmt::format("two signatures have the name {}", quote(key)));
    PX_RETURN_IF_ERROR(check_signature(checks, signature));
  }
  return {};
}

}  // namespace parallax
