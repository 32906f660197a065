#include "load/onnx/normalize/rewriting.h"

#include <fmt/core.h>

#include "load/names.h"

namespace parallax {

ValueId Rewriting::need(std::size_t i) {
  if (!has(i)) invalid(fmt::format("input {} is missing", i));
  return in(i);
}

void Rewriting::result(OpKind kind, std::vector<ValueId> inputs, Attributes attributes) {
  kind_ = kind;
  result_ = std::move(inputs);
  attributes_ = std::move(attributes);
}

void Rewriting::output(std::size_t i, OpKind kind, std::vector<ValueId> inputs,
                       Attributes attributes) {
  if (!reads_output(i)) return;
  write({name_of(kind), kind, std::move(attributes), std::move(inputs), {file_.node.outputs[i]}});
  file_.node.outputs[i] = ValueId{};
}

Status Rewriting::finish() {
  if (failed()) return status();
  for (const auto& [name, value] : file_.node.attributes)
    return file_.refuse(fmt::format("attribute {} is not supported", quote(name)));
  for (std::size_t i = 1; i < file_.node.outputs.size(); ++i)
    if (reads_output(i)) return file_.refuse(fmt::format("output {} is not supported", i));
  file_.node.outputs.resize(1);
  file_.node.op = kind_;
  file_.node.inputs = trimmed(std::move(result_));
  file_.node.attributes = std::move(attributes_);
  return {};
}

}  // namespace parallax
