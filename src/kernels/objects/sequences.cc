// Sequences and optionals. Their elements are shared: a sequence with one more element copies no
// tensor.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "kernels/objects/kernels.h"
#include "kernels/objects/parts.h"
#include "ops/params/sequences.h"

namespace parallax {
namespace {

tl::unexpected<Error> bad_sequence(const ObjectCall& call, ErrorCode code, std::string message) {
  return tl::unexpected(object_error(call, code, std::move(message)));
}

Result<Object> make_sequence(const ObjectCall& call, std::vector<Object> elements) {
  PX_ASSIGN(auto charge, call.memory.take(static_cast<std::int64_t>(elements.size()) *
                                          static_cast<std::int64_t>(sizeof(Object))));
  return Object::sequence(std::move(elements), std::move(charge));
}

std::vector<Object> elements_of(const ObjectCall& call) {
  const auto list = call.input(0)->elements();
  return {list.begin(), list.end()};
}

/// Returns input `i` as a position among `count`; `count` if the input is left out.
Result<std::size_t> position(const ObjectCall& call, std::size_t i, std::size_t count,
                             bool behind_last) {
  const auto n = static_cast<std::int64_t>(count);
  if (call.input(i) == nullptr) return count;
  PX_ASSIGN(std::int64_t at, integer_input(call, i));
  const std::int64_t given = at;
  if (at < 0) at += n;
  if (at >= 0 && (at < n || (behind_last && at == n))) return static_cast<std::size_t>(at);
  return bad_sequence(call, ErrorCode::kOutOfRange,
                      fmt::format("position {} in a sequence of {}", given, count));
}

}  // namespace

Status sequence_construct(const ObjectCall& call) {
  std::vector<Object> elements;
  for (const auto& input : call.inputs) {
    PX_ASSIGN(elements.emplace_back(), owned(call, *input));
  }
  PX_ASSIGN(call.outputs[0], make_sequence(call, std::move(elements)));
  return {};
}

Status sequence_at(const ObjectCall& call) {
  const auto elements = call.input(0)->elements();
  PX_ASSIGN(const std::size_t at, position(call, 1, elements.size(), false));
  call.outputs[0] = elements[at];
  return {};
}

Status sequence_insert(const ObjectCall& call) {
  std::vector<Object> elements = elements_of(call);
  PX_ASSIGN(const std::size_t at, position(call, 2, elements.size(), true));
  PX_ASSIGN(Object element, owned(call, *call.input(1)));
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), std::move(element));
  PX_ASSIGN(call.outputs[0], make_sequence(call, std::move(elements)));
  return {};
}

Status sequence_erase(const ObjectCall& call) {
  std::vector<Object> elements = elements_of(call);
  if (elements.empty()) return bad_sequence(call, ErrorCode::kOutOfRange, "the sequence is empty");
  std::size_t at = elements.size() - 1;
  if (call.input(1) != nullptr) {
    PX_ASSIGN(at, position(call, 1, elements.size(), false));
  }
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  PX_ASSIGN(call.outputs[0], make_sequence(call, std::move(elements)));
  return {};
}

Status sequence_length(const ObjectCall& call) {
  PX_ASSIGN(Tensor length, take_tensor(call, DType::kI64, {}));
  *length.mutable_view().as<std::int64_t>() = std::ssize(call.input(0)->elements());
  PX_ASSIGN(call.outputs[0], counted(call, std::move(length)));
  return {};
}

Status pass_object(const ObjectCall& call) {
  call.outputs[0] = *call.input(0);
  return {};
}

Status make_optional(const ObjectCall& call) {
  if (call.input(0) == nullptr) {
    call.outputs[0] = Object();
    return {};
  }
  PX_ASSIGN(Object element, owned(call, *call.input(0)));
  call.outputs[0] = Object::optional(std::move(element));
  return {};
}

Status get_element(const ObjectCall& call) {
  const Object& input = *call.input(0);
  if (input.type() != ObjectType::kOptional) {
    call.outputs[0] = input;
    return {};
  }
  if (input.elements().empty())
    return bad_sequence(call, ErrorCode::kInvalidInput, "the optional has no element");
  call.outputs[0] = input.elements()[0];
  return {};
}

Status has_element(const ObjectCall& call) {
  const Object* const input = call.input(0);
  const bool has =
      input != nullptr && (input->type() != ObjectType::kOptional || !input->elements().empty());
  PX_ASSIGN(Tensor answer, take_tensor(call, DType::kBool, {}));
  *answer.mutable_view().as<bool>() = has;
  PX_ASSIGN(call.outputs[0], counted(call, std::move(answer)));
  return {};
}

namespace {

/// Returns the lengths of the parts of an axis.
Result<std::vector<std::int64_t>> part_lengths(const ObjectCall& call, std::int64_t whole) {
  const Object* const split = call.input(1);
  std::vector<std::int64_t> lengths;
  std::int64_t each = 1;
  if (split != nullptr) {
    PX_ASSIGN(lengths, integers_of(call, *split));
    if (split->dims().rank() == 0) {
      each = lengths.at(0);
      lengths.clear();
    }
  }
  if (split == nullptr || split->dims().rank() == 0) {
    if (each < 1) return bad_sequence(call, ErrorCode::kInvalidInput, "parts of no length");
    for (std::int64_t at = 0; at < whole; at += std::min(each, whole - at))
      lengths.push_back(std::min(each, whole - at));
    return lengths;
  }
  std::int64_t left = whole;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > left) left = -1;
    if (left < 0) break;
    left -= length;
  }
  if (left == 0) return lengths;
  return bad_sequence(call, ErrorCode::kInvalidInput,
                      fmt::format("the parts do not add up to the {} of the axis", whole));
}

}  // namespace

Status split_to_sequence(const ObjectCall& call) {
  const Object& input = *call.input(0);
  const Dims& dims = input.dims();
  const auto axis = axis_of(call, dims.rank());
  if (!axis) return bad_sequence(call, ErrorCode::kInvalidInput, "no such axis");
  PX_ASSIGN(const auto lengths, part_lengths(call, dims[*axis]));
  const bool drop =
      call.input(1) == nullptr && !params_of<SplitToSequenceParams>(call.node).keepdims;
  std::vector<Object> parts;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    PX_ASSIGN(parts.emplace_back(), part_of(call, input, *axis, at, length, drop));
    at += length;
  }
  PX_ASSIGN(call.outputs[0], make_sequence(call, std::move(parts)));
  return {};
}

Status concat_from_sequence(const ObjectCall& call) {
  const auto elements = call.input(0)->elements();
  if (elements.empty())
    return bad_sequence(call, ErrorCode::kInvalidInput, "the sequence is empty");
  const bool add = params_of<ConcatFromSequenceParams>(call.node).new_axis;
  const Dims& first = elements[0].dims();
  const auto axis = axis_of(call, first.rank() + (add ? 1 : 0));
  if (!axis || first.rank() + (add ? 1 : 0) > Dims::kMaxRank)
    return bad_sequence(call, ErrorCode::kInvalidInput, "no such axis");
  for (const Object& element : elements) {
    bool fits = element.dims().rank() == first.rank();
    for (int i = 0; fits && i < first.rank(); ++i)
      fits = (!add && i == *axis) || element.dims()[i] == first[i];
    if (fits) continue;
    return bad_sequence(call, ErrorCode::kInvalidInput,
                        fmt::format("a tensor of shape {} next to one of {}",
                                    element.dims().to_string(), first.to_string()));
  }
  PX_ASSIGN(call.outputs[0], concatenated(call, elements, *axis, add));
  return {};
}

}  // namespace parallax
