#include "npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

namespace parallax::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 1U << 16;  // NumPy itself refuses headers over 10,000 bytes

Error invalid(const std::filesystem::path& path, std::string_view what) {
  return {Stage::kIo, ErrorCode::kInvalidInput, {}, fmt::format("{}: {}", path.string(), what)};
}

// '<' little endian, '|' not applicable, then kind and bytes.
std::string_view npy_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "<f4";
    case DType::kI64:
      return "<i8";
    case DType::kI32:
      return "<i4";
    case DType::kI8:
      return "|i1";
    case DType::kU8:
      return "|u1";
    case DType::kBool:
      return "|b1";
  }
  return "";
}

std::optional<DType> dtype_of(std::string_view type) {
  for (DType d : {DType::kF32, DType::kI64, DType::kI32, DType::kI8, DType::kU8, DType::kBool}) {
    if (npy_type(d) == type) return d;
  }
  return std::nullopt;
}

// The text after `'key':` in the header's Python dictionary, blanks skipped.
std::string_view after_key(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  const std::size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return {};
  const std::size_t value = header.find_first_not_of(' ', colon + 1);
  return value == std::string_view::npos ? std::string_view{} : header.substr(value);
}

std::optional<Dims> parse_shape(std::string_view text) {
  if (text.empty() || text[0] != '(') return std::nullopt;
  Dims dims;
  for (std::size_t i = 1; i < text.size() && text[i] != ')';) {
    if (text[i] == ',' || text[i] == ' ') {
      ++i;
      continue;
    }
    std::int64_t dim = -1;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), dim);
    if (error != std::errc{} || dim < 0 || dims.rank() == Dims::kMaxRank) return std::nullopt;
    dims.push_back(dim);
    i = static_cast<std::size_t>(end - text.data());
  }
  return dims;
}

Result<std::string> read_header(std::ifstream& file, const std::filesystem::path& path) {
  char start[8] = {};
  if (!file.read(start, 8) || std::string_view(start, 6) != kMagic)
    return tl::unexpected(invalid(path, "is not an .npy file"));
  unsigned char size[4] = {};
  const int bytes = start[6] == 1 ? 2 : 4;
  if (!file.read(reinterpret_cast<char*>(size), bytes))
    return tl::unexpected(invalid(path, "the file ends in its header"));
  const std::size_t length =
      size[0] | size[1] << 8 | size[2] << 16 | static_cast<std::size_t>(size[3]) << 24;
  if (length > kMaxHeader) return tl::unexpected(invalid(path, "the header is too long"));
  std::string header(length, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(length)))
    return tl::unexpected(invalid(path, "the file ends in its header"));
  return header;
}

}  // namespace

Result<Tensor> read_npy(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream file;  // opened only if regular: a pipe would wait for a writer
  if (std::filesystem::is_regular_file(path, error)) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    return tl::unexpected(
        Error{Stage::kIo, ErrorCode::kIo, {}, fmt::format("cannot read {}", path.string())});
  }
  auto header = read_header(file, path);
  if (!header) return tl::unexpected(header.error());
  const std::string_view type = after_key(*header, "descr");
  const auto dtype = type.size() > 4 ? dtype_of(type.substr(1, 3)) : std::nullopt;
  if (!dtype)
    return tl::unexpected(
        invalid(path, "its element type is none of float32, int64, int32, int8, uint8, bool"));
  if (!after_key(*header, "fortran_order").starts_with("False"))
    return tl::unexpected(invalid(path, "is not in C order"));
  const auto dims = parse_shape(after_key(*header, "shape"));
  if (!dims)
    return tl::unexpected(invalid(
        path, fmt::format("its shape has no meaning or more than {} dimensions", Dims::kMaxRank)));

  const auto elements = dims->checked_elements();
  const auto present =
      std::filesystem::file_size(path, error) - static_cast<std::uintmax_t>(file.tellg());
  if (!elements || *elements > std::numeric_limits<std::int64_t>::max() / 8 ||
      static_cast<std::uintmax_t>(*elements * size_of(*dtype)) != present) {
    return tl::unexpected(invalid(
        path, fmt::format("holds {} bytes of data, not those of {}", present, dims->to_string())));
  }
  auto tensor = Tensor::allocate(*dtype, *dims);
  if (!tensor) return tensor;
  const auto bytes = tensor->mutable_view().bytes;
  if (!file.read(reinterpret_cast<char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()))) {
    return tl::unexpected(invalid(path, "cannot be read to its end"));
  }
  if (*dtype == DType::kBool)
    std::transform(bytes.begin(), bytes.end(), bytes.begin(),
                   [](std::byte b) { return std::byte{b != std::byte{0}}; });
  return tensor;
}

Status write_npy(const std::filesystem::path& path, const TensorView& tensor) {
  std::string shape;
  for (std::int64_t d : tensor.dims) shape += fmt::format("{}, ", d);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   npy_type(tensor.dtype), shape);
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64,
                ' ');  // data begin at a multiple of 64
  header += '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xFF)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char*>(tensor.bytes.data()),
             static_cast<std::streamsize>(tensor.bytes.size()));
  file.close();
  if (!file)
    return tl::unexpected(
        Error{Stage::kIo, ErrorCode::kIo, {}, fmt::format("cannot write {}", path.string())});
  return {};
}

}  // namespace parallax::cli
