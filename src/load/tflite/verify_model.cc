#include <fmt/core.h>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

constexpr std::uint32_t kSchemaVersion = 3;
constexpr std::size_t kAllowance = 2;  // elements for each byte of the file

Status check_buffers(const TfliteChecks& checks) {
  const std::uint64_t end = checks.file.bytes.size();
  for (std::size_t i = 0; i < length_of(checks.file.model->buffers()); ++i) {
    const auto index = static_cast<flatbuffers::uoffset_t>(i);
    const schema::Buffer& buffer = *checks.file.model->buffers()->Get(index);
    if (buffer.offset() > end || buffer.size() > end - buffer.offset()) {
      return invalid_model(fmt::format("buffer {} has {} bytes at {} of a file of {} bytes", i,
                                       buffer.size(), buffer.offset(), end));
    }
  }
  return {};
}

Status check_codes(TfliteChecks& checks) {
  for (std::size_t i = 0; i < length_of(checks.file.model->operator_codes()); ++i) {
    const auto index = static_cast<flatbuffers::uoffset_t>(i);
    const schema::OperatorCode& code = *checks.file.model->operator_codes()->Get(index);
    PX_RETURN_IF_ERROR(checks.check_name(fmt::format("operator code {}", i), code.custom_code()));
  }
  return {};
}

Status check_metadata(TfliteChecks& checks) {
  const schema::Model& model = *checks.file.model;
  for (std::size_t i = 0; i < length_of(model.metadata()); ++i) {
    const schema::Metadata& entry = *model.metadata()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::string label = fmt::format("entry {} of the metadata", i);
    PX_RETURN_IF_ERROR(checks.check_name(label, entry.name()));
    if (entry.buffer() != 0 && entry.buffer() >= length_of(model.buffers())) {
      return invalid_model(
          fmt::format("{} has buffer {} of {}", label, entry.buffer(), length_of(model.buffers())));
    }
  }
  return {};
}

}  // namespace

TfliteChecks::TfliteChecks(const TfliteFile& opened)
    : file(opened), uses(opened.subgraphs.size()), left_(opened.bytes.size() * kAllowance) {}

Status TfliteChecks::take(std::size_t elements) {
  if (elements > left_)
    return invalid_model("the file's tables share vectors so often that reading them takes long");
  left_ -= elements;
  return {};
}

Status TfliteChecks::check_name(std::string_view owner, const flatbuffers::String* name) {
  PX_RETURN_IF_ERROR(take(length_of(name)));
  return parallax::check_name(owner, text_of(name));
}

Status check_model(TfliteChecks& checks) {
  const schema::Model& model = *checks.file.model;
  if (model.version() != kSchemaVersion) {
    return unsupported(fmt::format("TFLite files of schema version {} are not supported, {} is",
                                   model.version(), kSchemaVersion));
  }
  if (checks.file.subgraphs.empty()) return invalid_model("the model has no subgraph");
  for (std::size_t i = 0; i < checks.file.subgraphs.size(); ++i) {
    PX_RETURN_IF_ERROR(
        checks.check_name(fmt::format("subgraph {}", i), checks.file.subgraphs[i].graph->name()));
  }
  PX_RETURN_IF_ERROR(check_codes(checks));
  PX_RETURN_IF_ERROR(check_buffers(checks));
  return check_metadata(checks);
}

}  // namespace parallax
