// libFuzzer: arbitrary bytes as a cache file. The checksums are corrected first: they detect
// damage, but an attacker who writes into the folder can compute them, too.
#include "cache/block_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<std::byte>;

// Offsets of the header's numbers, and lengths of rows, as in block_file.cc.
constexpr std::size_t kFileBytes = 8, kVersion = 16, kSources = 24, kBlocks = 32, kSealed = 40,
                      kChecksum = 48, kHeader = 56, kSourceRow = 56, kBlockRow = 40;

std::uint64_t number(const Bytes& bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
void set(Bytes& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Sets the time of writing to second 1, so that blocks need no checksums.
void mend(Bytes& bytes) {
  if (bytes.size() < kHeader) return;
  std::memcpy(bytes.data(), "PXBLOCK1", 8);
  set(bytes, kFileBytes, bytes.size());
  set(bytes, kSealed, 1);
  set(bytes, kChecksum, 0);
  const std::array counts = {number(bytes, kVersion), number(bytes, kSources),
                             number(bytes, kBlocks)};
  std::uint64_t index = kHeader;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > bytes.size()) return;
    index += counts[i] * std::array<std::size_t, 3>{1, kSourceRow, kBlockRow}[i];
  }
  if (index <= bytes.size()) set(bytes, kChecksum, parallax::hash64(std::span(bytes).first(index)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parallax;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  Bytes bytes(first, first + size);
  mend(bytes);
  const int file = memfd_create("fuzz", 0);
  const bool written = write(file, bytes.data(), bytes.size()) == std::ssize(bytes);
  constexpr std::array<timespec, 2> kTimes = {timespec{1, 0}, timespec{1, 0}};
  futimens(file, kTimes.data());
  if (written) {
    if (const auto mapped = MappedFile::open("/proc/self/fd/" + std::to_string(file))) {
      if (const auto blocks = read_block_file(**mapped)) {
        std::size_t sum = 0;
        for (const Block& block : blocks->blocks)
          for (const std::byte byte : block.bytes) sum += static_cast<std::size_t>(byte);
        volatile std::size_t kept = sum;  // every byte is read
        (void)kept;
      }
    }
  }
  close(file);
  return 0;
}
