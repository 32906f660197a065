#include "inputs/stb_heap.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

// The part of the heap that is left, from the front. Nothing is given back.
std::byte* next = nullptr;
std::byte* end = nullptr;
constexpr std::size_t kAlignment = 64;

void* take(std::size_t bytes) {
  const std::size_t room = static_cast<std::size_t>(end - next);
  if (bytes > room || room - bytes < kAlignment) return nullptr;
  void* const block = next;
  next += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return block;
}

// A block at the end grows where it is.
void* take_again(void* block, std::size_t bytes, std::size_t wanted) {
  if (block == nullptr) return take(wanted);
  if (wanted <= bytes) return block;
  auto* const begin = static_cast<std::byte*>(block);
  if (begin + (bytes + kAlignment - 1) / kAlignment * kAlignment == next) {
    std::byte* const before = next;
    next = begin;
    if (void* const grown = take(wanted)) return grown;
    next = before;
    return nullptr;
  }
  void* const copy = take(wanted);
  if (copy != nullptr) std::memcpy(copy, block, bytes);
  return copy;
}

}  // namespace

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#define STBI_MALLOC(bytes) take(bytes)
#define STBI_REALLOC_SIZED(block, bytes, wanted) take_again(block, bytes, wanted)
#define STBI_REALLOC(block, wanted) nullptr  // not called: the sized one is there
#define STBI_FREE(block) static_cast<void>(block)
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>

namespace parallax::cli {

const char* decode_with_stb(std::span<const std::byte> file, int channels,
                            std::span<std::byte> heap, int most_side, int most_pixels,
                            DecodedPixels to) {
  next = heap.data();
  end = heap.data() + heap.size();
  const auto* const bytes = reinterpret_cast<const stbi_uc*>(file.data());
  const int size = static_cast<int>(file.size());
  int width = 0, height = 0, in_file = 0;
  if (stbi_info_from_memory(bytes, size, &width, &height, &in_file) == 0)
    return stbi_failure_reason();
  if (width > most_side || height > most_side || height > most_pixels / std::max(width, 1))
    return "has too many pixels";
  // So that a small file cannot fill the heap: samples of 16 bits of four channels before and
  // behind their filter, and what is made of them.
  const std::size_t enough =
      (std::size_t{1} << 24U) + file.size() +
      std::size_t{24} * static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  end = next + std::min(enough, static_cast<std::size_t>(end - next));
  const stbi_uc* const pixels =
      stbi_load_from_memory(bytes, size, to.width, to.height, &in_file, channels);
  if (pixels == nullptr) return stbi_failure_reason();
  if (*to.width != width || *to.height != height) return "contradicts itself";
  std::memcpy(to.pixels, pixels,
              static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                  static_cast<std::size_t>(channels));
  return nullptr;
}

}  // namespace parallax::cli
