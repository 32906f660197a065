#include "files/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "files/files.h"
#include "files/npy_types.h"

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 1U << 16;  // NumPy itself refuses headers over 10,000 bytes

Error invalid(const fs::path& path, std::string_view what) {
  return {Stage::kFiles, ErrorCode::kInvalidInput, {}, fmt::format("{}: {}", path.string(), what)};
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

struct Header {
  std::string type;  // NumPy's code
  Dims dims;
  bool fortran = false;           // the first axis varies fastest
  std::uintmax_t data_bytes = 0;  // that follow
};

bool read_bytes(const File& file, void* to, std::size_t bytes) {
  return std::fread(to, 1, bytes, file.get()) == bytes;
}

Result<std::string> read_header_text(const File& file, const fs::path& path) {
  char start[8] = {};
  if (!read_bytes(file, start, 8) || std::string_view(start, 6) != kMagic)
    return tl::unexpected(invalid(path, "is not an .npy file"));
  unsigned char size[4] = {};
  if (!read_bytes(file, size, start[6] == 1 ? 2 : 4))
    return tl::unexpected(invalid(path, "the file ends in its header"));
  const std::size_t length =
      size[0] | size[1] << 8 | size[2] << 16 | static_cast<std::size_t>(size[3]) << 24;
  if (length > kMaxHeader) return tl::unexpected(invalid(path, "the header is too long"));
  std::string header(length, '\0');
  if (!read_bytes(file, header.data(), length))
    return tl::unexpected(invalid(path, "the file ends in its header"));
  return header;
}

Result<Header> read_header(const File& file, const fs::path& path) {
  auto text = read_header_text(file, path);
  if (!text) return tl::unexpected(text.error());
  Header header;
  const std::string_view type = after_key(*text, "descr");
  if (type.starts_with('\'') && type.find('\'', 1) != std::string_view::npos)
    header.type = type.substr(1, type.find('\'', 1) - 1);
  header.fortran = after_key(*text, "fortran_order").starts_with("True");
  if (!header.fortran && !after_key(*text, "fortran_order").starts_with("False"))
    return tl::unexpected(invalid(path, "its order has no meaning"));
  const auto dims = parse_shape(after_key(*text, "shape"));
  if (!dims)
    return tl::unexpected(invalid(
        path, fmt::format("its shape has no meaning or more than {} dimensions", Dims::kMaxRank)));
  header.dims = *dims;
  const std::int64_t at = std::ftell(file.get());
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && at >= 0 && size >= static_cast<std::uintmax_t>(at))
    header.data_bytes = size - static_cast<std::uintmax_t>(at);
  return header;
}

// Refuses a file that holds other bytes than those of its shape: nothing is allocated before.
Status check_size(const Header& header, DType dtype, const fs::path& path) {
  const auto bytes = bytes_of(npy_layout(dtype), header.dims);
  if (bytes && static_cast<std::uintmax_t>(*bytes) == header.data_bytes) return {};
  return tl::unexpected(invalid(path, fmt::format("holds {} bytes of data, not those of {}",
                                                  header.data_bytes, header.dims.to_string())));
}

// Writes elements of `item` bytes, which come with the first axis varying fastest, to their places
// in C order.
class FortranWriter {
 public:
  FortranWriter(const Dims& dims, std::span<std::byte> to, std::size_t item)
      : dims_(dims), to_(to), item_(item), steps_(dims.rank(), item), index_(dims.rank(), 0) {
    for (std::size_t axis = dims.rank(); axis-- > 1;)
      steps_[axis - 1] = steps_[axis] * static_cast<std::size_t>(dims[axis]);
  }

  // REQUIRES: whole elements, no more than are left.
  void write(std::span<const std::byte> from) {
    for (std::size_t at = 0; at < from.size(); at += item_) {
      std::memcpy(to_.data() + place_, from.data() + at, item_);
      advance();
    }
  }

 private:
  void advance() {
    for (std::size_t axis = 0; axis < index_.size(); ++axis) {
      place_ += steps_[axis];
      if (++index_[axis] < dims_[axis]) return;
      place_ -= steps_[axis] * static_cast<std::size_t>(dims_[axis]);
      index_[axis] = 0;
    }
  }

  const Dims& dims_;
  std::span<std::byte> to_;
  std::size_t item_;
  std::vector<std::size_t> steps_;  // bytes, by axis
  std::vector<std::int64_t> index_;
  std::size_t place_ = 0;
};

