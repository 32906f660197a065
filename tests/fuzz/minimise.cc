#include "minimise.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "check.h"
#include "interpret.h"
#include "write.h"

namespace parallax::fuzz {
namespace {

constexpr unsigned kMaxSeconds = 20;

enum class Kind { kNone, kWrong, kCrash, kHang };

/// Whether the command finds something.
bool differs(const Case& fuzzed, const Outcome& outcome, const std::filesystem::path& folder,
             const std::string& compare) {
  write_case(fuzzed, outcome, folder);
  const std::string written = (folder / std::to_string(fuzzed.seed)).string();
  const int status = std::system((compare + " " + written + " > /dev/null 2>&1").c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/// What checking the case comes to, in a process of its own.
Kind try_case(const Case& fuzzed, const std::filesystem::path& folder, const std::string& compare) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kMaxSeconds);
    const std::filesystem::path place = folder / "try";
    std::filesystem::create_directories(place);
    const Outcome outcome = check(fuzzed, place);
    if (!compare.empty()) _exit(differs(fuzzed, outcome, place, compare) ? 1 : 0);
    _exit(outcome.findings.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::filesystem::remove_all(folder / "try");
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) == 0) return Kind::kNone;
    return WEXITSTATUS(status) == 1 ? Kind::kWrong : Kind::kCrash;
  }
  return WTERMSIG(status) == SIGALRM ? Kind::kHang : Kind::kCrash;
}

/// The node's outputs become inputs of the graph.
std::optional<Case> without_node(const Case& fuzzed, std::size_t at) {
  Case smaller = fuzzed;
  const CaseNode node = fuzzed.graph.nodes[at];
  std::vector<Scope> scopes;
  for (const auto& run : fuzzed.runs) scopes.push_back(values_of(fuzzed.graph, run));
  smaller.graph.nodes.erase(smaller.graph.nodes.begin() + static_cast<std::ptrdiff_t>(at));
  for (const std::string& name : node.outputs) {
    CaseInput input{name, fuzzed.dtypes.at(name), {}};
    for (std::size_t run = 0; run < scopes.size(); ++run) {
      const Constant* value = scopes[run].find(name);
      if (value == nullptr) return std::nullopt;
      smaller.runs[run].push_back(*value);
    }
    for (int axis = 0; axis < scopes[0].find(name)->dims.rank(); ++axis) {
      const std::int64_t size = scopes[0].find(name)->dims[axis];
      const bool fixed = std::ranges::all_of(
          scopes, [&](const Scope& scope) { return scope.find(name)->dims[axis] == size; });
      input.dims.push_back(fixed ? CaseDim(size) : CaseDim(name + "_" + std::to_string(axis)));
    }
    smaller.graph.inputs.push_back(std::move(input));
  }
  return smaller;
}

bool reads(const CaseGraph& graph, const std::string& name) {
  return std::ranges::find(graph.outputs, name) != graph.outputs.end() ||
         std::ranges::any_of(graph.nodes, [&](const CaseNode& node) {
           return std::ranges::find(node.inputs, name) != node.inputs.end() ||
                  std::ranges::any_of(node.bodies,
                                      [&](const CaseGraph& body) { return reads(body, name); });
         });
}

void remove_unread_inputs(Case& fuzzed) {
  for (std::size_t i = fuzzed.graph.inputs.size(); i-- > 0;) {
    if (reads(fuzzed.graph, fuzzed.graph.inputs[i].name)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    fuzzed.graph.inputs.erase(fuzzed.graph.inputs.begin() + at);
    for (auto& run : fuzzed.runs) run.erase(run.begin() + at);
  }
}

/// A node of a body does no more than hand on one of its inputs; false where none can.
bool simplify_body(CaseGraph& body, const Case& fuzzed, std::size_t& skip) {
  for (CaseNode& node : body.nodes) {
    for (CaseGraph& inner : node.bodies)
      if (simplify_body(inner, fuzzed, skip)) return true;
    if (node.outputs.size() != 1 || node.op == OpKind::kIdentity) continue;
    for (const std::string& input : node.inputs) {
      if (input.empty() || fuzzed.dtypes.at(input) != fuzzed.dtypes.at(node.outputs[0])) continue;
      if (skip-- > 0) continue;
      node = {OpKind::kIdentity, {}, {input}, node.outputs, {}};
      return true;
    }
  }
  return false;
}

class Minimiser {
 public:
  Minimiser(Case fuzzed, const std::filesystem::path& folder, const std::string& compare)
      : best_(std::move(fuzzed)),
        folder_(folder),
        compare_(compare),
        kind_(try_case(best_, folder, compare)) {}

  Case run() {
    if (kind_ == Kind::kNone) return best_;
    while (drop_outputs() || drop_runs() || drop_nodes() || drop_in_bodies()) {
    }
    return best_;
  }

 private:
  bool take(Case smaller) {
    remove_dead(smaller.graph);
    remove_unread_inputs(smaller);
    if (smaller.graph.nodes.empty() || try_case(smaller, folder_, compare_) != kind_) return false;
    best_ = std::move(smaller);
    return true;
  }

  bool drop_outputs() {
    bool any = false;
    for (std::size_t i = best_.graph.outputs.size(); i-- > 0 && best_.graph.outputs.size() > 1;) {
      Case smaller = best_;
      smaller.graph.outputs.erase(smaller.graph.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      any = take(std::move(smaller)) || any;
    }
    return any;
  }

  bool drop_runs() {
    bool any = false;
    for (std::size_t i = best_.runs.size(); i-- > 0 && best_.runs.size() > 1;) {
      Case smaller = best_;
      smaller.runs.erase(smaller.runs.begin() + static_cast<std::ptrdiff_t>(i));
      any = take(std::move(smaller)) || any;
    }
    return any;
  }

  bool drop_nodes() {
    bool any = false;
    for (std::size_t i = 0; i < best_.graph.nodes.size();) {
      auto smaller = without_node(best_, i);
      if (smaller && take(*std::move(smaller))) {
        any = true;
      } else {
        ++i;
      }
    }
    return any;
  }

  bool drop_in_bodies() {
    bool any = false;
    for (std::size_t i = 0;;) {
      Case smaller = best_;
      std::size_t skip = i;
      bool found = false;
      for (CaseNode& node : smaller.graph.nodes)
        for (CaseGraph& body : node.bodies) found = found || simplify_body(body, smaller, skip);
      if (!found) return any;
      if (take(std::move(smaller))) {
        any = true;
      } else {
        ++i;
      }
    }
  }

  Case best_;
  const std::filesystem::path& folder_;
  const std::string& compare_;
  const Kind kind_;
};

}  // namespace

Case minimised(const Case& fuzzed, const std::filesystem::path& folder,
               const std::string& compare) {
  return Minimiser(fuzzed, folder, compare).run();
}

}  // namespace parallax::fuzz
