// px_fuzz: makes models of seeds, runs each in every way, compares. docs/howto/fuzz.md says how to
// use it; tests/fuzz/fuzz.py drives it and reads its lines:
//
//     begin SEED
//     finding SEED WHAT
//     end SEED checked|refused|failing BYTES WHY
//     operators Abs=3 Add=12 ...
//
// BYTES is the heap that is in use then: what grows from seed to seed is a leak.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include "case.h"
#include "check.h"
#include "generator.h"
#include "minimise.h"
#include "plant.h"
#include "write.h"

namespace parallax::fuzz {
namespace {

struct Options {
  std::uint64_t seed = 0;
  std::uint64_t count = 1;
  bool print = false, minimise = false;
  std::string write, compare, corpus, plant;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// Their shadows take any address: fuzz.py limits what is resident instead.
void limit_memory() {}
#else
/// What takes more than any case may gets an error, not the machine's memory.
void limit_memory() {
  constexpr rlim_t kMaxBytes = rlim_t{4} << 30U;
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, kMaxBytes);
  setrlimit(RLIMIT_AS, &limit);
}
#endif

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

int run(const Options& options, const std::filesystem::path& folder) {
  int findings = 0;
  std::map<OpKind, int> operators;
  for (std::uint64_t seed = options.seed; seed < options.seed + options.count; ++seed) {
    fmt::print("begin {}\n", seed);
    std::fflush(stdout);
    {
      Case fuzzed = Generator(seed).make();
      if (options.minimise) fuzzed = minimised(fuzzed, folder, options.compare);
      if (!options.corpus.empty()) {
        write_corpus(fuzzed, options.corpus);
        continue;
      }
      if (options.print) fmt::print("{}", to_string(fuzzed));
      std::fflush(stdout);
      count_operators(fuzzed.graph, operators);
      const std::filesystem::path place = folder / "case";
      std::filesystem::create_directories(place);
      // Before and after, so that what crashes is there as well.
      if (!options.write.empty()) write_case(fuzzed, {}, options.write);
      const Outcome outcome = check(fuzzed, place, plant_of(options.plant).value_or(Plant::kNone));
      for (const std::string& finding : outcome.findings)
        fmt::print("finding {} {}\n", seed, one_line(finding));
      findings += outcome.findings.empty() ? 0 : 1;
      const bool failing = std::any_of(outcome.runs.begin(), outcome.runs.end(),
                                       [](const RunResult& r) { return r.error.has_value(); });
      if (!options.write.empty()) write_case(fuzzed, outcome, options.write);
      std::filesystem::remove_all(place);
      fmt::print("end {} {} {} {}\n", seed,
                 outcome.refusal ? "refused" : (failing ? "failing" : "checked"), heap_bytes(),
                 outcome.refusal ? one_line(outcome.refusal->message) : std::string());
    }
  }
  fmt::print("operators");
  for (const auto& [op, count] : operators) fmt::print(" {}={}", to_string(op), count);
  fmt::print("\n");
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace parallax::fuzz

int main(int argc, char** argv) {
  parallax::fuzz::Options options;
  CLI::App app("Runs random models in every way and compares");
  app.add_option("--seed", options.seed, "the first seed");
  app.add_option("--count", options.count, "how many seeds");
  app.add_flag("--print", options.print, "print the graph and the inputs");
  app.add_flag("--minimise", options.minimise, "make the case smaller while its finding stays");
  app.add_option("--write", options.write, "a folder for model, inputs and outputs of each seed");
  app.add_option("--with", options.compare,
                 "a command that is given a written case and fails where it has a finding, for "
                 "--minimise");
  app.add_option("--corpus", options.corpus,
                 "a folder for files that libFuzzer begins with; nothing is run then");
  app.add_option("--plant", options.plant, "a defect that is to be found: plant.h names them")
      ->check([](const std::string& name) {
        return parallax::fuzz::plant_of(name) ? "" : "no such defect";
      });
  CLI11_PARSE(app, argc, argv);
  parallax::fuzz::limit_memory();
  std::string pattern = std::filesystem::temp_directory_path() / "px_fuzz.XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return 2;
  const int status = parallax::fuzz::run(options, pattern);
  std::filesystem::remove_all(pattern);
  return status;
}
