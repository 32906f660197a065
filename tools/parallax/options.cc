#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace parallax::cli {
namespace {

Error invalid(std::string message) {
  return {Stage::kIo, ErrorCode::kInvalidInput, {}, std::move(message)};
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// "16", "4..77" or "4,30,12".
std::optional<std::vector<std::int64_t>> parse_values(std::string_view text) {
  std::vector<std::int64_t> values;
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    const auto first = parse_int(text.substr(0, dots));
    const auto last = parse_int(text.substr(dots + 2));
    if (!first || !last || *last < *first || static_cast<std::size_t>(*last - *first) >= kMaxValues)
      return std::nullopt;
    for (std::int64_t v = *first; v <= *last; ++v) values.push_back(v);
    return values;
  }
  for (std::string_view part : split(text, ',')) {
    const auto value = parse_int(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::string known_symbols(const Model& model) {
  return model.symbols().empty() ? "all of this model's dimensions are fixed"
                                 : fmt::format("it has {}", fmt::join(model.symbols(), ", "));
}

Status read_dim(const std::string& text, const Model& model, std::size_t most,
                SymbolValues& values) {
  const std::size_t equals = text.find('=');
  const auto numbers = equals == std::string::npos
                           ? std::nullopt
                           : parse_values(std::string_view(text).substr(equals + 1));
  if (!numbers)
    return tl::unexpected(
        invalid(fmt::format("--dim {}: expected SYMBOL=N, N..M or N,M,...", text)));
  if (numbers->size() > most)
    return tl::unexpected(invalid(fmt::format("--dim {}: one value here; bench takes more", text)));
  const std::string name = text.substr(0, equals);
  if (std::ranges::find(model.symbols(), name) == model.symbols().end()) {
    return tl::unexpected(invalid(fmt::format("--dim {}: the model has no dimension '{}'; {}", text,
                                              name, known_symbols(model))));
  }
  values[name] = *numbers;
  return {};
}

Status read_shape(const std::string& text, const Model& model, SymbolValues& values) {
  const std::size_t equals = text.rfind('=');
  const std::string name = text.substr(0, equals);
  const auto input = std::ranges::find(model.inputs(), name, &TensorInfo::name);
  if (equals == std::string::npos || input == model.inputs().end()) {
    return tl::unexpected(invalid(
        fmt::format("--shape {}: expected INPUT=1x3x640x640 with an input of the model", text)));
  }
  const auto parts = split(std::string_view(text).substr(equals + 1), 'x');
  if (parts.size() != input->shape.size()) {
    return tl::unexpected(
        invalid(fmt::format("--shape {}: the input has {} dimensions", text, input->shape.size())));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_int(parts[i]);
    const Dimension& dim = input->shape[i];
    if (!number || (dim.value >= 0 && dim.value != *number)) {
      return tl::unexpected(
          invalid(fmt::format("--shape {}: dimension {} is '{}', the model's is {}", text, i,
                              parts[i], dim.value >= 0 ? std::to_string(dim.value) : dim.symbol)));
    }
    if (dim.value >= 0) continue;
    auto [known, fresh] = values.try_emplace(dim.symbol, std::vector{*number});
    if (!fresh && known->second != std::vector{*number}) {
      return tl::unexpected(
          invalid(fmt::format("--shape {}: '{}' has another value already", text, dim.symbol)));
    }
  }
  return {};
}

}  // namespace

Result<SymbolValues> symbol_values(const Options& options, const Model& model, std::size_t most) {
  SymbolValues values;
  for (const std::string& text : options.dims) {
    if (auto status = read_dim(text, model, most, values); !status)
      return tl::unexpected(status.error());
  }
  for (const std::string& text : options.shapes) {
    if (auto status = read_shape(text, model, values); !status)
      return tl::unexpected(status.error());
  }
  return values;
}

std::vector<Session::DimValue> dims_of_run(const SymbolValues& values, std::size_t i) {
  std::vector<Session::DimValue> dims;
  for (const auto& [name, list] : values) dims.push_back({name, list[i % list.size()]});
  return dims;
}

Result<MemoryBudget> parse_budget(const std::string& text) {
  if (text == "none") return MemoryBudget{};
  if (text == "auto") return MemoryBudget{MemoryBudget::Kind::kAuto, 0};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},     {"B", 1},        {"kB", 1e3},     {"KB", 1e3},    {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
  const auto* found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (error != std::errc{} || found == std::end(kUnits) || !std::isfinite(number) || number < 0 ||
      number * found->second > 9e18) {
    return tl::unexpected(invalid(fmt::format(
        "'{}' is no amount of memory: expected 64MiB, 1.5GB, 123456, auto or none", text)));
  }
  return MemoryBudget{MemoryBudget::Kind::kBytes,
                      static_cast<std::int64_t>(number * found->second)};
}

Result<Opened> open_model(const Options& options) {
  auto model = Model::load(options.model, options.load);
  if (!model) return tl::unexpected(model.error());
  auto session = Session::create(*model, options.session);
  if (!session) return tl::unexpected(session.error());
  auto values = symbol_values(options, *model);
  if (!values) return tl::unexpected(values.error());
  return Opened{*std::move(model), *std::move(session), *std::move(values)};
}

}  // namespace parallax::cli
