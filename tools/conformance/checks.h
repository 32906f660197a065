// The checks that the suite is made of. Internal to tools/conformance.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cases.h"
#include "suite.h"
#include "tested_region.h"

namespace parallax::conformance {

/// Gathers what becomes of the cases of one line.
class LineMaker {
 public:
  LineMaker(std::string group, std::string name, std::string type = "");
  void pass(double off = 0);
  void fail(const std::string& of_case, const std::string& problem, double off = 0);
  /// For a case that the delegate refuses when it is asked. A line of such cases alone has no case.
  void leave_out(const std::string& why);
  /// For what no case shows: it counts as a failure.
  void problem(const std::string& text);
  SuiteLine take();

 private:
  static constexpr std::size_t kMaxProblems = 5;
  SuiteLine line_;
  std::string left_out_;  ///< reason of the first case that was left out; empty: none was
};

struct UnderTest {
  std::shared_ptr<const OpenDelegate> delegate;
  SuiteOptions options;
  bool silent = false;  ///< it has not answered in time: it is asked nothing more

  double allowed() const { return options.half ? kAllowedOffHalf : kAllowedOff; }
};

/// The answers of a delegate about the nodes of a case before it gets them (px_delegate::supports).
struct NodeAnswers {
  std::string refusal;  ///< its reason for the first node that it refuses; empty: it runs all
  std::string problem;  ///< an answer that differs from the one before; empty: none does
};
/// Asks about each node of `graph` twice.
NodeAnswers ask_about_nodes(const UnderTest& test, const Graph& graph, const Binding& binding);

/// Compiles the case once, binds and runs it for each of its bindings, then once more for the
/// first. Bindings with a node that the delegate refuses when asked are left out.
void check_case(UnderTest& test, const Case& made, LineMaker& line);

/// One run, compared. "": it is right.
std::string check_run(UnderTest& test, const TestedBinding& bound, std::uint64_t seed, double& off);

SuiteLine check_runs_at_once(UnderTest& test);
SuiteLine check_regions_at_once(UnderTest& test);
SuiteLine check_cancelled_runs(UnderTest& test);
SuiteLine check_missing_memory(UnderTest& test);
SuiteLine check_growth(UnderTest& test);
/// Checks a delegate that accepts sizes that are known only while running.
SuiteLine check_changing_sizes(UnderTest& test);

}  // namespace parallax::conformance
