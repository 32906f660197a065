#include "options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "inputs/known_inputs.h"
#include "options/profiles.h"

namespace parallax::cli {
namespace {

template <class... T>
[[noreturn]] void refuse(fmt::format_string<T...> text, T&&... values) {
  throw UsageError(fmt::format(text, std::forward<T>(values)...));
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

std::string text_of(std::vector<std::int64_t> values) {
  constexpr std::size_t kShown = 8;
  const bool all = values.size() <= kShown;
  values.resize(std::min(values.size(), kShown));
  return fmt::format("{}{}", fmt::join(values, ","), all ? "" : ",...");
}

/// Gives `symbol` values that it does not contradict.
void add_values(SymbolValues& known, const std::string& symbol, std::vector<std::int64_t> values) {
  const auto [entry, fresh] = known.try_emplace(symbol, values);
  if (fresh || entry->second == values) return;
  refuse("dimension '{}' is given as {} and as {}", symbol, text_of(entry->second),
         text_of(std::move(values)));
}

/// One line on standard error.
void print_warning(LogLevel level, std::string_view message) {
  if (level != LogLevel::kWarning) return;
  std::string line(message);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  fmt::print(stderr, "parallax: warning: {}\n", line);
}

void add_shape(const GivenShape& shape, const Model& model, SymbolValues& values) {
  const auto input = std::ranges::find(model.inputs(), shape.input, &TensorInfo::name);
  const std::string text = fmt::format("--shape {}={}", shape.input, fmt::join(shape.dims, "x"));
  if (input == model.inputs().end()) refuse("{}: the model has no input '{}'", text, shape.input);
  if (shape.dims.size() != input->shape.size())
    refuse("{}: the input has {} dimensions", text, input->shape.size());
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    const Dimension& dim = input->shape[i];
    if (dim.value < 0) {
      add_values(values, dim.symbol, {shape.dims[i]});
    } else if (dim.value != shape.dims[i]) {
      refuse("{}: dimension {} is {}, the model's is {}", text, i, shape.dims[i], dim.value);
    }
  }
}

}  // namespace

GivenDim parse_dim(const std::string& text, std::size_t most) {
  const std::size_t equals = text.rfind('=');
  const auto numbers = equals == std::string::npos || equals == 0
                           ? std::nullopt
                           : parse_values(std::string_view(text).substr(equals + 1));
  if (!numbers)
    refuse("--dim {}: expected SYMBOL=N{}", text,
           most > 1 ? fmt::format(", SYMBOL=N,M,... or SYMBOL=N..M, upwards and of at most {} "
                                  "values",
                                  most)
                    : "");
  if (numbers->size() > most) refuse("--dim {}: one value here; bench takes more", text);
  return {text.substr(0, equals), *numbers};
}

GivenShape parse_shape(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  GivenShape shape{text.substr(0, std::min(equals, text.size())), {}};
  if (equals != std::string::npos && equals > 0) {
    for (const std::string_view part : split(std::string_view(text).substr(equals + 1), 'x')) {
      const auto number = parse_int(part);
      if (!number) refuse("--shape {}: '{}' is not a size", text, part);
      shape.dims.push_back(*number);
    }
    return shape;
  }
  refuse("--shape {}: expected INPUT=1x3x640x640", text);
}

SymbolValues symbol_values(const Options& options, const Model& model) {
  SymbolValues values;
  for (const GivenDim& dim : options.dims) {
    if (std::ranges::find(model.symbols(), dim.symbol) == model.symbols().end()) {
      if (dim.values.size() == 1 && names_dimension(options, dim.symbol))
        continue;  // fixed by load
      refuse("--dim {}: the model has no dimension '{}'; {}", dim.symbol, dim.symbol,
             known_symbols(model));
    }
    add_values(values, dim.symbol, dim.values);
  }
  for (const GivenShape& shape : options.shapes) add_shape(shape, model, values);
  return values;
}

std::vector<DimValue> dims_of_run(const SymbolValues& values, std::size_t i) {
  std::vector<DimValue> dims;
  for (const auto& [name, list] : values) dims.push_back({name, list[i % list.size()]});
  return dims;
}

MemoryBudget parse_budget(const std::string& text) {
  if (text == "none") return MemoryBudget::none();
  if (text == "auto") return MemoryBudget::automatic();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},     {"B", 1},        {"kB", 1e3},     {"KB", 1e3},    {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
  const auto* found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (error != std::errc{} || found == std::end(kUnits) || !std::isfinite(number) || number < 0 ||
      number * found->second > 9e18) {
    refuse("--memory-budget {}: no amount of memory; expected 64MiB, 1.5GB, 123456, auto or none",
           text);
  }
  return MemoryBudget::of_bytes(static_cast<std::int64_t>(number * found->second));
}

namespace {

/// "cores:2,opencl-mobile" with the path of the profile.
std::string with_profile(const std::string& delegate) {
  constexpr std::string_view kCores = "cores:";
  if (!delegate.starts_with(kCores)) return delegate;
  std::string text(kCores);
  for (const std::string_view item : split(std::string_view(delegate).substr(kCores.size()), ',')) {
    if (text.size() > kCores.size()) text += ',';
    text += item.empty() || parse_int(item) ? std::string(item) : find_profile(std::string(item));
  }
  return text;
}

bool is_delegate(const Options& options, const std::string& delegate) {
  const std::string name = delegate.substr(0, delegate.find(':'));
  if (name.find('/') != std::string::npos || name.ends_with(".toml")) return false;
  const std::vector<std::string> known = Runtime::built_in_delegates();
  return !options.runtime.delegate_libraries.empty() ||
         std::ranges::find(known, name) != known.end();
}

}  // namespace

void check_runs(const Options& options) {
  if (!options.session.pinned_plan.empty())
    refuse("--pin-plan {}: a profile runs nothing, there is no plan to keep",
           options.session.pinned_plan.string());
}

bool has_delegates(const Options& options) {
  return options.delegates.size() > 1 ||
         (!options.delegates.empty() && is_delegate(options, options.delegates.front()));
}

void use_delegates(Options& options) {
  options.session.delegates.clear();
  for (const std::string& delegate : options.delegates) {
    if (!is_delegate(options, delegate))
      refuse("--delegate {}: available: {} built in; --delegate-lib FILE adds others", delegate,
             fmt::join(Runtime::built_in_delegates(), ", "));
    options.session.delegates.push_back(with_profile(delegate));
  }
  options.session.offload = options.plan.offload;
  options.session.co_execution = options.plan.co_execution;
  options.session.require_full_delegation = options.require_full_delegation;
}

Result<Runtime> make_runtime(const Options& options, bool runs) {
  RuntimeOptions wanted = options.runtime;
  wanted.pages.prefault = runs;
  wanted.log = print_warning;
  return Runtime::create(wanted);
}

Result<Model> load_model(const Options& options, bool runs) {
  auto runtime = make_runtime(options, runs);
  if (!runtime) return tl::unexpected(runtime.error());
  auto model = Model::load(options.model, options.load, *runtime);
  LoadOptions again = options.load;
  again.inputs = known_inputs(options, model);
  if (again.inputs.empty()) return model;
  model = tl::unexpected(Error());  // frees its memory first
  return Model::load(options.model, again, *runtime);
}

Result<Opened> open_model(const Options& options, bool runs) {
  auto model = load_model(options, runs);
  if (!model) return tl::unexpected(model.error());
  auto session = Session::create(*model, options.session);
  if (!session) return tl::unexpected(session.error());
  SymbolValues values = symbol_values(options, *model);
  return Opened{*std::move(model), *std::move(session), std::move(values)};
}

}  // namespace parallax::cli
