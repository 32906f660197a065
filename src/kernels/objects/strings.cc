// StringConcat, StringSplit, RegexFullMatch.
#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/objects/kernels.h"
#include "ops/op.h"
#include "ops/params/strings.h"

namespace parallax {
namespace {

/// Limit, in bytes, of the memory that RE2 uses for a compiled pattern and the states of its
/// matches.
constexpr std::int64_t kPatternBytes = std::int64_t{8} << 20;

/// Returns the strides of `dims` within `all`, in elements; 0 along axes that are repeated.
std::vector<std::int64_t> steps_within(const Dims& dims, const Dims& all) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(all.rank()), 0);
  std::int64_t step = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    const int at = axis + all.rank() - dims.rank();
    if (dims[axis] != 1) steps[static_cast<std::size_t>(at)] = step;
    step *= dims[axis];
  }
  return steps;
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Splits at runs of white space; no part is empty.
std::vector<std::string_view> split_at_blanks(std::string_view text, std::int64_t most) {
  std::vector<std::string_view> parts;
  const auto skip = [&] {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  };
  for (skip(); !text.empty(); skip()) {
    const auto* const end =
        std::ssize(parts) < most ? std::ranges::find_if(text, is_blank) : text.end();
    const auto length = static_cast<std::size_t>(end - text.begin());
    parts.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  if (!parts.empty())
    while (is_blank(parts.back().back())) parts.back().remove_suffix(1);
  return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view delimiter,
                                       std::int64_t most) {
  if (delimiter.empty()) return split_at_blanks(text, most);
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  while (std::ssize(parts) < most) {
    const std::size_t at = text.find(delimiter);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

Status concat_strings(const ObjectCall& call) {
  const Object& a = *call.input(0);
  const Object& b = *call.input(1);
  const auto dims = broadcast(a.dims(), b.dims());
  const auto count = dims ? dims->checked_elements() : std::nullopt;
  const auto bytes = count ? checked_mul(*count, sizeof(std::string)) : std::nullopt;
  if (!bytes)
    return tl::unexpected(object_error(call, ErrorCode::kInvalidInput, "shapes that do not fit"));
  PX_ASSIGN(const auto room, call.memory.take(*bytes));
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(*count));
  const auto a_steps = steps_within(a.dims(), *dims), b_steps = steps_within(b.dims(), *dims);
  std::vector<std::int64_t> index(a_steps.size(), 0);
  std::int64_t a_at = 0, b_at = 0;
  while (std::ssize(texts) < *count) {
    texts.push_back(a.strings()[static_cast<std::size_t>(a_at)] +
                    b.strings()[static_cast<std::size_t>(b_at)]);
    for (int axis = dims->rank() - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      a_at += a_steps[i];
      b_at += b_steps[i];
      if (++index[i] < (*dims)[axis]) break;
      a_at -= index[i] * a_steps[i];
      b_at -= index[i] * b_steps[i];
      index[i] = 0;
    }
  }
  PX_ASSIGN(call.outputs[0], make_object(call, *dims, std::move(texts)));
  return {};
}

Status split_strings(const ObjectCall& call) {
  const Object& input = *call.input(0);
  const auto params = params_of<StringSplitParams>(call.node);
  const std::int64_t most = params.maxsplit.value_or(std::numeric_limits<std::int64_t>::max());
  PX_ASSIGN(Tensor counts, take_tensor(call, DType::kI64, input.dims()));
  auto* count = counts.mutable_view().as<std::int64_t>();
  std::int64_t longest = 0;
  for (const std::string& text : input.strings()) {
    *count = std::ssize(split_at(text, params.delimiter, most));
    longest = std::max(longest, *count++);
  }
  Dims dims = input.dims();
  if (dims.rank() == Dims::kMaxRank)
    return tl::unexpected(object_error(call, ErrorCode::kUnsupported, "too many dimensions"));
  dims.push_back(longest);
  const auto elements = dims.checked_elements();
  const auto bytes = elements ? checked_mul(*elements, sizeof(std::string)) : std::nullopt;
  if (!bytes)
    return tl::unexpected(object_error(call, ErrorCode::kOutOfMemory, "the result is too large"));
  PX_ASSIGN(const auto room, call.memory.take(*bytes));
  std::vector<std::string> texts(static_cast<std::size_t>(*elements));
  auto row = texts.begin();
  for (const std::string& text : input.strings()) {
    std::ranges::copy(split_at(text, params.delimiter, most), row);
    row += longest;
  }
  PX_ASSIGN(call.outputs[0], make_object(call, dims, std::move(texts)));
  if (call.outputs.size() < 2) return {};
  PX_ASSIGN(call.outputs[1], counted(call, std::move(counts)));
  return {};
}

Status match_regex(const ObjectCall& call) {
  const Object& input = *call.input(0);
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternBytes);
  PX_ASSIGN(const auto room, call.memory.take(kPatternBytes));
  const RE2 pattern(params_of<RegexFullMatchParams>(call.node).pattern.value_or(""), options);
  if (!pattern.ok())
    return tl::unexpected(object_error(call, ErrorCode::kInvalidModel,
                                       "RE2 rejects the pattern: " + pattern.error()));
  PX_ASSIGN(Tensor matches, take_tensor(call, DType::kBool, input.dims()));
  bool* match = matches.mutable_view().as<bool>();
  for (const std::string& text : input.strings()) *match++ = RE2::FullMatch(text, pattern);
  PX_ASSIGN(call.outputs[0], counted(call, std::move(matches)));
  return {};
}

}  // namespace parallax
