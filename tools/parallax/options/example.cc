#include "options/example.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "inputs/inputs.h"
#include "parallax/planner.h"

namespace parallax::cli {
namespace {

// Sizes to try, in this order, until a plan can be made. Images come in few sizes; the sides of
// smaller ones come last, because networks with few strides take them as well.
struct Sizes {
  std::int64_t length, side;
};
constexpr std::array<Sizes, 7> kSizes = {
    {{16, 224}, {64, 640}, {128, 256}, {256, 512}, {512, 64}, {8, 32}, {1, 1}}};

// A dimension of images (of rank 4, behind the first), a batch, or the length of something.
enum class Meaning : std::uint8_t { kBatch, kSide, kLength };

Meaning meaning_of(const Model& model, const std::string& symbol) {
  std::string lower;
  for (const char c : symbol)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.find("batch") != std::string::npos || lower == "n" || lower == "b")
    return Meaning::kBatch;
  for (const TensorInfo& input : model.inputs()) {
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      if (input.shape[axis].value >= 0 || input.shape[axis].symbol != symbol) continue;
      if (axis == 0 && input.shape.size() > 1) return Meaning::kBatch;
      return input.shape.size() == 4 ? Meaning::kSide : Meaning::kLength;
    }
  }
  return Meaning::kLength;
}

std::int64_t value_of(Meaning meaning, const Sizes& sizes) {
  if (meaning == Meaning::kBatch) return 1;
  return meaning == Meaning::kSide ? sizes.side : sizes.length;
}

}  // namespace

std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+=./:,@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

Result<std::vector<DimValue>> example_dims(const Model& model, const SymbolValues& known) {
  std::vector<std::pair<std::string, Meaning>> missing;
  for (const std::string& symbol : model.symbols())
    if (!known.contains(symbol)) missing.emplace_back(symbol, meaning_of(model, symbol));
  auto session = Session::create(model, {.threads = 1});
  if (!session) return tl::unexpected(session.error());
  std::optional<Error> first;
  for (const Sizes& sizes : kSizes) {
    std::vector<DimValue> found;
    for (const auto& [symbol, meaning] : missing)
      found.push_back({symbol, value_of(meaning, sizes)});
    std::vector<DimValue> all = dims_of_run(known, 0);
    all.insert(all.end(), found.begin(), found.end());
    const auto plan = Planner(*session).plan(all);
    if (plan) return found;
    if (!first) first = plan.error();
    if (missing.empty()) break;
  }
  return tl::unexpected(*first);
}

std::string dim_options(const std::vector<DimValue>& dims) {
  std::string text;
  for (const DimValue& dim : dims)
    text += fmt::format(" --dim {}", shell_word(fmt::format("{}={}", dim.name, dim.value)));
  return text;
}

std::string complete_command(const Options& options) {
  const auto model = load_model(options, false);
  if (!model) return {};
  SymbolValues values = symbol_values(options, *model);
  if (!read_input_files(options, *model, values)) return {};
  const auto dims = example_dims(*model, values);
  return dims ? options.command_line + dim_options(*dims) : std::string();
}

}  // namespace parallax::cli
