#include "delegates/opencl/device/program_cache.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <string>

#include "base/files/hash.h"
#include "base/files/mapped_file.h"
#include "base/files/replace_file.h"

namespace parallax::opencl {

std::filesystem::path program_file(const std::filesystem::path& folder, std::string_view device,
                                   std::string_view source) {
  std::string text(device);
  text += '\0';
  text += source;
  const Hash128 hash = hash128(std::as_bytes(std::span(text)));
  return folder / fmt::format("opencl-{:016x}{:016x}.bin", hash.high, hash.low);
}

std::optional<std::vector<std::byte>> read_program(const std::filesystem::path& file) {
  const auto mapped = MappedFile::open(file);
  if (!mapped) return std::nullopt;
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  Hash128 written;
  if (bytes.size() <= sizeof(written)) return std::nullopt;
  std::memcpy(&written, bytes.data(), sizeof(written));
  const auto binary = bytes.subspan(sizeof(written));
  if (hash128(binary) != written) return std::nullopt;
  return std::vector<std::byte>(binary.begin(), binary.end());
}

void write_program(const std::filesystem::path& file, std::span<const std::byte> binary) {
  const Hash128 hash = hash128(binary);
  const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(&hash, 1)),
                                                           binary};
  (void)replace_file(file, parts, seal_time());
}

}  // namespace parallax::opencl
