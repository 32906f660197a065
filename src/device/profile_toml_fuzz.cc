// libFuzzer: arbitrary text as a device profile, a calibration and a pinned plan.
#include "device/profile_toml.h"

#include <cstdint>

#include "partition/pin_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parallax::parse_profile(text, "fuzz.toml");
  (void)parallax::parse_calibration(text, "fuzz.toml");
  (void)parallax::parse_pins(text, "fuzz.toml");
  return 0;
}
