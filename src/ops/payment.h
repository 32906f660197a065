// Constants that passes make are paid for while any copy of them lives: the destructor of the last
// copy gives the bytes back to the account of the load, if that is still going on. One thread loads
// a model; copies may be destroyed afterwards by any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "ir/graph.h"
#include "ops/load_budget.h"

namespace parallax {

/// Bytes to be paid, or to be given back: of the account, and of its part for copies of weights in
/// other files.
struct PaidBytes {
  std::int64_t bytes = 0, weight_bytes = 0;
};

/// A constant counts this often: kernels may keep its bytes once more as they read them.
constexpr std::int64_t kPaidPerByte = 2;

/// An owner that marks what it holds as weights of a file besides the model's.
std::shared_ptr<const void> weights_outside(std::shared_ptr<const void> owner);
/// The bytes of `constant` where they are weights of another file or copies of such, else 0.
std::int64_t weight_bytes(const Constant& constant);

/// Returns the owner that `owner` was before pay(), or itself if it was not paid for.
const std::shared_ptr<const void>& unpaid(const std::shared_ptr<const void>& owner);

/// Returns the bytes that the owner of `constant` returns when it is destroyed: 0 if others also
/// hold the constant, or if it was not paid for.
PaidBytes paid_for(const Constant& constant);

/// Whether `bytes` of constants, made of inputs with `weights` bytes of weights of other files, can
/// be paid for once `back` was given back.
bool can_pay(const LoadBudget& budget, std::int64_t bytes, std::int64_t weights = 0,
             PaidBytes back = {});
/// Pays for `constant`, as can_pay says. False, with nothing taken, where too little is left.
bool pay(const std::shared_ptr<LoadBudget>& budget, Constant& constant, std::int64_t weights = 0);

}  // namespace parallax
