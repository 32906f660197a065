#include "load/onnx/onnx.h"

#include <fmt/core.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "load/foreign_file.h"
#include "load/names.h"
#include "load/onnx/assemble.h"
#include "load/onnx/element_types.h"
#include "load/onnx/functions.h"
#include "load/onnx/graph_memory.h"
#include "load/onnx/known_inputs.h"
#include "load/onnx/proto/proto.h"
#include "load/onnx/structure.h"
#include "load/within_memory.h"
#include "ops/infer.h"

namespace parallax {
namespace {

constexpr std::int64_t kNewestIrVersion = 14;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status check_ir_version(const OnnxModel& model) {
  if (!model.ir_version) return invalid_model("the model has no ir_version");
  if (*model.ir_version >= 3 && *model.ir_version <= kNewestIrVersion) return {};
  return unsupported(fmt::format("IR version {} is not supported, 3 to {} are", *model.ir_version,
                                 kNewestIrVersion));
}

Result<OnnxModel> parse_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return invalid_model("the file is empty");
  if (bytes.size() > std::numeric_limits<std::int32_t>::max()) {
    return invalid_model("the file is larger than the 2 GiB that an ONNX file can have");
  }
  auto model = parse_onnx_model(as_text(bytes));
  if (!model) {
    model.error().message = fmt::format("not an ONNX model, or damaged: {}", model.error().message);
    return model;
  }
  if (!model->graph) return invalid_model("not an ONNX model, or truncated: it has no graph");
  return model;
}

Result<Graph> load(const ModelBytes& bytes, const LoadOptions& options,
                   std::vector<NamedFile>* external, LoadQuota& quota,
                   std::vector<UnsupportedNode>* noted = nullptr) {
  PX_ASSIGN(const OnnxModel model, parse_onnx_file(bytes.bytes));
  if (!options.signature.empty())
    return tl::unexpected(load_error(
        ErrorCode::kInvalidInput,
        fmt::format("the model has no signature {}: ONNX has none", quote(options.signature))));
  PX_RETURN_IF_ERROR(check_ir_version(model));
  PX_RETURN_IF_ERROR(check_opsets(model));
  quota.allow_file(std::ssize(bytes.bytes));
  PX_ASSIGN(OnnxGraph file, parse_onnx_graph(*model.graph));
  quota.allow_kept(memory_of_nodes(file.nodes.size()));
  PX_RETURN_IF_ERROR(apply_known_inputs(options.inputs, *model.ir_version, file));
  std::deque<std::string> names;
  PX_ASSIGN(file, inline_functions(model, std::move(file), quota, names));
  PX_ASSIGN(CheckedGraph checked,
            check_structure(model, std::move(file), options.max_nesting, noted));
  PX_RETURN_IF_ERROR(check_element_types(checked));
  ExternalFiles files({bytes.folder, bytes.linked_folder}, quota);
  PX_ASSIGN(Graph graph, assemble_graph(std::move(checked), bytes, files, quota, noted));
  settle(graph, quota);
  PX_RETURN_IF_ERROR(verify(graph, Stage::kLoad));
  if (external != nullptr) *external = files.files();
  return graph;
}

}  // namespace

Result<OnnxModel> parse_onnx_file(std::span<const std::byte> bytes) {
  auto model = parse_file(bytes);
  if (model) return model;
  const auto foreign = foreign_file(bytes);
  if (foreign) return invalid_model(fmt::format("not an ONNX model but {}", *foreign));
  return model;
}

Result<Graph> load_onnx(const ModelBytes& model, const LoadOptions& options,
                        std::vector<NamedFile>* external, LoadQuota* quota) {
  LoadQuota own;
  return within_memory(
      [&] { return load(model, options, external, quota == nullptr ? own : *quota); });
}

Result<std::vector<UnsupportedNode>> check_onnx(const ModelBytes& model,
                                                const LoadOptions& options) {
  return within_memory([&]() -> Result<std::vector<UnsupportedNode>> {
    LoadQuota quota;
    std::vector<UnsupportedNode> noted;
    auto graph = load(model, options, nullptr, quota, &noted);
    const bool listed = !noted.empty() && !graph && graph.error().code == ErrorCode::kUnsupported;
    if (!graph && !listed) return tl::unexpected(std::move(graph).error());
    return noted;
  });
}

}  // namespace parallax
