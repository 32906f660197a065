// libFuzzer: any bytes as a snapshot of a graph.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "ir/snapshot.h"
#include "ops/infer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parallax;
  constexpr std::int64_t kMax = 1 << 16;
  static const auto zeros = std::make_shared<const std::array<std::byte, kMax>>();
  const NextConstant next = [](std::int64_t bytes) -> std::optional<SharedBytes> {
    if (bytes > kMax) return std::nullopt;
    return SharedBytes{std::span(*zeros).first(static_cast<std::size_t>(bytes)), zeros};
  };
  auto graph = graph_of(std::as_bytes(std::span(data, size)), next);
  // As the cache reads it: only what passes is used, and it has one snapshot.
  if (!graph || !verify(*graph, Stage::kLoad) || !infer_graph(*graph)) return 0;
  if (!verify(*graph, Stage::kLoad)) std::abort();
  const GraphSnapshot snapshot = snapshot_of(*graph);
  const auto again = graph_of(snapshot.bytes, next);
  if (!again || snapshot_of(*again).bytes != snapshot.bytes) std::abort();
  return 0;
}
