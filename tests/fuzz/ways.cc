#include "ways.h"

#include <fmt/format.h>

#include <array>

namespace parallax::fuzz {

SessionOptions any_options(Random& random) {
  SessionOptions options;
  options.scheduler = random.pick(std::array{Scheduler::kSequential, Scheduler::kLayers,
                                             Scheduler::kDataflow, Scheduler::kDataflow});
  options.threads = random.pick(std::array{1, 2, 3, 3, 4, 8});
  options.refinement =
      random.pick(std::array{Refinement::kTime, Refinement::kPaper, Refinement::kNone});
  options.admission = random.chance(50) ? Admission::kPaper : Admission::kTimeSaved;
  return options;
}

std::string text_of(const SessionOptions& options) {
  static constexpr std::array kNames = {"sequential", "layers", "dataflow"};
  static constexpr std::array kRefinements = {"", ", paper", ", no refinement"};
  std::string text =
      fmt::format("{}, {} threads{}{}", kNames[static_cast<std::size_t>(options.scheduler)],
                  options.threads, kRefinements[static_cast<std::size_t>(options.refinement)],
                  options.admission == Admission::kPaper ? ", admission of the paper" : "");
  if (options.budget.kind == MemoryBudget::Kind::kBytes)
    text += fmt::format(", budget {}", options.budget.bytes);
  if (options.budget.kind == MemoryBudget::Kind::kAuto) text += ", budget auto";
  return text;
}

}  // namespace parallax::fuzz
