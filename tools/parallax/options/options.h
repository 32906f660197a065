// The command line as values: one struct for all commands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/session.h"

namespace parallax::cli {

/// The command line means nothing, or contradicts itself or the model. Thrown, because it ends
/// every command in the same way: with exit status 2 (main.cc).
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// --dim SYMBOL=N; for bench also N..M and N,M,...
struct GivenDim {
  std::string symbol;
  std::vector<std::int64_t> values;
};
/// --shape NAME=1x3x640x640.
struct GivenShape {
  std::string input;
  std::vector<std::int64_t> dims;
};

/// How an image comes to the size of an input.
enum class ImageFit : std::uint8_t {
  kStretch,    ///< whatever its proportions
  kLetterbox,  ///< whole, grey bars around it
  kCrop,       ///< its middle
};

/// How pixels become values: (pixel x scale - mean) / deviation, channel by channel.
struct ImageOptions {
  std::vector<float> mean, deviation;  ///< one for all channels or one for each; empty: 0 and 1
  std::optional<float> scale;          ///< 1/255 for floats, 1 for integers unless given
  bool bgr = false;
  ImageFit fit = ImageFit::kStretch;
};

/// The files that `--output-dir` is filled with.
enum class OutputFormat : std::uint8_t { kNpy, kPb };

struct Options {
  std::string command_line;  ///< all of it, as a shell takes it
  std::string model;
  SessionOptions session;
  LoadOptions load;
  RuntimeOptions runtime;

  std::vector<std::string> inputs;  ///< NAME=FILE.npy or NAME=FILE.pb
  std::vector<std::string> images;  ///< NAME=FILE.png
  ImageOptions image;
  bool cast = false;  ///< elements of their files become the input's type
  std::vector<GivenShape> shapes;
  std::vector<GivenDim> dims;
  std::uint64_t seed = 0;
  std::vector<std::string> ties;  ///< INPUT=OUTPUT
  bool reset_state = false;       ///< each run starts from its inputs again
  int repeat = 0;                 ///< runs of run; 0: one, whose outputs lie in the folder itself
  std::string output_dir;
  OutputFormat output_format = OutputFormat::kNpy;
  std::string expected;     ///< a folder of outputs; empty: none
  double tolerance = 1e-3;  ///< relative to the outputs' largest magnitude
  int top = 0;              ///< classes of scores that are printed; 0: none
  std::string labels;       ///< a file of their names
  std::string json;
  std::string profile;
  bool explain = false;
  bool structure = false;
  /// In order of preference; of plan and simulate: delegates, or one profile's name or path.
  std::vector<std::string> delegates;
  PlanOptions plan;
  bool require_full_delegation = false;
  /// Gives the loader all sizes of the command line, not only those that it asks for.
  bool loads_with_sizes = false;
  std::string trace;  ///< bench: the file for a run's trace
  bool ops = false;
  int warmup = 5;
  int runs = 20;
  double duration = 0;  ///< seconds, in place of `runs`; 0: not given
  int concurrency = 1;  ///< callers of bench
};

constexpr std::size_t kMaxValues = 100000;  // per symbol: a range cannot exhaust memory

/// Values of each symbol: one for run, plan and verify; any number for bench, taken in turn.
using SymbolValues = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// Reads --dim's text, with at most `most` values. Throws UsageError.
GivenDim parse_dim(const std::string& text, std::size_t most);
/// Reads --shape's text. Throws UsageError.
GivenShape parse_shape(const std::string& text);
/// "64MiB", "1.5GB", "123456", "auto", "none". Throws UsageError.
MemoryBudget parse_budget(const std::string& text);

/// Returns the values that --dim and --shape give to the model's free dimensions. Throws UsageError
/// for names that the model does not have and for values that contradict the model or each other.
SymbolValues symbol_values(const Options& options, const Model& model);
/// The values that run `i` takes.
std::vector<DimValue> dims_of_run(const SymbolValues& values, std::size_t i);

/// Runs the session of `options` with its delegates. Throws UsageError for one that is not there.
void use_delegates(Options& options);
/// Throws UsageError for what only a delegate that runs has, and a profile does not.
void check_runs(const Options& options);
/// Whether --delegate names what runs, and no profile: where libraries are given any name may be.
bool has_delegates(const Options& options);
/// The runtime that `options` ask for; its warnings go to standard error.
Result<Runtime> make_runtime(const Options& options, bool runs = true);

/// Loads the model; warnings of the library then go to standard error. `runs`: a command that does
/// pre-faults memory for packed weights.
Result<Model> load_model(const Options& options, bool runs = true);

/// A loaded model with a session, which most commands begin with.
struct Opened {
  Model model;
  Session session;
  SymbolValues values;  ///< one of each symbol
};
/// `runs`: as load_model(). Errors: of the model and the session. Throws UsageError.
Result<Opened> open_model(const Options& options, bool runs = true);

Status run_command(const Options& options);
Status plan_command(const Options& options);
Status bench_command(const Options& options);
Status verify_command(const Options& options);
Status simulate_command(const Options& options);
Status calibrate_command(const Options& options);
Status info_command(const Options& options);
Status delegates_command(const Options& options);

}  // namespace parallax::cli
