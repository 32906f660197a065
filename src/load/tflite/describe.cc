// A TFLite file's statements about itself.
#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "load/names.h"
#include "load/tflite/entry.h"
#include "load/tflite/metadata.h"
#include "load/tflite/quantization.h"
#include "load/tflite/rules/rules.h"
#include "load/tflite/tflite.h"

namespace parallax {
namespace {

std::string type_name(schema::TensorType type) {
  const auto dtype = dtype_of(type);
  if (dtype) return std::string(to_string(*dtype));
  return type == schema::TensorType::COMPLEX64 ? "complex64" : "unknown";
}

FileTensor describe(const schema::SubGraph& graph, std::int32_t index, std::string_view name) {
  const schema::Tensor& tensor = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  FileTensor described;
  described.name = name;
  described.type = type_name(tensor.type());
  described.shape.emplace();
  const Dims dims = dims_of(tensor);
  const auto open = elements_of(tensor.shape_signature());
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims.rank()); ++axis)
    described.shape->push_back(
        {axis < open.size() && open[axis] < 0 ? -1 : dims[static_cast<int>(axis)], ""});
  described.index = index;
  if (is_quantized(tensor)) described.quantization = quantization_of(tensor);
  return described;
}

/// open_tflite() has bounded how many names all signatures have together.
void add_signatures(const TfliteFile& file, FileReport& report) {
  const auto* const signatures = file.model->signature_defs();
  for (std::size_t i = 0; i < length_of(signatures); ++i) {
    const auto& signature = *signatures->Get(static_cast<flatbuffers::uoffset_t>(i));
    const schema::SubGraph& graph = *file.subgraphs[signature.subgraph_index()].graph;
    const auto tensors = [&](const auto* maps) {
      std::vector<FileTensor> list;
      for (std::size_t k = 0; k < length_of(maps); ++k) {
        const auto& map = *maps->Get(static_cast<flatbuffers::uoffset_t>(k));
        list.push_back(
            describe(graph, static_cast<std::int32_t>(map.tensor_index()), text_of(map.name())));
      }
      return list;
    };
    report.signatures.push_back({std::string(text_of(signature.signature_key())),
                                 tensors(signature.inputs()), tensors(signature.outputs())});
  }
}

void add_weights(const TfliteFile& file, const schema::SubGraph& graph, FileReport& report) {
  std::map<std::string, FileWeights> by_type;
  for (std::size_t i = 0; i < length_of(graph.tensors()); ++i) {
    const schema::Tensor& tensor = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto bytes = constant_bytes(file, tensor);
    if (bytes.empty()) continue;
    FileWeights& weights = by_type[type_name(tensor.type())];
    ++weights.tensors;
    weights.parameters = saturating_add(weights.parameters, dims_of(tensor).elements());
    weights.bytes = saturating_add(weights.bytes, std::ssize(bytes));
  }
  for (auto& [type, weights] : by_type) {
    weights.type = type;
    report.weights.push_back(std::move(weights));
  }
  std::ranges::stable_sort(report.weights, std::greater{}, &FileWeights::bytes);
}

void add_operators(const TfliteFile& file, FileReport& report) {
  std::map<std::string, FileOperator> by_name;
  for (const TfliteSubgraph& subgraph : file.subgraphs) {
    for (const std::int32_t index : subgraph.order) {
      const auto& op =
          *subgraph.graph->operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
      const schema::OperatorCode& code = code_of(file, op);
      FileOperator& row = by_name[code_name(code)];
      ++report.nodes;
      ++row.count;
      row.opset = std::max<std::int64_t>(row.opset, code.version());
      row.supported = is_tflite_supported(code);
    }
  }
  for (auto& [name, row] : by_name) {
    row.name = shorten(name);
    report.operators.push_back(std::move(row));
  }
  std::ranges::stable_sort(report.operators, std::greater{}, &FileOperator::count);
}

}  // namespace

Result<DescribedModel> describe_tflite(std::span<const std::byte> bytes) {
  PX_ASSIGN(const TfliteFile file, open_tflite(bytes));
  PX_ASSIGN(const TfliteEntry entry, find_entry(file, {}));
  const schema::SubGraph& graph = *file.subgraphs[entry.subgraph].graph;
  DescribedModel described;
  FileReport& report = described.report;
  report.format = "TFLite";
  report.format_version = file.model->version();
  const auto inputs = elements_of(graph.inputs()), outputs = elements_of(graph.outputs());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    report.inputs.push_back(describe(graph, inputs[i], entry.inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    report.outputs.push_back(describe(graph, outputs[i], entry.outputs[i]));
  add_signatures(file, report);
  add_operators(file, report);
  for (const TfliteSubgraph& subgraph : file.subgraphs) add_weights(file, *subgraph.graph, report);
  report.metadata = tflite_metadata(file, text_of(graph.name()));
  described.kinds.resize(report.operators.size());
  return described;
}

}  // namespace parallax
