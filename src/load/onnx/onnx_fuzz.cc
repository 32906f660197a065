// libFuzzer: any bytes as an ONNX file.
#include "load/onnx/onnx.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parallax;
  // Memory of exactly that size, so that the sanitizer sees every byte too far.
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto owner = std::make_shared<std::vector<std::byte>>(bytes, bytes + size);
  const auto graph = load_onnx({std::span<const std::byte>(*owner), owner, {}});
  // A graph that loads is valid.
  if (graph && !verify(*graph, Stage::kLoad)) std::abort();
  return 0;
}
