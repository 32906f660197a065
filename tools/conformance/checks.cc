#include "checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "spy.h"
#include "values.h"

namespace parallax::conformance {
namespace {

std::string sizes_text(const Graph& graph, const Binding& binding) {
  std::string text;
  for (const SymbolId id : graph.symbols.ids())
    text += fmt::format("{}{} = {}", text.empty() ? ", " : " ", graph.symbols[id].name,
                        binding.symbols[static_cast<std::size_t>(id.value)].value_or(-1));
  return text;
}

}  // namespace

LineMaker::LineMaker(std::string group, std::string name, std::string type) {
  line_.group = std::move(group);
  line_.name = std::move(name);
  line_.type = std::move(type);
}

void LineMaker::pass(double off) {
  ++line_.cases;
  line_.off = std::max(line_.off, off);
}

void LineMaker::fail(const std::string& of_case, const std::string& problem, double off) {
  pass(off);
  ++line_.failed;
  if (line_.problems.size() < kMaxProblems)
    line_.problems.push_back(of_case.empty() ? problem : of_case + ": " + problem);
}

void LineMaker::problem(const std::string& text) {
  line_.outcome = Outcome::kFailed;
  if (line_.problems.size() < kMaxProblems) line_.problems.push_back(text);
}

void LineMaker::leave_out(const std::string& why) {
  if (left_out_.empty()) left_out_ = why;
}

SuiteLine LineMaker::take() {
  if (line_.cases == 0 && line_.outcome == Outcome::kPassed && !left_out_.empty()) {
    line_.outcome = Outcome::kNoCase;
    line_.problems.push_back("refused when asked: " + left_out_);
  }
  if (line_.failed > 0) line_.outcome = Outcome::kFailed;
  return std::move(line_);
}

std::string check_run(UnderTest& test, const TestedBinding& bound, std::uint64_t seed,
                      double& off) {
  const TensorBytes inputs = bound.inputs(seed);
  const auto expected = bound.expected(inputs);
  if (!expected) return "the reference kernels: " + expected.error().to_string();
  const auto got = bound.run(inputs, test.options.answer_time);
  if (!got) {
    test.silent = test.silent || got.error().code == ErrorCode::kLimitExceeded;
    return got.error().to_string();
  }
  for (std::size_t i = 0; i < expected->size(); ++i) {
    Distance far = distance((*got)[i].view(), (*expected)[i].view(), test.allowed());
    off = std::max(off, far.off);
    if (far.problem.empty()) continue;
    return expected->size() == 1 ? far.problem : fmt::format("result {}: {}", i, far.problem);
  }
  return {};
}

NodeAnswers ask_about_nodes(const UnderTest& test, const Graph& graph, const Binding& binding) {
  const auto shapes = concrete_shapes(graph, binding);
  if (!shapes || test.delegate->table.functions.supports == nullptr) return {};
  for (const NodeId id : graph.nodes.ids()) {
    const std::string refusal = refusal_of_node(*test.delegate, graph, *shapes, id);
    const std::string again = refusal_of_node(*test.delegate, graph, *shapes, id);
    if (refusal != again)
      return {refusal,
              fmt::format("supports answers '{}', then '{}' for the same node", refusal, again)};
    if (!refusal.empty()) return {refusal, {}};
  }
  return {};
}

void check_case(UnderTest& test, const Case& made, LineMaker& line) {
  TestedRegion region(test.delegate, made.graph);
  std::vector<std::pair<std::string, TestedBinding>> all;
  const auto run = [&](const std::string& name, const TestedBinding& bound) {
    double off = 0;
    std::string problem = check_run(test, bound, test.options.seed + all.size(), off);
    for (const std::string& seen : take_problems()) problem += problem.empty() ? seen : "; " + seen;
    problem.empty() ? line.pass(off) : line.fail(name, problem, off);
  };
  for (const Binding& binding : made.bindings) {
    if (test.silent) return;
    const std::string name = made.name + sizes_text(made.graph, binding);
    const NodeAnswers answers = ask_about_nodes(test, made.graph, binding);
    if (!answers.problem.empty()) line.fail(name, answers.problem);
    if (!answers.refusal.empty()) line.leave_out(answers.refusal);
    if (!answers.problem.empty() || !answers.refusal.empty()) continue;
    auto bound = region.bind(binding);
    if (!bound) {
      line.fail(name, bound.error().to_string());
      continue;
    }
    all.emplace_back(name, *std::move(bound));
    run(name, all.back().second);
  }
  // A later binding must not change an earlier one.
  if (all.size() > 1 && !test.silent) run(all.front().first + ", once more", all.front().second);
}

}  // namespace parallax::conformance
