#include "ops/op.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ops/common.h"

namespace parallax {

namespace {

AttributeType type_of(const AttributeValue& value) {
  constexpr std::array kTypes = {
      AttributeType::kInt,    AttributeType::kFloat,  AttributeType::kString, AttributeType::kInts,
      AttributeType::kFloats, AttributeType::kTensor, AttributeType::kStrings};
  static_assert(kTypes.size() == std::variant_size_v<AttributeValue>);
  return kTypes[value.index()];
}

std::string_view to_string(AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
      return "an integer";
    case AttributeType::kFloat:
      return "a float";
    case AttributeType::kString:
      return "a string";
    case AttributeType::kInts:
      return "a list of integers";
    case AttributeType::kFloats:
      return "a list of floats";
    case AttributeType::kTensor:
      return "a tensor";
    case AttributeType::kStrings:
      return "a list of strings";
  }
  return "of unknown type";
}

/// Number of ids up to the last that is not left out.
int used(std::span<const ValueId> ids) {
  std::size_t n = ids.size();
  while (n > 0 && !ids[n - 1].valid()) --n;
  return static_cast<int>(n);
}

Status check_counts(const Node& node, const OpDef& def, NodeOrigin origin) {
  const int inputs = used(node.inputs);
  const int outputs = used(node.outputs);
  // The outputs that a node with bodies may leave out depend on these: infer_bodies() checks them.
  if (def.control_flow && !node.outputs.empty()) return {};
  const int most = def.max_inputs - (origin != NodeOrigin::kPass ? def.internal_inputs : 0);
  if (inputs < def.min_inputs || (def.max_inputs >= 0 && inputs > most)) {
    return refuse(node, fmt::format("{} inputs, must be {}", inputs,
                                    most < 0 ? fmt::format("at least {}", def.min_inputs)
                                             : fmt::format("{} to {}", def.min_inputs, most)));
  }
  for (int i = 0; i < (def.max_inputs < 0 ? inputs : def.min_inputs); ++i) {
    if (!node.inputs[static_cast<std::size_t>(i)].valid()) {
      return refuse(node, fmt::format("input {} is left out but required", i));
    }
  }
  if (node.outputs.empty() || (def.max_outputs >= 0 && outputs > def.max_outputs)) {
    return refuse(node, fmt::format("{} outputs, must be {} to {}", outputs, def.min_outputs,
                                    def.max_outputs));
  }
  return {};
}

}  // namespace

const OpDef& op_def(OpKind kind) {
  static const std::array<const OpDef*, kOpCount> table = {
#define PX_OP(name) &op_def_##name(),
#include "ir/op_kinds.def"
#undef PX_OP
  };
  return *table[static_cast<std::size_t>(kind)];
}

Status check_node(const Node& node, NodeOrigin origin) {
  const OpDef& def = op_def(node.op);
  if (origin != NodeOrigin::kPass && def.internal) {
    return refuse(node, "this operator does not exist in model files", ErrorCode::kUnsupported);
  }
  PX_RETURN_IF_ERROR(check_counts(node, def, origin));
  if (!def.control_flow && !node.bodies.empty()) return refuse(node, "does not take a body");
  if (!node.epilogue.empty() && !def.epilogue) return refuse(node, "does not take an epilogue");
  for (const auto& [name, value] : node.attributes) {
    const auto spec = std::find_if(def.attributes.begin(), def.attributes.end(),
                                   [&n = name](const AttributeSpec& s) { return s.name == n; });
    if (spec == def.attributes.end() || spec->from > origin) {
      return refuse(node, fmt::format("attribute '{}' is not known", name),
                    ErrorCode::kUnsupported);
    }
    if (type_of(value) != spec->type) {
      return refuse(node, fmt::format("attribute '{}' must be {}", name, to_string(spec->type)));
    }
  }
  return {};
}

}  // namespace parallax
