#include "parallax/result.h"

namespace parallax {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidModel:
      return "invalid model";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInvalidInput:
      return "invalid input";
    case ErrorCode::kUnboundSymbol:
      return "unbound symbol";
    case ErrorCode::kOutOfRange:
      return "out of range";
    case ErrorCode::kBudgetExceeded:
      return "budget exceeded";
    case ErrorCode::kOutOfMemory:
      return "out of memory";
    case ErrorCode::kLimitExceeded:
      return "limit exceeded";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kIo:
      return "input/output";
    case ErrorCode::kInternal:
      return "internal error";
  }
  return "unknown";
}

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::kLoad:
      return "load";
    case Stage::kSimplify:
      return "simplify";
    case Stage::kPartition:
      return "partition";
    case Stage::kBranch:
      return "branch";
    case Stage::kMemory:
      return "memory";
    case Stage::kSchedule:
      return "schedule";
    case Stage::kCompile:
      return "compile";
    case Stage::kRun:
      return "run";
    case Stage::kSession:
      return "session";
    case Stage::kFiles:
      return "files";
  }
  return "unknown";
}

namespace {

/// Returns `text` as one line, whatever names from a file it contains: control characters become
/// '?'.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

std::string Error::to_string() const {
  if (node.empty()) return one_line(message);
  return one_line("node '" + node + "': " + message);
}

}  // namespace parallax
