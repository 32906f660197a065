#include "load/graph_writer.h"

#include <fmt/core.h>

#include "base/status.h"

namespace parallax {

std::string GraphWriter::make_unique(Names& names, std::string name, const IsDefined& defined) {
  const auto take = [&](const std::string& candidate) {
    return names.taken.insert(candidate) && (!defined || !defined(candidate));
  };
  if (take(name)) return name;
  std::int64_t& next = names.next.try_emplace(name, 1).first->second;
  while (true) {
    std::string candidate = fmt::format("{}_{}", name, next++);
    if (take(candidate)) return candidate;
  }
}

ValueId GraphWriter::constant(std::string name, Constant constant) {
  return graph_.values.push_back(constant_value(std::move(name), std::move(constant)));
}

ValueId GraphWriter::result(std::string name) {
  Value value;
  value.name = std::move(name);
  return graph_.values.push_back(std::move(value));
}

std::string GraphWriter::fresh_value_name(std::string_view hint) {
  return make_unique(value_names_, std::string(hint), defined_);
}

Result<NodeId> GraphWriter::node(Node node, NodeOrigin origin) {
  PX_RETURN_IF_ERROR(check_node(node, origin));
  node.name = make_unique(node_names_, std::move(node.name), {});
  const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
  for (const ValueId output : node.outputs) {
    if (output.valid()) graph_.values[output].producer = id;
  }
  return graph_.nodes.push_back(std::move(node));
}

}  // namespace parallax
