// libFuzzer: any bytes as a TFLite file.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "load/tflite/tflite.h"
#include "load/tflite_test_util.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parallax;
  const OpenedTflite opened({reinterpret_cast<const char*>(data), size});
  if (!opened.file) return 0;
  read_all(*opened.file);
  const auto graph = load_tflite({opened.file->bytes, nullptr, {}}, {}, nullptr, nullptr);
  // A graph that loads is valid.
  if (graph && !verify(*graph, Stage::kLoad)) std::abort();
  return 0;
}
