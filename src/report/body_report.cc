#include "report/body_report.h"

#include <string>
#include <utility>

#include "ops/control_flow.h"
#include "ops/op.h"

namespace parallax {
namespace {

/// Appends the reports of the bodies of `compiled`. `branch`: the branch of the outermost graph
/// that runs them; -1 if `compiled` is that graph. Bodies are nested at most
/// LoadOptions::max_nesting deep.
void add_bodies(const Compiled& compiled, const std::string& prefix, int branch,
                std::vector<BodyReport>& reports) {
  for (const auto& [id, contexts] : compiled.context->bodies) {
    const Node& node = compiled.graph().nodes[id];
    const CompiledNode& code = compiled.nodes[id];
    for (std::size_t i = 0; i < code.bodies.size(); ++i) {
      BodyReport report;
      report.node = prefix + node.name;
      report.op = to_string(node.op);
      report.body = body_name(node.op, i);
      report.branch = branch >= 0 ? branch : compiled.context->position[id].branch.value;
      report.nodes = static_cast<int>(contexts[i]->graph.nodes.size());
      report.branches = static_cast<int>(contexts[i]->branches.branches.size());
      report.layers = static_cast<int>(contexts[i]->branches.layers.size());
      report.regions = static_cast<int>(contexts[i]->delegation.seconds.size());
      report.workspace_bytes = code.workspace_bytes;
      report.trips = code.trips;
      const CompiledBody& body = code.bodies[i];
      if (body.error) {
        report.error = body.error->to_string();
      } else {
        report.arena_bytes = arena_bytes(body.plan).value_or(0);
      }
      const int outermost = report.branch;
      reports.push_back(std::move(report));
      if (!body.error) add_bodies(*body.compiled, prefix + node.name + "/", outermost, reports);
    }
  }
}

}  // namespace

std::vector<BodyReport> body_reports(const Compiled& compiled) {
  std::vector<BodyReport> reports;
  add_bodies(compiled, "", -1, reports);
  return reports;
}

}  // namespace parallax
