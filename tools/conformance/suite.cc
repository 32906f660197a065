#include "suite.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "checks.h"
#include "forms.h"
#include "spy.h"

namespace parallax::conformance {
namespace {

class Suite {
 public:
  explicit Suite(UnderTest test) : test_(std::move(test)) {}

  std::vector<SuiteLine> run() {
    for (const auto& [op, limits] : test_.delegate->description().operators)
      if (!test_.options.only || test_.options.only == op) check_operator(op, limits);
    if (!test_.options.only) {
      check_graphs();
      check_behaviour();
    }
    end();
    return std::move(lines_);
  }

 private:
  void begin(const std::string& what) const {
    if (test_.options.begin) test_.options.begin(what);
  }

  void add_without_case(OpKind op, DType dtype, Outcome outcome, std::string why) {
    lines_.push_back(
        LineMaker("operator", std::string(to_string(op)), std::string(info_of(dtype).text)).take());
    lines_.back().outcome = outcome;
    lines_.back().problems.push_back(std::move(why));
  }

  void check_operator(OpKind op, const OperatorLimits& limits) {
    const auto row = operator_row(op);
    for (const DType dtype : limits.dtypes) {
      if (test_.silent) return;
      if (!row) {
        add_without_case(op, dtype, Outcome::kFailed,
                         "the suite has no row for this operator: what is claimed is not checked");
        continue;
      }
      const auto cases =
          operator_cases(op, dtype, test_.delegate->description(), test_.options.seed);
      if (cases.empty()) {
        add_without_case(op, dtype, Outcome::kNoCase,
                         row->never != nullptr ? row->never
                                               : "no graph of the suite has this operator for this "
                                                 "type within what is described");
        continue;
      }
      LineMaker line("operator", std::string(to_string(op)), std::string(info_of(dtype).text));
      for (const Case& made : cases) {
        begin(fmt::format("{} {}: {}", to_string(op), info_of(dtype).text, made.name));
        check_case(test_, made, line);
      }
      lines_.push_back(line.take());
    }
  }

  void check_graphs() {
    for (const Case& made : graph_cases(test_.delegate->description(), test_.options.seed)) {
      if (test_.silent) return;
      begin(made.name);
      LineMaker line("graph", made.name);
      check_case(test_, made, line);
      lines_.push_back(line.take());
    }
  }

  void check_behaviour() {
    struct Check {
      const char* name;
      SuiteLine (*run)(UnderTest&);
    };
    constexpr Check kChecks[] = {
        {"concurrent runs of one region", check_runs_at_once},
        {"concurrent regions", check_regions_at_once},
        {"cancelled runs", check_cancelled_runs},
        {"memory that is not there", check_missing_memory},
        {"sizes that change while runs go on", check_changing_sizes},
        {"compiling and discarding without growth", check_growth},
    };
    for (const Check& check : kChecks) {
      if (test_.silent) return;
      if (check.run == check_growth && test_.options.growth_rounds == 0) continue;
      if (check.run == check_changing_sizes && !test_.delegate->description().dynamic_shapes)
        continue;
      begin(check.name);
      lines_.push_back(check.run(test_));
    }
  }

  /// Adds the line about all answers.
  void end() {
    LineMaker line("behaviour", "one answer to each question");
    if (!test_.silent && wait_for_answers(test_.options.answer_time)) {
      line.pass();
    } else {
      line.fail("", "no answer in time: nothing more was asked");
    }
    for (const std::string& problem : take_problems()) line.problem(problem);
    lines_.push_back(line.take());
  }

  UnderTest test_;
  std::vector<SuiteLine> lines_;
};

}  // namespace

bool SuiteReport::passed() const {
  return std::ranges::none_of(
      lines, [](const SuiteLine& line) { return line.outcome == Outcome::kFailed; });
}

Result<SuiteReport> run_suite(const DelegateTable& table, const std::string& spec,
                              const SuiteOptions& options, const Logger& log) {
  DelegateTable between = table;
  between.functions = start_spying(table.functions);
  PX_ASSIGN(auto delegate, open_delegate(between, spec, "", log));
  wish({options.half ? px_dtype{PX_FLOAT16} : px_dtype{PX_FLOAT32}, false});
  SuiteReport report{spec, delegate->device_name, delegate->driver, {}};
  report.lines = Suite({std::move(delegate), options}).run();
  return report;
}

}  // namespace parallax::conformance
