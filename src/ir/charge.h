// Charges the bytes of constants that passes make to the quota of a load, as long as any copy of
// them lives: the destructor of the last copy releases the charge if the load is still in progress.
// Thread-safety: one thread loads a model; any thread may destroy copies afterwards.
#pragma once

#include <cstdint>
#include <memory>

#include "ir/graph.h"
#include "ir/load_quota.h"

namespace parallax {

/// Bytes that are charged or released: to the quota, and to its part for copies of weights in
/// other files.
struct ChargedBytes {
  std::int64_t bytes = 0, weight_bytes = 0;
};

/// Bytes charged for each byte of a constant: kernels may keep another copy in their own layout.
constexpr std::int64_t kChargePerByte = 2;

/// Returns an owner that marks what it holds as weights of a file other than the model's.
std::shared_ptr<const void> weights_outside(std::shared_ptr<const void> owner);
/// Returns the bytes of `constant` if they are weights of another file or copies of such, else 0.
std::int64_t weight_bytes(const Constant& constant);

/// Returns the owner that `owner` was before charge(), or itself if it was not charged.
const std::shared_ptr<const void>& uncharged(const std::shared_ptr<const void>& owner);

/// Returns the bytes that the owner of `constant` returns when it is destroyed: 0 if others also
/// hold the constant, or if it was not charged.
ChargedBytes charged_for(const Constant& constant);

/// Whether the quota has room for `bytes` of constants, made of inputs with `weights` bytes of
/// weights of other files, once `back` is released.
bool can_charge(const LoadQuota& quota, std::int64_t bytes, std::int64_t weights = 0,
                ChargedBytes back = {});
/// Charges the bytes of `constant` to the quota. Returns false and charges nothing if can_charge()
/// is false.
bool charge(const std::shared_ptr<LoadQuota>& quota, Constant& constant, std::int64_t weights = 0);

}  // namespace parallax
