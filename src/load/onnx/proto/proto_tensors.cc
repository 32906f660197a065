// Tensors, dense and sparse.
#include <fmt/core.h>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/proto/proto.h"
#include "load/onnx/proto/wire.h"
#include "parallax/tensor.h"

namespace parallax {
Result<OnnxEntry> parse_onnx_entry(std::string_view bytes, std::string_view what) {
  OnnxEntry entry;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        entry.key = get_bytes(field);
        return {};
      case 2:
        entry.value = get_bytes(field);
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message(what, bytes, read));
  return entry;
}

namespace {

void add_run(OnnxTensor& tensor, OnnxField field, std::string_view run) {
  tensor.mixed = tensor.mixed || (tensor.field != OnnxField::kNone && tensor.field != field);
  tensor.field = field;
  tensor.runs.push_back(run);
}

}  // namespace

Result<OnnxTensor> parse_onnx_tensor(std::string_view bytes) {
  OnnxTensor tensor;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1:
        append_ints(tensor.dims, get_run(field, pbf_wire_type::varint));
        return {};
      case 2:
        tensor.data_type = get_int(field);
        return {};
      case 3:
        tensor.segment = true;
        return skip_field(field);
      case 4:
        add_run(tensor, OnnxField::kFloat, get_run(field, pbf_wire_type::fixed32));
        return {};
      case 10:
        add_run(tensor, OnnxField::kDouble, get_run(field, pbf_wire_type::fixed64));
        return {};
      case 6:
        add_run(tensor, OnnxField::kString, get_bytes(field));
        return {};
      case 5:
      case 7:
      case 11: {
        const auto typed = static_cast<OnnxField>(field.tag());  // before get_run() moves on
        add_run(tensor, typed, get_run(field, pbf_wire_type::varint));
        return {};
      }
      case 8: {
        PX_ASSIGN(tensor.name, get_name(field, "a tensor"));
        return {};
      }
      case 9:
        tensor.raw_data = get_bytes(field);
        return {};
      case 13: {
        PX_ASSIGN(const OnnxEntry entry, parse_onnx_entry(get_bytes(field), "external data entry"));
        tensor.external_data.push_back(entry);
        return {};
      }
      case 14:
        tensor.data_location = get_int(field);
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("tensor", bytes, read));
  if (tensor.dims.size() > Dims::kMaxRank) {
    return unsupported(fmt::format("tensor {} has {} dimensions, at most {} are supported",
                                   quote(tensor.name), tensor.dims.size(), Dims::kMaxRank));
  }
  return tensor;
}

Result<OnnxSparseTensor> parse_onnx_sparse_tensor(std::string_view bytes) {
  OnnxSparseTensor tensor;
  auto read = [&](pbf_reader& field) -> Status {
    switch (field.tag()) {
      case 1: {
        PX_ASSIGN(tensor.values, parse_onnx_tensor(get_bytes(field)));
        return {};
      }
      case 2: {
        PX_ASSIGN(tensor.indices, parse_onnx_tensor(get_bytes(field)));
        return {};
      }
      case 3:
        append_ints(tensor.dims, get_run(field, pbf_wire_type::varint));
        return {};
      default:
        return skip_field(field);
    }
  };
  PX_RETURN_IF_ERROR(read_message("sparse tensor", bytes, read));
  if (tensor.dims.size() > Dims::kMaxRank) {
    return unsupported(fmt::format("tensor {} has {} dimensions, at most {} are supported",
                                   quote(tensor.values.name), tensor.dims.size(), Dims::kMaxRank));
  }
  return tensor;
}

}  // namespace parallax
