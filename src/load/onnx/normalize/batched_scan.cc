#include "load/onnx/normalize/batched_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "load/names.h"

namespace parallax {
namespace {

constexpr std::int64_t kBatched = 8, kOfOneSample = 9;

OnnxAttribute count_of(std::size_t scans) {
  OnnxAttribute attribute;
  attribute.name = "num_scan_inputs";
  attribute.type = OnnxAttributeType::kInt;
  attribute.i = static_cast<std::int64_t>(scans);
  return attribute;
}

std::vector<OnnxValueInfo> named(const std::vector<OnnxUse>& uses) {
  std::vector<OnnxValueInfo> values;
  for (const OnnxUse& use : uses) values.emplace_back().name = use.name;
  return values;
}

}  // namespace

bool is_batched_scan(const OnnxNode& node, std::int64_t opset) {
  return opset == kBatched && node.op_type == "Scan" && node.domain.empty();
}

Status split_batched_scan(OnnxNode& node, const std::function<bool(std::string_view)>& taken,
                          std::deque<std::string>& names) {
  if (!node.inputs.empty() && !node.inputs[0].name.empty()) {
    return unsupported("Scan: sequence_lens of operator set 8 is not supported",
                       node.name.empty() ? node.op_type : node.name);
  }
  if (!node.inputs.empty()) node.inputs.erase(node.inputs.begin());
  // Each number is tried once, whatever names the file has.
  std::size_t number = 0;
  const auto make_names = [&](std::vector<OnnxUse> uses) {
    for (OnnxUse& use : uses) {
      std::string name;
      do name = fmt::format("sample_{}", number++);
      while (taken(name));
      use.name = names.emplace_back(std::move(name));
    }
    return uses;
  };
  OnnxNode sample = node;
  sample.opset = node.opset = kOfOneSample;
  sample.inputs = make_names(node.inputs);
  sample.outputs = make_names(node.outputs);
  for (OnnxAttribute& attribute : sample.attributes)
    if (attribute.name == "directions") attribute.name = "scan_input_directions";

  OnnxAttribute body;
  body.name = "body";
  body.type = OnnxAttributeType::kGraph;
  OnnxGraph& graph = *body.inlined.emplace_back(std::make_shared<OnnxGraph>());
  graph.inputs = named(sample.inputs);
  graph.outputs = named(sample.outputs);
  graph.nodes.push_back(std::move(sample));
  node.attributes = {count_of(node.inputs.size()), std::move(body)};
  return {};
}

}  // namespace parallax
