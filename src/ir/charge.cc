#include "ir/charge.h"

#include <utility>

namespace parallax {
namespace {

/// The most by which copies of weights may be larger than the weights.
constexpr std::int64_t kMaxGrowth = 4;

/// As the deleter of an owner it marks the bytes.
struct OutsideWeights {
  std::shared_ptr<const void> held;
  void operator()(const void*) { held.reset(); }
};

struct Charge {
  std::weak_ptr<LoadQuota> quota;
  ChargedBytes paid;
  std::shared_ptr<const void> held;

  void operator()(const void*) {
    held.reset();
    const std::shared_ptr<LoadQuota> open = quota.lock();
    if (open == nullptr) return;
    open->return_bytes(paid.bytes);
    open->return_weight_bytes(paid.weight_bytes);
  }
};

bool may_count_as_weights(std::int64_t bytes, std::int64_t weights) {
  return bytes <= saturating_mul(kMaxGrowth, weights);
}

}  // namespace

std::shared_ptr<const void> weights_outside(std::shared_ptr<const void> owner) {
  const void* const address = owner.get();
  return {address, OutsideWeights{std::move(owner)}};
}

std::int64_t weight_bytes(const Constant& constant) {
  if (std::get_deleter<OutsideWeights>(constant.owner) != nullptr)
    return std::ssize(constant.bytes);
  const auto* const charge = std::get_deleter<Charge>(constant.owner);
  const bool copy = charge != nullptr && charge->paid.weight_bytes > 0;
  return copy ? std::ssize(constant.bytes) : 0;
}

const std::shared_ptr<const void>& uncharged(const std::shared_ptr<const void>& owner) {
  const auto* const charge = std::get_deleter<Charge>(owner);
  return charge == nullptr ? owner : uncharged(charge->held);
}

ChargedBytes charged_for(const Constant& constant) {
  const auto* const charge = std::get_deleter<Charge>(constant.owner);
  return charge == nullptr || constant.owner.use_count() > 1 ? ChargedBytes{} : charge->paid;
}

bool can_charge(const LoadQuota& quota, std::int64_t bytes, std::int64_t weights,
                ChargedBytes back) {
  const std::int64_t price = saturating_mul(kChargePerByte, bytes);
  if (price <= saturating_add(quota.bytes_left(), back.bytes)) return true;
  return may_count_as_weights(bytes, weights) &&
         price <= saturating_add(quota.weight_bytes_left(), back.weight_bytes);
}

bool charge(const std::shared_ptr<LoadQuota>& quota, Constant& constant, std::int64_t weights) {
  const std::int64_t price = saturating_mul(kChargePerByte, std::ssize(constant.bytes));
  ChargedBytes paid;
  if (may_count_as_weights(std::ssize(constant.bytes), weights) &&
      quota->take_weight_bytes(price)) {
    paid.weight_bytes = price;
  } else if (quota->take_bytes(price)) {
    paid.bytes = price;
  } else {
    return false;
  }
  const std::byte* const address = constant.bytes.data();
  constant.owner = {address, Charge{quota, paid, std::move(constant.owner)}};
  return true;
}

}  // namespace parallax
