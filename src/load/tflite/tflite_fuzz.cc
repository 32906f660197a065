// libFuzzer: any bytes as a TFLite file.
#include <cstdint>
#include <string_view>

#include "load/tflite_test_util.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parallax;
  const OpenedTflite opened({reinterpret_cast<const char*>(data), size});
  if (opened.file) read_all(*opened.file);
  return 0;
}
