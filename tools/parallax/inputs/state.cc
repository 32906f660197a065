#include "inputs/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace parallax::cli {
namespace {

bool has(const std::vector<TensorInfo>& infos, std::string_view name) {
  return std::ranges::find(infos, name, &TensorInfo::name) != infos.end();
}

std::string names_of(const std::vector<TensorInfo>& infos) {
  std::vector<std::string_view> names;
  for (const TensorInfo& info : infos) names.emplace_back(info.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Tie parse_tie(const std::string& text, const Model& model) {
  // Names may hold '=' themselves.
  for (std::size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    Tie tie{text.substr(0, at), text.substr(at + 1)};
    if (has(model.inputs(), tie.input) && has(model.outputs(), tie.output)) return tie;
  }
  const std::size_t equals = text.find('=');
  const std::string input = text.substr(0, equals);
  if (!has(model.inputs(), input))
    throw UsageError(fmt::format("--tie {}: the model has no input '{}'; it has {}", text, input,
                                 names_of(model.inputs())));
  throw UsageError(fmt::format("--tie {}: the model has no output '{}'; it has {}", text,
                               text.substr(equals + 1), names_of(model.outputs())));
}

}  // namespace

std::vector<Tie> ties_of(const Options& options, const Model& model) {
  std::vector<Tie> ties;
  for (const std::string& text : options.ties) ties.push_back(parse_tie(text, model));
  return ties;
}

Result<std::optional<State>> make_state(const Options& options, const Model& model,
                                        const Session& session, const Inputs& inputs) {
  if (options.ties.empty() && model.ties().empty()) {
    if (options.reset_state)
      throw UsageError("--reset-state: the model keeps no state; name inputs with --tie");
    return std::nullopt;
  }
  auto state = State::create(session, ties_of(options, model));
  if (!state) return tl::unexpected(state.error());
  if (auto status = begin_state(*state, inputs); !status) return tl::unexpected(status.error());
  return std::optional(*std::move(state));
}

Status begin_state(State& state, const Inputs& inputs) {
  state.reset();
  for (std::size_t i = 0; i < inputs.names.size(); ++i) {
    if (!inputs.tied[i] || inputs.first[i]) continue;
    if (auto status = state.set(inputs.names[i], inputs.tensors[i].view()); !status) return status;
  }
  return {};
}

RunOptions run_options(std::optional<State>& state, bool tied_outputs) {
  RunOptions options;
  if (state) options.state = &*state;
  options.tied_outputs = tied_outputs;
  return options;
}

}  // namespace parallax::cli
