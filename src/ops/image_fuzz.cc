// libFuzzer: any bytes as a graph that the cache has kept.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "ir/image.h"
#include "ops/infer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parallax;
  constexpr std::int64_t kMost = 1 << 16;
  static const auto zeros = std::make_shared<const std::array<std::byte, kMost>>();
  const NextConstant next = [](std::int64_t bytes) -> std::optional<SharedBytes> {
    if (bytes > kMost) return std::nullopt;
    return SharedBytes{std::span(*zeros).first(static_cast<std::size_t>(bytes)), zeros};
  };
  auto graph = graph_of(std::as_bytes(std::span(data, size)), next);
  // As the cache reads it: only what passes is used, and it has one image.
  if (!graph || !verify(*graph, Stage::kLoad) || !infer_graph(*graph)) return 0;
  if (!verify(*graph, Stage::kLoad)) std::abort();
  const GraphImage image = image_of(*graph);
  const auto again = graph_of(image.bytes, next);
  if (!again || image_of(*again).bytes != image.bytes) std::abort();
  return 0;
}
