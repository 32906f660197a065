// Errors are values: every fallible function of Parallax returns a Result<T> or a Status, and lets
// no exception out. The library never prints, and does not abort because of a model or an input.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace parallax {

/// The kind of an error: what a caller branches on. The C surfaces pass the same values plus 1
/// (px_code in c_types.h).
enum class ErrorCode : std::uint8_t {
  kInvalidModel,    ///< the file contradicts its format or itself
  kUnsupported,     ///< a valid model, or a valid use of one, that Parallax does not cover; the
                    ///< message lists what is missing
  kInvalidInput,    ///< an argument has a wrong name, dtype, shape or value
  kUnboundSymbol,   ///< a dynamic dimension has no value
  kOutOfRange,      ///< an index computed during a run lies outside its tensor
  kBudgetExceeded,  ///< the memory budget is too small; the message says how many bytes are missing
  kOutOfMemory,     ///< the system or the user's allocator refused memory
  kLimitExceeded,   ///< a run reached a limit of its options on loop trips or on time
  kCancelled,       ///< the caller requested that a run stop
  kIo,              ///< a file cannot be read or written
  kInternal,        ///< a bug in Parallax: please report it
};

/// The stage of the pipeline that detected an error, named as the folder of src/ that does it. It
/// tells where to look, not who is to blame: a bad model may be found as late as kRun.
enum class Stage : std::uint8_t {
  kLoad,       ///< parsing the model file
  kSimplify,   ///< rewriting the graph: all passes, those of lowering included
  kPartition,  ///< choosing the regions of delegates; opening delegates
  kBranch,     ///< splitting the graph into branches and layers
  kMemory,     ///< placing tensors in the arena
  kSchedule,   ///< choosing which branches run concurrently
  kCompile,    ///< selecting kernels; compiling regions
  kRun,        ///< running
  kSession,    ///< checking the arguments of a call
  kFiles       ///< reading or writing files; making objects
};

/// Returns the code in words, e.g. "invalid model"; "unknown" if the number is no ErrorCode.
std::string_view to_string(ErrorCode code);
/// Returns the stage in words, e.g. "load"; "unknown" if the number is no Stage.
std::string_view to_string(Stage stage);

/// A typed error. Programs branch on `code`; `stage`, `node` and `message` are for people and logs,
/// and their texts change between versions.
struct Error {
  Stage stage = Stage::kSession;
  ErrorCode code = ErrorCode::kInternal;
  std::string node;     ///< name of the model's node that failed; empty if the error has no node
  std::string message;  ///< names the values and shapes involved; may quote names from the file

  /// Returns "node 'conv_3': message", or the message alone: one line, in which control characters
  /// are replaced by '?'.
  std::string to_string() const;
};

/// A value, or the error that prevented it. Test it as a bool first: value() of an error throws
/// tl::bad_expected_access, and operator* does not check.
template <class T>
using Result = tl::expected<T, Error>;
/// Success, or an error.
using Status = Result<void>;

}  // namespace parallax
