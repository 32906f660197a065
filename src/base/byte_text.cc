#include "base/byte_text.h"

#include <fmt/core.h>

#include "parallax/report.h"

namespace parallax {

std::string format_bytes(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 0x1p10);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 0x1p20);
}

std::string byte_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  return fmt::format("{} bytes ({})", bytes, format_bytes(bytes));
}

}  // namespace parallax
