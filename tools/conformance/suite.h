// The suite that every delegate passes: what its description claims is run through the host's own
// classes and compared with the reference kernels. What is claimed and fails is a failure of the
// description.
//
//     operators  each operator x type x shape class, under several sizes of free dimensions
//     graphs     whole small graphs, each as one region
//     behaviour  concurrent regions and runs, cancelled runs, memory that is not there, sizes that
//                change while runs go on, if they may, compiling and discarding without growth,
//                one answer to each question
//
// The delegate runs in this process: one that crashes ends it, so a program that runs the suite
// says with `begin` where it was.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "delegate_host/open_delegate.h"

namespace parallax::conformance {

/// Allowed error relative to the largest magnitude of a result, if floats are stored in 32 bits or,
/// inside a region, in 16.
inline constexpr double kAllowedOff = 1e-4, kAllowedOffHalf = 2e-2;

/// Rounds of compiling, binding and discarding a region with 64 KiB of weights, behind a tenth of
/// them that do not count, and the bytes by which the process may grow meanwhile.
inline constexpr int kGrowthRounds = 1000;
inline constexpr std::int64_t kGrowthBytes = std::int64_t{4} << 20;

struct SuiteOptions {
  std::optional<OpKind> only = {};  ///< cases of this operator alone, no graphs and no behaviour
  std::uint64_t seed = 1;           ///< seed of inputs and weights
  bool half = false;                ///< regions may store floats in 16 bits
  /// Within which a run must be answered. A delegate that does not is asked nothing more.
  std::chrono::milliseconds answer_time{60'000};
  int growth_rounds = kGrowthRounds;                   ///< 0: growth is not measured
  std::function<void(const std::string&)> begin = {};  ///< is told what comes next
};

enum class Outcome : std::uint8_t {
  kPassed,
  kFailed,
  kNoCase,  ///< nothing to run: `problems` says why
};

/// One line of the report.
struct SuiteLine {
  std::string group;  ///< "operator", "graph", "behaviour"
  std::string name;   ///< "Conv", "a chain"
  std::string type;   ///< element type of an operator's cases: "f32"
  Outcome outcome = Outcome::kPassed;
  int cases = 0, failed = 0;
  double off = 0;  ///< the farthest from what it should be, by the largest magnitude
  std::vector<std::string> problems;  ///< the first few
};

struct SuiteReport {
  std::string delegate, device, driver;
  std::vector<SuiteLine> lines;
  bool passed() const;
};

/// Opens the delegate by `spec` ("cores:2") and runs the suite. Not at the same time as another
/// one. Errors: the delegate does not open, or describes nonsense.
Result<SuiteReport> run_suite(const DelegateTable& table, const std::string& spec,
                              const SuiteOptions& options, const Logger& log);

/// A line for each line, and one that sums up.
std::string to_text(const SuiteReport& report);
std::string to_json(const SuiteReport& report);

}  // namespace parallax::conformance
