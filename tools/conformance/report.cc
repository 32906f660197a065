#include <fmt/core.h>

#include <algorithm>

#include "suite.h"

namespace parallax::conformance {
namespace {

std::string_view outcome_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kNoCase:
      return "no case";
  }
  return "";
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// JSON has no infinity: null is what is not at all right.
std::string json_number(double number) {
  return number < 1e300 ? fmt::format("{:g}", number) : "null";
}

std::string json_line(const SuiteLine& line) {
  std::string problems;
  for (const std::string& problem : line.problems)
    problems += (problems.empty() ? "" : ", ") + json_text(problem);
  const std::string_view outcome =
      line.outcome == Outcome::kFailed ? "failed" : outcome_text(line.outcome);
  return fmt::format(
      R"({{"group": {}, "name": {}, "type": {}, "outcome": {}, "cases": {}, "failed": {}, "off": {}, )"
      R"("problems": [{}]}})",
      json_text(line.group), json_text(line.name), json_text(line.type), json_text(outcome),
      line.cases, line.failed, json_number(line.off), problems);
}

}  // namespace

std::string to_text(const SuiteReport& report) {
  std::string text = fmt::format("{}: {}{}{}\n", report.delegate,
                                 report.device.empty() ? "a device" : report.device,
                                 report.driver.empty() ? "" : ", ", report.driver);
  int failed = 0, passed = 0;
  for (const SuiteLine& line : report.lines) {
    const std::string name = line.type.empty() ? line.name : line.name + " " + line.type;
    text += fmt::format("{:<44} {:<8}", name, outcome_text(line.outcome));
    if (line.cases > 0) text += fmt::format(" {:>4} runs", line.cases);
    if (line.failed > 0) text += fmt::format(", {} failed", line.failed);
    if (line.off > 0) text += fmt::format(", off by {:.1e}", line.off);
    for (const std::string& problem : line.problems)
      text += (line.cases > 0 ? "\n    " : " ") + problem;
    text += '\n';
    failed += line.outcome == Outcome::kFailed ? 1 : 0;
    passed += line.outcome == Outcome::kPassed ? 1 : 0;
  }
  return text + fmt::format("{} passed, {} failed\n", passed, failed);
}

std::string to_json(const SuiteReport& report) {
  std::string lines;
  for (const SuiteLine& line : report.lines)
    lines += (lines.empty() ? "\n  " : ",\n  ") + json_line(line);
  return fmt::format(
      "{{\"delegate\": {}, \"device\": {}, \"driver\": {}, \"passed\": {}, \"lines\": [{}\n]}}\n",
      json_text(report.delegate), json_text(report.device), json_text(report.driver),
      report.passed(), lines);
}

}  // namespace parallax::conformance
