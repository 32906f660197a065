// parallax-pack FILE.csv: packs the buffers of a file and prints the height that they need.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <string>

#include "base/status.h"
#include "csv.h"
#include "files/files.h"
#include "options/parse_command_line.h"

namespace parallax {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string file;
  std::int64_t limit_ms = 9000;
  bool offsets = false;
};

Result<std::string> read_file(const std::string& path) {
  PX_ASSIGN(const cli::File file, cli::open_to_read(path));
  std::string text;
  std::array<char, 1 << 16> part;
  while (const std::size_t bytes = std::fread(part.data(), 1, part.size(), file.get()))
    text.append(part.data(), bytes);
  if (std::ferror(file.get()) != 0) return tl::unexpected(cli::cannot_read(path, errno));
  return text;
}

Status pack_file(const Options& options) {
  PX_ASSIGN(const std::string text, read_file(options.file));
  PX_ASSIGN(const std::vector<PackingBuffer> buffers, parse_packing_csv(text));
  const Clock::time_point start = Clock::now();
  const Clock::time_point end = start + std::chrono::milliseconds(options.limit_ms);
  PackingLimit limit;
  limit.steps = std::numeric_limits<std::int64_t>::max();
  limit.stop = [&] { return Clock::now() >= end; };
  PX_ASSIGN(const Packing packing, pack(buffers, limit));
  const std::chrono::duration<double> seconds = Clock::now() - start;
  PX_RETURN_IF_ERROR(check_packing(buffers, packing));
  fmt::print("height {} seconds {:.3f}\n", packing.height, seconds.count());
  if (options.offsets) {
    for (std::int64_t offset : packing.offset) fmt::print("{}\n", offset);
  }
  return cli::finish_standard_output();
}

int fail(int status, const std::string& message) {
  fmt::print(stderr, "parallax-pack: {}\n", message);
  return status;
}

int run(int argc, char** argv) {
  CLI::App app("Finds offsets for buffers of known lifetimes, so that they fit into little memory.",
               "parallax-pack");
  Options options;
  app.add_option("file", options.file, "columns lower, upper, size; lives in [lower, upper)")
      ->required();
  app.add_option("--limit-ms", options.limit_ms,
                 "milliseconds after which it stops improving; the default is 9000, a plan gets 50")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{86'400'000}));
  app.add_flag("--offsets", options.offsets, "print the offset of each buffer, one a line");
  if (const auto ended = cli::parse_command_line(app, argc, argv, fail)) return *ended;
  const Status done = pack_file(options);
  if (done) return 0;
  // An error of reading or writing already names its file.
  const bool named = done.error().code == ErrorCode::kIo;
  return fail(1, (named ? "" : options.file + ": ") + done.error().to_string());
}

}  // namespace
}  // namespace parallax

int main(int argc, char** argv) {
  // A closed pipe, and a file beyond the limit for files, are errors of writing to it.
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    return parallax::run(argc, argv);
  } catch (const std::exception& error) {  // standard output that took only a part, say
    return parallax::fail(1, error.what());
  }
}
