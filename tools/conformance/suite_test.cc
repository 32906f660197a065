// A delegate that is right passes; each defect that is planted in it is found.
#include "suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cases.h"
#include "device/profile_toml.h"
#include "forms.h"
#include "ops/op.h"
#include "reference_delegate_test_util.h"

namespace parallax::conformance {
namespace {

using testing::HasSubstr;

std::string profile_with(const std::string& operators, const std::string& dtypes) {
  return "name = \"reference\"\n[delegate]\nname = \"reference\"\nlaunch_seconds = 1e-6\n"
         "macs_per_second = 1e12\nbytes_per_second = 1e12\ncpu_macs_per_second = 1e10\n"
         "memory_bytes = 1000000000\ndynamic_shapes = true\ndtypes = [" +
         dtypes + "]\noperators = [" + operators + "]\n";
}

const char* const kTypes = R"("f32", "i32", "i64", "u8", "i8", "bool")";
const char* const kFew =
    R"("Relu", "Neg", "Add", "MatMul", "Slice", "Concat", "ReduceSum", "Gather", "Reshape")";

std::vector<OperatorRow> operator_rows() {
  std::vector<OperatorRow> rows;
  for (std::size_t i = 0; i < kOpCount; ++i)
    if (const auto row = operator_row(static_cast<OpKind>(i))) rows.push_back(*row);
  return rows;
}

std::string all_operators() {
  std::string list;
  for (const OperatorRow& row : operator_rows())
    list += (list.empty() ? "\"" : ", \"") + std::string(to_string(row.op)) + "\"";
  return list;
}

SuiteReport report_of(const Defects& planted, SuiteOptions options = {}) {
  plant(planted);
  const px_delegate table = reference_delegate();
  const auto report = run_suite(*check_table(&table, ""), "reference", options, Logger());
  EXPECT_TRUE(report) << report.error().to_string();
  return report ? *report : SuiteReport{};
}

SuiteOptions without_growth() {
  SuiteOptions options;
  options.growth_rounds = 0;
  return options;
}

/// But those on objects, which are no delegate's: the suite fails one that claims them.
TEST(ConformanceTest, EveryOperatorHasARow) {
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<OpKind>(i);
    const auto row = operator_row(op);
    ASSERT_EQ(!row, op_def(op).objects) << to_string(op);
    if (!row) continue;
    EXPECT_EQ(row->forms.empty(), row->never != nullptr) << to_string(row->op);
  }
}

/// A form that is no graph would be left out without a word.
TEST(ConformanceTest, EveryFormIsAGraph) {
  const auto profile = parse_profile(profile_with(all_operators(), kTypes), "");
  ASSERT_TRUE(profile);
  for (const OperatorRow& row : operator_rows()) {
    std::set<std::string> made;
    for (std::size_t i = 0; i < kDTypes.size(); ++i)
      for (const Case& one : operator_cases(row.op, static_cast<DType>(i), *profile->delegate, 1))
        made.insert(one.name);
    for (const auto& forms : {row.forms, row.more})
      for (const Form& form : forms) {
        const std::string name = form.name;
        EXPECT_TRUE(std::ranges::any_of(
            made, [&](const std::string& one) { return one.find(name) != std::string::npos; }))
            << to_string(row.op) << ": " << form.name;
      }
  }
  EXPECT_EQ(graph_cases(*profile->delegate, 1).size(), graph_forms().size());
}

TEST(ConformanceTest, LimitsOfAttributesAreCases) {
  const auto profile = parse_profile(
      profile_with(R"("Conv", "Resize", "ArgMax")", R"("f32", "i64")") +
          "[delegate.limits.Conv.attributes.dilations]\nmax = 8\n"
          "[delegate.limits.Resize.attributes.nearest_mode]\none_of = [\"ceil\", \"floor\"]\n"
          "[delegate.limits.ArgMax.attributes.keepdims]\nmin = 1\n",
      "");
  ASSERT_TRUE(profile) << profile.error().to_string();
  const auto names = [&](OpKind op) {
    std::vector<std::string> all;
    for (const Case& one : operator_cases(op, DType::kF32, *profile->delegate, 1))
      all.push_back(one.name);
    return all;
  };
  EXPECT_THAT(names(OpKind::kConv), testing::Contains("wide, dilated, dilations 8"));
  EXPECT_THAT(names(OpKind::kResize), testing::Contains("nearest, by default, nearest_mode ceil"));
  EXPECT_THAT(names(OpKind::kArgMax), testing::Contains("first axis, keepdims 1"));
  EXPECT_THAT(names(OpKind::kArgMax), testing::Not(testing::Contains("last axis")))
      << "which drops the axis: it is not claimed";
}

struct MemoryKind {
  const char* name;
  bool own, host_sees_it;
};
const MemoryKind kMemories[] = {
    {"Host", false, false}, {"Own", true, false}, {"Visible", true, true}};

TEST(ConformanceTest, ARightDelegatePasses) {
  for (const MemoryKind& memory : kMemories) {
    SCOPED_TRACE(memory.name);
    Defects planted;
    // The whole once, the rest of the memories with a few.
    planted.profile = profile_with(memory.own ? kFew : all_operators(), kTypes);
    planted.own_memory = memory.own;
    planted.host_sees_it = memory.host_sees_it;
    const SuiteReport report = report_of(planted, without_growth());
    EXPECT_TRUE(report.passed()) << to_text(report);
    EXPECT_EQ(report.device, "the reference kernels");
    for (const SuiteLine& line : report.lines) {
      EXPECT_LE(line.off, 1e-6) << line.name;
      EXPECT_NE(line.cases == 0, line.outcome == Outcome::kPassed) << line.name;
    }
    for (const OperatorRow& row : operator_rows()) {
      const bool has_cases = std::ranges::any_of(report.lines, [&](const SuiteLine& line) {
        return line.name == to_string(row.op) && line.cases > 0;
      });
      if (memory.own) continue;
      EXPECT_EQ(has_cases, row.never == nullptr) << to_string(row.op);
    }
  }
}

struct Planted {
  const char* name;
  void (*plant)(Defects& all);
  const char* line;     ///< that fails
  const char* problem;  ///< expected text of the failure
};
const Planted kPlanted[] = {
    {"wrong bits", [](Defects& d) { d.wrong_operator = OpKind::kGather; }, "Gather", "element"},
    {"odd sizes", [](Defects& d) { d.wrong_for_odd = true; }, "Relu", "odd sizes: element"},
    {"second binding", [](Defects& d) { d.wrong_when_bound_again = true; }, "Neg",
     "a free dimension, n = 8: element"},
    {"concurrent runs", [](Defects& d) { d.wrong_at_once = true; }, "concurrent runs of one region",
     "thread"},
    {"binding during runs", [](Defects& d) { d.refuses_while_running = true; },
     "sizes that change while runs go on", "at work"},
    {"a second answer", [](Defects& d) { d.answers_twice = true; }, "Neg",
     "a run is answered twice"},
    {"answered and refused", [](Defects& d) { d.answers_and_refuses = true; }, "Neg",
     "answered and refused"},
    {"cancelled", [](Defects& d) { d.forgets_cancelled = true; }, "cancelled runs", "not answered"},
    {"an element left out", [](Defects& d) { d.leaves_out = true; }, "Neg", "nan"},
    {"outside an output", [](Defects& d) { d.writes_beside = true; }, "Neg",
     "outside of its outputs"},
    {"an input changed", [](Defects& d) { d.writes_inputs = true; }, "Neg", "writes to its inputs"},
    {"a type it lacks", [](Defects& d) { d.lacks = DType::kI32; }, "Add", "no such type"},
    {"two minds", [](Defects& d) { d.changes_its_mind = true; }, "Add",
     "supports answers '', then 'no longer'"},
    {"2^50 bytes", [](Defects& d) { d.own_memory = d.allocates_anything = true; },
     "memory that is not there", "gives 2^50 bytes"},
    {"strange failure", [](Defects& d) { d.fails_strangely = true; }, "memory that is not there",
     "neither PX_OUT_OF_MEMORY nor PX_UNSUPPORTED"},
};

TEST(ConformanceTest, FindsWhatIsPlanted) {
  for (const Planted& planted : kPlanted) {
    SCOPED_TRACE(planted.name);
    Defects all;
    all.profile = profile_with(kFew, R"("f32", "i32", "i64")");
    planted.plant(all);
    SuiteOptions options = without_growth();
    options.answer_time = std::chrono::milliseconds(all.forgets_cancelled ? 500 : 60'000);
    const SuiteReport report = report_of(all, options);
    EXPECT_FALSE(report.passed());
    const auto found = std::ranges::find_if(report.lines, [&](const SuiteLine& line) {
      return line.name == planted.line && line.outcome == Outcome::kFailed &&
             std::ranges::any_of(line.problems, [&](const std::string& problem) {
               return problem.find(planted.problem) != std::string::npos;
             });
    });
    EXPECT_NE(found, report.lines.end()) << to_text(report);
  }
}

TEST(ConformanceTest, LeavesOutWhatIsRefusedWhenAsked) {
  Defects planted;
  planted.profile = profile_with(kFew, R"("f32", "i32")");
  planted.lacks = DType::kI32;
  planted.says_what_it_lacks = true;
  const SuiteReport report = report_of(planted, without_growth());
  EXPECT_TRUE(report.passed()) << to_text(report);
  for (const SuiteLine& line : report.lines) {
    if (line.name != "Add") continue;
    EXPECT_EQ(line.outcome, line.type == "i32" ? Outcome::kNoCase : Outcome::kPassed)
        << to_text(report);
  }
}

TEST(ConformanceTest, FailsTheLineOfTheOperatorAlone) {
  Defects planted;
  planted.profile = profile_with(kFew, R"("f32")");
  planted.wrong_operator = OpKind::kNeg;
  const SuiteReport report = report_of(planted, without_growth());
  for (const SuiteLine& line : report.lines) {
    if (line.group != "operator" || line.name == "Reshape") continue;  // its cases have Neg too
    EXPECT_EQ(line.outcome == Outcome::kFailed, line.name == "Neg") << to_text(report);
  }
}

TEST(ConformanceTest, ASilentDelegateIsAskedNothingMore) {
  Defects planted;
  planted.profile = profile_with(kFew, R"("f32")");
  planted.never_answers = true;
  SuiteOptions options;
  options.answer_time = std::chrono::milliseconds(50);
  const SuiteReport report = report_of(planted, options);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.lines.size(), 2U) << to_text(report);
  EXPECT_THAT(to_text(report), HasSubstr("no answer in time"));
}

TEST(ConformanceTest, FindsGrowth) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep what is freed";
#endif
  for (const bool leaks : {false, true}) {
    Defects planted;
    planted.profile = profile_with(R"("Relu", "MatMul")", R"("f32")");
    planted.leaks = leaks;
    SuiteOptions options;
    options.growth_rounds = 200;
    const SuiteReport report = report_of(planted, options);
    EXPECT_EQ(report.passed(), !leaks) << to_text(report);
    EXPECT_EQ(to_text(report).find("are allowed") != std::string::npos, leaks);
  }
}

