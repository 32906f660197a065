#include "delegate_host/refusal.h"

namespace parallax {

Refusal refusal_of_bind(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBudgetExceeded:  // memory that others hold now
      return Refusal::kMoment;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return Refusal::kRegion;
    default:
      return Refusal::kSizes;
  }
}

Refusal refusal_of_run(ErrorCode code) {
  const bool memory = code == ErrorCode::kBudgetExceeded || code == ErrorCode::kOutOfMemory;
  return memory ? Refusal::kMoment : Refusal::kRegion;
}

std::string_view scope_of(Refusal refusal) {
  if (refusal == Refusal::kSizes) return "with some sizes: ";
  if (refusal == Refusal::kMoment) return "for a while: ";
  return "";
}

}  // namespace parallax
