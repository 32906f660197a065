#include "ops/payment.h"

#include <utility>

namespace parallax {
namespace {

/// The most by which copies of weights may be larger than the weights.
constexpr std::int64_t kMostGrowth = 4;

/// As the deleter of an owner it marks the bytes.
struct OutsideWeights {
  std::shared_ptr<const void> held;
  void operator()(const void*) { held.reset(); }
};

struct Payment {
  std::weak_ptr<LoadBudget> budget;
  PaidBytes paid;
  std::shared_ptr<const void> held;

  void operator()(const void*) {
    held.reset();
    const std::shared_ptr<LoadBudget> open = budget.lock();
    if (open == nullptr) return;
    open->return_bytes(paid.bytes);
    open->return_weight_bytes(paid.weight_bytes);
  }
};

bool may_count_as_weights(std::int64_t bytes, std::int64_t weights) {
  return bytes <= saturating_mul(kMostGrowth, weights);
}

}  // namespace

std::shared_ptr<const void> weights_outside(std::shared_ptr<const void> owner) {
  const void* const address = owner.get();
  return {address, OutsideWeights{std::move(owner)}};
}

std::int64_t weight_bytes(const Constant& constant) {
  if (std::get_deleter<OutsideWeights>(constant.owner) != nullptr)
    return std::ssize(constant.bytes);
  const auto* const payment = std::get_deleter<Payment>(constant.owner);
  const bool copy = payment != nullptr && payment->paid.weight_bytes > 0;
  return copy ? std::ssize(constant.bytes) : 0;
}

const std::shared_ptr<const void>& unpaid(const std::shared_ptr<const void>& owner) {
  const auto* const payment = std::get_deleter<Payment>(owner);
  return payment == nullptr ? owner : unpaid(payment->held);
}

PaidBytes paid_for(const Constant& constant) {
  const auto* const payment = std::get_deleter<Payment>(constant.owner);
  return payment == nullptr || constant.owner.use_count() > 1 ? PaidBytes{} : payment->paid;
}

bool can_pay(const LoadBudget& budget, std::int64_t bytes, std::int64_t weights, PaidBytes back) {
  const std::int64_t price = saturating_mul(kPaidPerByte, bytes);
  if (price <= saturating_add(budget.bytes_left(), back.bytes)) return true;
  return may_count_as_weights(bytes, weights) &&
         price <= saturating_add(budget.weight_bytes_left(), back.weight_bytes);
}

bool pay(const std::shared_ptr<LoadBudget>& budget, Constant& constant, std::int64_t weights) {
  const std::int64_t price = saturating_mul(kPaidPerByte, std::ssize(constant.bytes));
  PaidBytes paid;
  if (may_count_as_weights(std::ssize(constant.bytes), weights) &&
      budget->take_weight_bytes(price)) {
    paid.weight_bytes = price;
  } else if (budget->take_bytes(price)) {
    paid.bytes = price;
  } else {
    return false;
  }
  const std::byte* const address = constant.bytes.data();
  constant.owner = {address, Payment{budget, paid, std::move(constant.owner)}};
  return true;
}

}  // namespace parallax
