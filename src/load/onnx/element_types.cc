#include "load/onnx/element_types.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <string>

#include "load/names.h"
#include "load/onnx/tensor.h"

namespace parallax {
namespace {

class MissingTypes {
 public:
  void look_at(std::int64_t type, std::string_view what, std::string_view name) {
    const auto dtype = onnx_dtype(type, {});
    if (dtype || dtype.error().code != ErrorCode::kUnsupported) return;
    Uses& uses = uses_[type];
    if (uses.count++ == 0) uses.first = fmt::format("{} {}", what, quote(name));
  }

  Status status() const {
    if (uses_.size() < 2) return {};
    std::string list;
    for (const auto& [type, uses] : uses_) {
      fmt::format_to(std::back_inserter(list), "{}{} ({}", list.empty() ? "" : ", ",
                     onnx_type_name(type), uses.first);
      if (uses.count > 1) fmt::format_to(std::back_inserter(list), " and {} more", uses.count - 1);
      list += ')';
    }
    return unsupported("unsupported element types: " + list);
  }

 private:
  struct Uses {
    std::string first;
    std::int64_t count = 0;
  };
  std::map<std::int64_t, Uses> uses_;  ///< keyed by type
};

}  // namespace

Status check_element_types(const CheckedGraph& checked) {
  MissingTypes missing;
  for (const OnnxValueInfo& input : checked.graph.inputs)
    if (input.is_tensor) missing.look_at(input.element_type, "input", input.name);
  for (const OnnxTensor& tensor : checked.graph.initializers)
    if (checked.names.at(tensor.name).read)
      missing.look_at(tensor.data_type, "tensor", tensor.name);
  for (const OnnxValueInfo& output : checked.graph.outputs)
    if (output.is_tensor) missing.look_at(output.element_type, "output", output.name);
  return missing.status();
}

}  // namespace parallax
