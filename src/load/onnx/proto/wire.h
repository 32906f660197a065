// Reading fields of protobuf messages from untrusted bytes. protozero, and the functions here that
// take a field of an unexpected wire type, throw; read_message turns that into an Error, so nothing
// leaves the functions that use it. Included by the .cc files of this folder only.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "load/names.h"

namespace parallax {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// Caught by read_message, like protozero's own exceptions.
struct WrongWireType : protozero::exception {
  const char* what() const noexcept override { return "field of the wrong wire type"; }
};

/// Throws WrongWireType if the field has another wire type.
inline void expect(const pbf_reader& field, pbf_wire_type type) {
  if (field.wire_type() != type) throw WrongWireType{};
}

/// Reads a string, bytes or a nested message; the view points into the file. This and the next two
/// throw for another wire type and for bytes that end within the field.
inline std::string_view get_bytes(pbf_reader& field) {
  expect(field, pbf_wire_type::length_delimited);
  const auto view = field.get_view();
  return {view.data(), view.size()};
}

/// Reads a varint as protobuf's int64: negative numbers have ten bytes. Enums and int32 fields are
/// read so too, without a check of their range.
inline std::int64_t get_int(pbf_reader& field) {
  expect(field, pbf_wire_type::varint);
  return field.get_int64();
}

/// Reads four bytes, little-endian.
inline float get_float(pbf_reader& field) {
  expect(field, pbf_wire_type::fixed32);
  return field.get_float();
}

/// Reads a name that passes check_name(); `what` says whose it is. Errors: kInvalidModel.
inline Result<std::string_view> get_name(pbf_reader& field, std::string_view what) {
  const std::string_view name = get_bytes(field);
  PX_RETURN_IF_ERROR(check_name(what, name));
  return name;
}

/// The wire bytes of one occurrence of a repeated scalar field: a packed run, or one element whose
/// unpacked wire type is `element`. For varints and fixed-size numbers; not decoded here.
inline std::string_view get_run(pbf_reader& field, pbf_wire_type element) {
  if (field.wire_type() == pbf_wire_type::length_delimited) return get_bytes(field);
  expect(field, element);
  const auto before = field.data();
  field.skip();
  return {before.data(), before.size() - field.data().size()};
}

/// Decodes a run of varints to the end of `out`. Throws if the last one is cut short. Each byte of
/// the run may become an element of eight bytes.
inline void append_ints(std::vector<std::int64_t>& out, std::string_view run) {
  const char* p = run.data();
  const char* end = p + run.size();
  while (p != end) out.push_back(static_cast<std::int64_t>(protozero::decode_varint(&p, end)));
}

/// Appends one element, or a packed run, of four bytes each. Throws if a packed run is no multiple
/// of four bytes.
inline void append_floats(std::vector<float>& out, pbf_reader& field) {
  if (field.wire_type() == pbf_wire_type::fixed32) {
    out.push_back(field.get_float());
    return;
  }
  expect(field, pbf_wire_type::length_delimited);
  for (const float f : field.get_packed_float()) out.push_back(f);
}

/// Calls `read(field)` for every field of a message and turns what protozero throws into an Error.
/// `read` must consume the field and returns a Status. `what` names the message in the error:
/// kInvalidModel, "truncated or malformed ...". An error of `read` ends the loop and is returned as
/// it is. Fields come in the file's order, and repeated ones come repeatedly.
template <class Read>
Status read_message(std::string_view what, std::string_view bytes, Read&& read) {
  try {
    pbf_reader field(bytes.data(), bytes.size());
    while (field.next()) PX_RETURN_IF_ERROR(read(field));
  } catch (const protozero::exception& e) {
    return invalid_model(fmt::format("truncated or malformed {} ({})", what, e.what()));
  }
  return {};
}

/// Passes over a field of any wire type; groups are refused by the reader's exception.
inline Status skip_field(pbf_reader& field) {
  field.skip();
  return {};
}

/// Stores a message that may occur only once. Errors: kInvalidModel if it was stored before.
inline Status set_once(std::optional<std::string_view>& message, std::string_view bytes,
                       std::string_view what) {
  if (message) return invalid_model(fmt::format("the {} occurs twice", what));
  message = bytes;
  return {};
}

}  // namespace parallax