// Reads all elements in C order, whichever the file has. REQUIRES: check_size.
bool read_elements(const File& file, const Header& header, std::span<std::byte> to) {
  if (!header.fortran || header.dims.rank() < 2 || to.empty())
    return read_bytes(file, to.data(), to.size());
  constexpr std::size_t kElementsRead = 4096;
  const std::size_t item = to.size() / static_cast<std::size_t>(header.dims.elements());
  FortranWriter writer(header.dims, to, item);
  std::vector<std::byte> part(std::min(kElementsRead * item, to.size()));
  for (std::size_t left = to.size(); left > 0; left -= part.size()) {
    part.resize(std::min(part.size(), left));
    if (!read_bytes(file, part.data(), part.size())) return false;
    writer.write(part);
  }
  return true;
}

Result<Tensor> read_data(const File& file, const fs::path& path, const Header& header,
                         DType dtype) {
  if (auto status = check_size(header, dtype, path); !status) return tl::unexpected(status.error());
  auto tensor = Tensor::allocate(npy_layout(dtype), header.dims);
  if (!tensor) return tensor;
  const auto bytes = tensor->mutable_view().bytes;
  if (!read_elements(file, header, bytes))
    return tl::unexpected(invalid(path, "cannot be read to its end"));
  if (dtype == DType::kBool)
    std::transform(bytes.begin(), bytes.end(), bytes.begin(),
                   [](std::byte b) { return std::byte{b != std::byte{0}}; });
  return npy_layout(dtype) == dtype ? std::move(tensor) : npy_pack(tensor->view(), dtype);
}

Result<Tensor> read_cast(const File& file, const fs::path& path, const Header& header,
                         DType wanted) {
  const auto given = npy_dtype(header.type);
  if (!given)
    return tl::unexpected(invalid(
        path, fmt::format("holds {}, which are not numbers to convert", npy_name(header.type))));
  if (auto status = check_size(header, *given, path); !status)
    return tl::unexpected(status.error());
  auto tensor = Tensor::allocate(wanted, header.dims);
  if (!tensor) return tensor;
  std::vector<std::byte> bytes(header.data_bytes);
  if (!read_elements(file, header, bytes))
    return tl::unexpected(invalid(path, "cannot be read to its end"));
  const auto wrong = npy_convert(*given, bytes, tensor->mutable_view());
  if (!wrong) return tensor;
  return tl::unexpected(invalid(path, fmt::format("element {} is {}, which is not a valid {}",
                                                  wrong->index, wrong->value, to_string(wanted))));
}

}  // namespace

Result<Tensor> read_npy(const fs::path& path, std::optional<DType> meant) {
  auto file = open_to_read(path);
  if (!file) return tl::unexpected(file.error());
  auto header = read_header(*file, path);
  if (!header) return tl::unexpected(header.error());
  const auto dtype = meant && npy_holds(header->type, *meant) ? meant : npy_dtype(header->type);
  if (dtype) return read_data(*file, path, *header, *dtype);
  std::vector<std::string_view> readable;
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (npy_dtype(npy_type(static_cast<DType>(i)))) readable.push_back(kDTypes[i].numpy);
  return tl::unexpected(invalid(
      path,
      fmt::format("holds {}; {} can be read", npy_name(header->type), fmt::join(readable, ", "))));
}

Result<Tensor> read_npy_as(const fs::path& path, DType wanted, bool cast) {
  auto file = open_to_read(path);
  if (!file) return tl::unexpected(file.error());
  auto header = read_header(*file, path);
  if (!header) return tl::unexpected(header.error());
  if (npy_holds(header->type, wanted)) return read_data(*file, path, *header, wanted);
  if (cast) return read_cast(*file, path, *header, wanted);
  return tl::unexpected(invalid(
      path,
      fmt::format("holds {}, {} is wanted; {}", npy_name(header->type), to_string(wanted),
                  npy_dtype(header->type) ? "--cast converts it" : "no option converts that")));
}

Status write_npy(const fs::path& path, const TensorView& tensor) {
  const std::string type = npy_type(tensor.dtype);
  if (type.empty())
    return tl::unexpected(
        invalid(path, fmt::format("NumPy has no type for {}", to_string(tensor.dtype))));
  std::string shape;
  for (std::int64_t d : tensor.dims) shape += fmt::format("{}, ", d);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64,
                ' ');  // data begin at a multiple of 64
  header += '\n';
  const char numbers[4] = {1, 0, static_cast<char>(header.size() & 0xFF),
                           static_cast<char>(header.size() >> 8)};
  std::optional<Tensor> unpacked;
  if (npy_layout(tensor.dtype) != tensor.dtype) {
    auto bytes = npy_unpack(tensor);
    if (!bytes) return tl::unexpected(bytes.error());
    unpacked = *std::move(bytes);
  }
  const auto bytes = unpacked ? unpacked->view().bytes : tensor.bytes;
  return write_file(path, {kMagic,
                           std::string_view(numbers, 4),
                           header,
                           {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
}

}  // namespace parallax::cli
