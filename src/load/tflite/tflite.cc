#include "load/tflite/tflite.h"

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/assemble.h"
#include "load/within_memory.h"
#include "ops/infer.h"

namespace parallax {
namespace {

Result<Graph> load(const ModelBytes& model, const LoadOptions& options, LoadQuota& quota,
                   std::vector<UnsupportedNode>* noted = nullptr) {
  PX_ASSIGN(const TfliteFile file, open_tflite(model.bytes));
  PX_ASSIGN(const TfliteEntry entry, find_entry(file, options.signature));
  quota.allow_file(std::ssize(model.bytes));
  const auto& owner = file.copy == nullptr ? model.owner : file.copy;
  PX_ASSIGN(Graph graph, assemble_tflite(file, entry, options.inputs, owner, quota, noted));
  settle(graph, quota);
  PX_RETURN_IF_ERROR(verify(graph, Stage::kLoad));
  return graph;
}

}  // namespace

Result<Graph> load_tflite(const ModelBytes& model, const LoadOptions& options,
                          std::vector<NamedFile>* /*external*/, LoadQuota* quota) {
  LoadQuota own;
  return within_memory([&] { return load(model, options, quota == nullptr ? own : *quota); });
}

Result<std::vector<UnsupportedNode>> check_tflite(const ModelBytes& model,
                                                  const LoadOptions& options) {
  return within_memory([&]() -> Result<std::vector<UnsupportedNode>> {
    LoadQuota quota;
    std::vector<UnsupportedNode> noted;
    auto graph = load(model, options, quota, &noted);
    const bool listed = !noted.empty() && !graph && graph.error().code == ErrorCode::kUnsupported;
    if (!graph && !listed) return tl::unexpected(std::move(graph).error());
    return noted;
  });
}

}  // namespace parallax
