#include <fmt/core.h>

#include <algorithm>

#include "base/status.h"
#include "ir/graph.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using Callees = std::vector<std::int64_t>;

void add_callees_of_options(const schema::Operator& op, Callees& callees) {
  if (const auto* options = op.builtin_options_as_IfOptions()) {
    callees.push_back(options->then_subgraph_index());
    callees.push_back(options->else_subgraph_index());
  }
  if (const auto* options = op.builtin_options_as_WhileOptions()) {
    callees.push_back(options->cond_subgraph_index());
    callees.push_back(options->body_subgraph_index());
  }
  if (const auto* options = op.builtin_options_as_CallOptions())
    callees.push_back(options->subgraph());
  if (const auto* options = op.builtin_options_as_CallOnceOptions())
    callees.push_back(options->init_subgraph_index());
}

/// The same of the second union.
void add_callees_of_options_2(const schema::Operator& op, Callees& callees) {
  const auto add_all = [&](const flatbuffers::Vector<std::int32_t>* indices) {
    const auto elements = elements_of(indices);
    callees.insert(callees.end(), elements.begin(), elements.end());
  };
  if (const auto* options = op.builtin_options_2_as_StablehloWhileOptions()) {
    callees.push_back(options->cond_subgraph_index());
    callees.push_back(options->body_subgraph_index());
  }
  if (const auto* options = op.builtin_options_2_as_StablehloCaseOptions())
    add_all(options->branch_subgraph_indices());
  if (const auto* options = op.builtin_options_2_as_StablehloCustomCallOptions())
    add_all(options->called_computations());
  if (const auto* options = op.builtin_options_2_as_StableHLOCompositeOptions())
    callees.push_back(options->decomposition_subgraph_index());
  if (const auto* options = op.builtin_options_2_as_StablehloReduceOptions())
    callees.push_back(options->body_subgraph_index());
  if (const auto* options = op.builtin_options_2_as_StablehloReduceWindowOptions())
    callees.push_back(options->body_subgraph_index());
  if (const auto* options = op.builtin_options_2_as_StablehloSortOptions())
    callees.push_back(options->comparator_subgraph_index());
  if (const auto* options = op.builtin_options_2_as_StablehloScatterOptions())
    callees.push_back(options->update_computation_subgraph_index());
}

/// The number of subgraphs that an operator calls in lists; the others are two at most.
std::size_t listed_callees(const schema::Operator& op) {
  std::size_t count = 0;
  if (const auto* options = op.builtin_options_2_as_StablehloCaseOptions())
    count += length_of(options->branch_subgraph_indices());
  if (const auto* options = op.builtin_options_2_as_StablehloCustomCallOptions())
    count += length_of(options->called_computations());
  return count;
}

/// Returns the subgraphs that a subgraph calls, each once.
Result<Callees> callees_of(TfliteChecks& checks, std::size_t subgraph) {
  const auto* operators = checks.file.subgraphs[subgraph].graph->operators();
  const auto subgraphs = static_cast<std::int64_t>(checks.file.subgraphs.size());
  Callees callees;
  for (std::size_t i = 0; i < length_of(operators); ++i) {
    const schema::Operator& op = *operators->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::size_t before = callees.size();
    PX_RETURN_IF_ERROR(checks.take(listed_callees(op)));
    add_callees_of_options(op, callees);
    add_callees_of_options_2(op, callees);
    for (std::size_t k = before; k < callees.size(); ++k) {
      if (callees[k] >= 0 && callees[k] < subgraphs) continue;
      return invalid_model(fmt::format("it calls subgraph {} of {}", callees[k], subgraphs),
                           operator_name(checks.file, subgraph, i));
    }
  }
  std::ranges::sort(callees);
  callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
  return callees;
}

/// Removes subgraphs that call no other, level by level. What is left calls itself.
Status check_depth(const std::vector<Callees>& callees) {
  std::vector<std::size_t> calls(callees.size());
  std::vector<std::vector<std::size_t>> callers(callees.size());
  std::vector<std::size_t> ready, next;
  for (std::size_t i = 0; i < callees.size(); ++i) {
    calls[i] = callees[i].size();
    for (const std::int64_t callee : callees[i])
      callers[static_cast<std::size_t>(callee)].push_back(i);
    if (calls[i] == 0) ready.push_back(i);
  }
  for (int depth = 0; !ready.empty(); ++depth, ready.swap(next)) {
    if (depth > kMaxNesting) {
      return unsupported(
          fmt::format("subgraph {} calls others more than {} deep", ready.front(), kMaxNesting));
    }
    next.clear();
    for (const std::size_t callee : ready)
      for (const std::size_t caller : callers[callee])
        if (--calls[caller] == 0) next.push_back(caller);
  }
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i] != 0)
      return invalid_model(fmt::format("subgraph {} calls itself, or one that does", i));
  return {};
}

}  // namespace

Status check_calls(TfliteChecks& checks) {
  std::vector<Callees> callees(checks.file.subgraphs.size());
  for (std::size_t i = 0; i < callees.size(); ++i) {
    PX_ASSIGN(callees[i], callees_of(checks, i));
  }
  return check_depth(callees);
}

}  // namespace parallax
