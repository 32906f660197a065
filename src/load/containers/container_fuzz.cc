// libFuzzer: any bytes as a container, and the models in it.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "load/containers/container.h"
#include "load/tflite/tflite_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parallax;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto container = open_container(bytes);
  if (!container || !*container) return 0;
  for (const Section& section : (*container)->sections) {
    // Each section is inside the file and can be found by its name.
    const auto offset = static_cast<std::size_t>(section.bytes.data() - bytes.data());
    if (offset > size || section.bytes.size() > size - offset) std::abort();
    const auto found = find_section(**container, section.shown.name);
    if (found.has_value() != section.shown.is_model) std::abort();
    if (found) (void)open_tflite(*found);
  }
  return 0;
}
