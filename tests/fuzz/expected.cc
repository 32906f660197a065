#include "expected.h"

#include <algorithm>

#include "interpret.h"

namespace parallax::fuzz {
namespace {

/// Kernels differ by a millionth or so of the largest magnitude per node; what moves a result by a
/// tenth of the tolerance for ten times as much is not compared. Small elements may come out as 0,
/// and sums differ by a millionth of their largest term: in both directions, since a comparison of
/// a sum that is 0 changes in one of them only.
constexpr Noise kNoises[] = {{.size = 1e-5, .seed = 1},
                             {.size = 1e-5, .seed = 2, .by_place = true},
                             {.size = 1e-6, .seed = 3, .flushes = true},
                             {.size = 1e-6, .seed = 4, .by_place = true, .shifts = true},
                             {.size = -1e-6, .seed = 4, .by_place = true, .shifts = true}};

/// The least that all disturbed runs leave of `output`.
Stable stable_of(const Constant& output, const Constant& disturbed) {
  for (const Stable compared : {Stable::kElements, Stable::kShape}) {
    if (!difference(view_of(disturbed), view_of(output), kTolerance / 10, compared))
      return compared;
  }
  return Stable::kType;
}

Expected expected_of(const Case& fuzzed, const std::vector<Constant>& inputs) {
  std::map<std::string, OpKind, std::less<>> open;
  Expected expected{interpret(fuzzed.graph, inputs, nullptr, {.open = &open}), {}, {}, {}};
  const std::size_t count = fuzzed.graph.outputs.size();
  expected.open.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& name : values_behind(fuzzed.graph, fuzzed.graph.outputs[i])) {
      const auto found = open.find(name);
      if (found != open.end()) expected.open[i].insert(found->second);
    }
  }
  if (!expected.outputs) {
    expected.stable.assign(count, Stable::kType);
    std::vector<Error> errors;
    values_of(fuzzed.graph, inputs, &errors);
    // A node behind one that fails has no inputs, which is kInternal here and nowhere else.
    for (const Error& error : errors)
      if (error.code != ErrorCode::kInternal) expected.codes.insert(error.code);
    return expected;
  }
  expected.stable.assign(count, Stable::kElements);
  for (const Noise& noise : kNoises) {
    const auto disturbed = interpret(fuzzed.graph, inputs, nullptr, noise);
    for (std::size_t i = 0; i < count; ++i) {
      const Stable left =
          disturbed ? stable_of((*expected.outputs)[i], (*disturbed)[i]) : Stable::kType;
      expected.stable[i] = std::min(expected.stable[i], left);
    }
  }
  return expected;
}

}  // namespace

std::vector<Expected> expected_of(const Case& fuzzed) {
  std::vector<Expected> all;
  for (const auto& run : fuzzed.runs) all.push_back(expected_of(fuzzed, run));
  return all;
}

}  // namespace parallax::fuzz