TEST(ConformanceTest, HalfStorageHasATolerance) {
  Defects planted;
  planted.profile = profile_with(kFew, R"("f32")");
  planted.half = true;
  SuiteOptions options = without_growth();
  EXPECT_TRUE(report_of(planted, options).passed()) << "it was not asked for 16 bits";
  options.half = true;
  const SuiteReport report = report_of(planted, options);
  EXPECT_TRUE(report.passed()) << to_text(report);
  const auto matmul = std::ranges::find(report.lines, "MatMul", &SuiteLine::name);
  ASSERT_NE(matmul, report.lines.end());
  EXPECT_GT(matmul->off, kAllowedOff);
}

TEST(ConformanceTest, OneOperatorAlone) {
  Defects planted;
  planted.profile = profile_with(kFew, R"("f32", "f16")");
  SuiteOptions options;
  options.only = OpKind::kAdd;
  const SuiteReport report = report_of(planted, options);
  ASSERT_EQ(report.lines.size(), 3U) << to_text(report);
  EXPECT_EQ(report.lines[1].outcome, Outcome::kNoCase) << "no model has f16";
  const std::string json = to_json(report);
  EXPECT_THAT(
      json, HasSubstr(R"("group": "operator", "name": "Add", "type": "f32", "outcome": "passed")"));
}

}  // namespace
}  // namespace parallax::conformance
