#include "load/known_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/status.h"
#include "load/names.h"

namespace parallax {

tl::unexpected<Error> refuse_known_input(const KnownInput& known, std::string_view why) {
  return tl::unexpected(
      load_error(ErrorCode::kInvalidInput, fmt::format("input {} {}", quote(known.name), why)));
}

Status check_known_inputs(std::span<const KnownInput> known,
                          std::span<const std::string_view> names) {
  std::set<std::string_view> given;
  for (const KnownInput& one : known) {
    if (!given.insert(one.name).second) return refuse_known_input(one, "is given twice");
    if (std::ranges::find(names, std::string_view(one.name)) == names.end())
      return refuse_known_input(one, "is not among the model's");
  }
  return {};
}

Status check_known_dims(const KnownInput& known, std::size_t rank) {
  if (known.dims->size() != rank)
    return refuse_known_input(
        known, fmt::format("has {} dimensions, {} are given", rank, known.dims->size()));
  for (std::size_t i = 0; i < rank; ++i)
    if ((*known.dims)[i] < -1)
      return refuse_known_input(
          known, fmt::format("cannot have size {} in dimension {}", (*known.dims)[i], i));
  return {};
}

}  // namespace parallax
