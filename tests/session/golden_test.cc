// Graphs as text in, every stage of the planner as text out, compared with the files of
// tests/golden. PARALLAX_UPDATE_GOLDEN=1 in the environment writes these files instead.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "ir/text/text.h"
#include "ops/infer.h"
#include "planning/delegated_plan.h"
#include "report/plan_report.h"

namespace parallax {
namespace {

struct GoldenCase {
  const char* name;   ///< of the file that is written
  const char* graph;  ///< and of the one that is read
  bool delegate = false;
  CostModel model = CostModel::kExact;
  Refinement refinement = Refinement::kTime;
  std::optional<std::int64_t> budget = {};
};

void PrintTo(const GoldenCase& c, std::ostream* out) { *out << c.name; }

const std::filesystem::path kFolder = std::filesystem::path(PX_SOURCE_DIR) / "tests" / "golden";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<int> numbers(const std::vector<BranchId>& branches) {
  std::vector<int> result;
  for (const BranchId branch : branches) result.push_back(branch.value);
  std::sort(result.begin(), result.end());
  return result;
}

std::string branches_text(const Compiled& compiled) {
  const BranchGraph& graph = compiled.context->branches;
  std::string text;
  for (const BranchId branch : graph.branches.ids()) {
    text += fmt::format("branch {}{}:", branch.value,
                        graph.region[branch].valid()
                            ? fmt::format(" (region {})", graph.region[branch].value)
                            : "");
    for (const NodeId node : graph.branches[branch])
      text += " " + compiled.graph().nodes[node].name;
    text += "\n";
  }
  for (std::size_t layer = 0; layer < graph.layers.size(); ++layer) {
    text += fmt::format("layer {}:", layer);
    for (const auto& group : compiled.groups[layer].parallel)
      text += fmt::format(" at once {}", fmt::join(numbers(group), " "));
    if (!compiled.groups[layer].sequential.empty())
      text += fmt::format(" alone {}", fmt::join(numbers(compiled.groups[layer].sequential), " "));
    text += "\n";
  }
  return text;
}

std::string plan_text(const Program& program) {
  const Compiled& compiled = program.compiled();
  std::string text;
  for (const auto& step : program.plan.steps)
    text += fmt::format("step: {}\n", fmt::join(numbers(step), " "));
  for (std::size_t i = 0; i < compiled.buffer_value.size(); ++i) {
    text +=
        fmt::format("{}: {} bytes at {}\n", compiled.graph().values[compiled.buffer_value[i]].name,
                    compiled.problem.buffers[i].bytes, program.plan.offsets.offset[i]);
  }
  const ArenaFigures& figures = program.plan.figures;
  return text + fmt::format("naive {} greedy {} lower bound {} paper {} parallax {}\n",
                            figures.naive, figures.greedy, figures.lower_bound, figures.paper,
                            figures.parallax);
}

std::string report_text(const PlanReport& report) {
  std::string text;
  for (const StructureReport& stage : report.structure) {
    text += fmt::format("{}: {} nodes, {} layers, {} parallel, {} branches\n", stage.stage,
                        stage.nodes, stage.layers, stage.parallel_layers, stage.max_branches);
  }
  for (const LayerReport& layer : report.layer_reports)
    text += fmt::format("layer {}: {}\n", layer.id, layer.reason);
  for (const BranchReport& branch : report.branch_reports)
    text += fmt::format("branch {}: {}\n", branch.id, branch.reason);
  // What a kernel takes is a matter of this machine's instruction set.
  static const std::regex kSeconds("its [^ ]+ ms");
  return std::regex_replace(text, kSeconds, "its ... ms");
}

Result<std::string> planned_text(const GoldenCase& c) {
  auto graph = parse_graph(read(kFolder / (std::string(c.graph) + ".graph")));
  if (!graph) return tl::unexpected(graph.error());
  if (auto status = infer_graph(*graph); !status) return tl::unexpected(status.error());
  Binding binding;
  binding.symbols.assign(graph->symbols.size(), 64);
  const LayoutOptions layout{.parallel = true, .threads = 2, .budget = c.budget};
  if (c.delegate) {
    PlanOptions options;
    options.profile = kFolder / "small.toml";
    options.cost_model = c.model;
    auto plan = plan_for_delegate(*graph, *graph, binding, options, {{true}, c.refinement, layout});
    if (!plan) return tl::unexpected(plan.error());
    return print(plan->graph, plan->partition) + branches_text(plan->program->compiled()) +
           plan_text(*plan->program) + report_text(report_of(*plan, c.refinement));
  }
  auto compiled =
      compile(std::make_shared<GraphContext>(*std::move(graph)), binding, {true}, c.refinement);
  if (!compiled) return tl::unexpected(compiled.error());
  auto bound = make_bound(*compiled);
  if (!bound) return tl::unexpected(bound.error());
  auto program = lay_out(*bound, layout);
  if (!program) return tl::unexpected(program.error());
  return branches_text(**compiled) + plan_text(**program) +
         report_text(report_of(**program, c.refinement));
}

class Golden : public testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, IsWhatTheFileSays) {
  const auto text = planned_text(GetParam());
  ASSERT_TRUE(text) << text.error().to_string();
  const auto path = kFolder / (std::string(GetParam().name) + ".txt");
  if (std::getenv("PARALLAX_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << *text;
  EXPECT_EQ(*text, read(path)) << "PARALLAX_UPDATE_GOLDEN=1 writes " << path;
}

INSTANTIATE_TEST_SUITE_P(
    Files, Golden,
    testing::Values(GoldenCase{"branches", "branches"},
                    GoldenCase{"branches_paper", "branches", false, CostModel::kExact,
                               Refinement::kPaper},
                    GoldenCase{"attention_budget", "attention", false, CostModel::kExact,
                               Refinement::kTime, 120'000},
                    GoldenCase{"attention", "attention"}, GoldenCase{"delegate", "delegate", true},
                    GoldenCase{"delegate_paper", "delegate", true, CostModel::kPaper}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace parallax
