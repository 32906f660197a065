#include "load/foreign_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace parallax {
namespace {

struct Format {
  std::size_t offset;
  std::string_view magic, text;
};
constexpr Format kFormats[] = {
    {0, "version https://git-lfs.github.com/spec/",
     "a Git LFS pointer: 'git lfs pull' fetches the file that it stands for"},
    {4, "ORTM", "a model in ONNX Runtime's own format (.ort): load the ONNX file it was made from"},
    {0, "PK\x03\x04",
     "a ZIP archive, as PyTorch's .pt files are: unpack it, or export the model to ONNX"},
    {0, "GGUF", "a GGUF file, which has weights but no graph: export the model to ONNX"}};

/// Without regard to case, `pattern` being in lower case.
bool begins_with(std::string_view text, std::string_view pattern) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= pattern.size() &&
         std::ranges::equal(text.substr(0, pattern.size()), pattern, {}, lower);
}

bool is_html(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return begins_with(text, "<!doctype html") || begins_with(text, "<html");
}

/// The size of a header in JSON, then the header.
bool is_safetensors(std::string_view text) {
  std::uint64_t header = 0;
  if (text.size() <= sizeof header || text[sizeof header] != '{') return false;
  std::memcpy(&header, text.data(), sizeof header);
  return header >= 2 && header <= text.size() - sizeof header;
}

}  // namespace

std::optional<std::string_view> foreign_file(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats) {
    if (text.size() > format.offset && text.substr(format.offset).starts_with(format.magic))
      return format.text;
  }
  if (is_html(text)) return "an HTML page, perhaps what a server answered instead of the file";
  if (is_safetensors(text)) {
    return "a safetensors file, which has weights but no graph: export the model to ONNX";
  }
  return std::nullopt;
}

}  // namespace parallax
