#include "files/pb.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "files/files.h"

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

// Fields of TensorProto.
constexpr protozero::pbf_tag_type kDims = 1, kDataType = 2, kFloatData = 4, kInt32Data = 5,
                                  kInt64Data = 7, kName = 8, kRawData = 9, kDoubleData = 10,
                                  kUint64Data = 11;

Error pb_invalid(const fs::path& file, std::string_view what) {
  return {Stage::kFiles, ErrorCode::kInvalidInput, {}, fmt::format("{}: {}", file.string(), what)};
}

// The fields of a message, in the order of the file.
struct Message {
  std::vector<std::int64_t> dims;
  std::int32_t type = 0;
  std::optional<protozero::data_view> raw;
  protozero::pbf_tag_type field = 0;  // that the units are of
  std::vector<std::byte> units;       // elements of the typed fields
};

// The typed field that holds elements of the type, and the bytes that each of its numbers stands
// for: those below a byte come a byte at a time.
protozero::pbf_tag_type field_of(DType dtype) {
  const DTypeInfo& info = info_of(dtype);
  if (dtype == DType::kF32) return kFloatData;
  if (dtype == DType::kF64) return kDoubleData;
  if (dtype == DType::kI64) return kInt64Data;
  return info.kind == DTypeClass::kUnsigned && info.bits >= 32 ? kUint64Data : kInt32Data;
}

template <class T>
void append(std::vector<std::byte>& bytes, T unit, std::size_t size) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&unit);
  bytes.insert(bytes.end(), begin, begin + size);
}

// Numbers of one field, packed or one by one.
template <class Range, class One>
void read_units(protozero::pbf_reader& reader, std::size_t size, std::vector<std::byte>& units,
                Range range, One one) {
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (const auto unit : range()) append(units, unit, size);
  } else {
    append(units, one(), size);
  }
}

void read_field(protozero::pbf_reader& reader, std::size_t size, Message& message) {
  message.field = reader.tag();
  std::vector<std::byte>& units = message.units;
  const auto with = [&](auto range, auto one) { read_units(reader, size, units, range, one); };
  switch (reader.tag()) {
    case kFloatData:
      return with([&] { return reader.get_packed_float(); }, [&] { return reader.get_float(); });
    case kDoubleData:
      return with([&] { return reader.get_packed_double(); }, [&] { return reader.get_double(); });
    case kInt32Data:
      return with([&] { return reader.get_packed_int32(); }, [&] { return reader.get_int32(); });
    case kInt64Data:
      return with([&] { return reader.get_packed_int64(); }, [&] { return reader.get_int64(); });
    default:
      return with([&] { return reader.get_packed_uint64(); }, [&] { return reader.get_uint64(); });
  }
}

// The type comes before the elements or behind them: it is looked for first.
Message read_message(std::string_view bytes) {
  Message message;
  const protozero::data_view view(bytes.data(), bytes.size());
  for (protozero::pbf_reader reader(view); reader.next();) {
    if (reader.tag() == kDataType)
      message.type = reader.get_int32();
    else
      reader.skip();
  }
  const auto dtype = dtype_from_onnx(message.type);
  const std::int64_t size = dtype ? std::max<std::int64_t>(size_of(*dtype), 1) : 8;
  for (protozero::pbf_reader reader(view); reader.next();) {
    switch (reader.tag()) {
      case kDims:
        if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
          for (const std::int64_t dim : reader.get_packed_int64()) message.dims.push_back(dim);
        } else {
          message.dims.push_back(reader.get_int64());
        }
        break;
      case kRawData:
        message.raw = reader.get_view();
        break;
      case kFloatData:
      case kDoubleData:
      case kInt32Data:
      case kInt64Data:
      case kUint64Data:
        read_field(reader, static_cast<std::size_t>(size), message);
        break;
      default:
        reader.skip();
    }
  }
  return message;
}

Result<Tensor> tensor_of(const Message& message, const fs::path& file) {
  const auto dtype = dtype_from_onnx(message.type);
  if (!dtype || info_of(*dtype).bits == 0)
    return tl::unexpected(pb_invalid(file, fmt::format("has the element type {}", message.type)));
  if (message.dims.size() > static_cast<std::size_t>(Dims::kMaxRank))
    return tl::unexpected(
        pb_invalid(file, fmt::format("has more than {} dimensions", Dims::kMaxRank)));
  if (message.field != 0 && (message.raw || message.field != field_of(*dtype)))
    return tl::unexpected(pb_invalid(file, "its elements are not those of its type"));
  const Dims dims(message.dims);
  std::span<const std::byte> bytes = message.units;
  if (message.raw) bytes = std::as_bytes(std::span(message.raw->data(), message.raw->size()));
  if (bytes_of(*dtype, dims) != static_cast<std::int64_t>(bytes.size()))
    return tl::unexpected(
        pb_invalid(file, fmt::format("holds {} bytes of elements, not those of {}", bytes.size(),
                                     dims.to_string())));
  auto tensor = Tensor::allocate(*dtype, dims);
  if (!tensor) return tensor;
  std::ranges::copy(bytes, tensor->mutable_view().bytes.begin());
  if (*dtype == DType::kBool)
    for (std::byte& b : tensor->mutable_view().bytes) b = std::byte{b != std::byte{0}};
  return tensor;
}

}  // namespace

Result<Tensor> parse_pb_tensor(std::string_view message, const fs::path& file) {
  try {
    return tensor_of(read_message(message), file);
  } catch (const protozero::exception&) {
    return tl::unexpected(pb_invalid(file, "is not an ONNX tensor"));
  }
}

std::string pb_tensor(std::string_view name, const TensorView& tensor) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_packed_int64(kDims, tensor.dims.begin(), tensor.dims.end());
  writer.add_int32(kDataType, info_of(tensor.dtype).onnx);
  if (!name.empty()) writer.add_string(kName, name.data(), name.size());
  writer.add_bytes(kRawData, reinterpret_cast<const char*>(tensor.bytes.data()),
                   tensor.bytes.size());
  return message;
}

Result<std::string> read_pb(const fs::path& path) {
  auto file = open_to_read(path);
  if (!file) return tl::unexpected(file.error());
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return tl::unexpected(cannot_read(path, error.value()));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file->get()));
  return bytes;
}

bool is_pb(const fs::path& file) { return file.extension() == ".pb"; }

}  // namespace parallax::cli
