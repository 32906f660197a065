// Errors are values: every fallible function of Parallax returns Result<T>; nothing throws across
// the public API, nothing is printed and nothing aborts because of a model or an input.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace parallax {

/// What kind of thing went wrong.
enum class ErrorCode : std::uint8_t {
  kInvalidModel,    ///< the file contradicts its format or itself
  kUnsupported,     ///< a valid model, or use of one, that Parallax does not cover; the message
                    ///< lists what
  kInvalidInput,    ///< an input has the wrong name, dtype, shape or value
  kUnboundSymbol,   ///< a dynamic dimension has no value
  kOutOfRange,      ///< an index found while running lies outside its tensor
  kBudgetExceeded,  ///< the plan cannot fit the memory budget; the message says how many bytes are
                    ///< missing
  kOutOfMemory,     ///< the system refused memory
  kLimitExceeded,   ///< a limit of the options on loop trips or on time
  kCancelled,       ///< the caller asked for the end of a run
  kIo,              ///< a file cannot be read or written
  kInternal,        ///< a bug of Parallax: please report
};

/// The pipeline stage that noticed.
enum class Stage : std::uint8_t {
  kLoad,
  kPasses,
  kPartition,
  kBranch,
  kMemory,
  kSchedule,
  kCompile,
  kExecute,
  kSession,
  kIo
};

std::string_view to_string(ErrorCode code);
std::string_view to_string(Stage stage);

/// A typed error. `node` is the model's node name, empty where no node is at fault; `message` is
/// one line and carries the shapes and names involved.
struct Error {
  Stage stage = Stage::kSession;
  ErrorCode code = ErrorCode::kInternal;
  std::string node;
  std::string message;

  /// "node 'conv_3' (Conv): message" or "message": one line for a person.
  std::string to_string() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

}  // namespace parallax
