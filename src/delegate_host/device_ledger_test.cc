// Tests the count of a device's memory, and the pieces for its values.
#include "delegate_host/device_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "delegate_host/device_pool.h"
#include "delegate_host/test_delegate_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

TEST(DeviceLedger, RefusesWhatIsTooMuch) {
  DeviceLedger ledger(1000);
  EXPECT_TRUE(ledger.take(600, "tensors"));
  const auto refused = ledger.take(401, "tensors");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExceeded);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("401 bytes for tensors next to 600 bytes held, the delegate may have 1000"));
  EXPECT_TRUE(ledger.take(400, "tensors"));
  ledger.give(1000);
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.peak(), 1000);
}

TEST(DeviceLedger, CountsTheMostOfWhatSharesAPlace) {
  DeviceLedger ledger(1000);
  for (const std::int64_t bytes : {300, 500, 100, 500}) EXPECT_TRUE(ledger.take_shared(bytes, ""));
  EXPECT_EQ(ledger.held(), 500);
  EXPECT_FALSE(ledger.take_shared(1001, ""));
  EXPECT_EQ(ledger.held(), 500);
  ledger.give_shared(500);
  EXPECT_EQ(ledger.held(), 500);
  ledger.give_shared(500);
  EXPECT_EQ(ledger.held(), 300);
  ledger.give_shared(100);
  ledger.give_shared(300);
  EXPECT_EQ(ledger.held(), 0);
}

DeviceBudget budget_of(std::int64_t& room) {
  return {[&](std::int64_t bytes) -> Status {
            if (bytes > room)
              return tl::unexpected(Error{Stage::kRun, ErrorCode::kBudgetExceeded, {}, "full"});
            room -= bytes;
            return {};
          },
          [&](std::int64_t bytes) { room += bytes; }};
}

TEST(DeviceLedger, ReturnsBytesToTheBudgetWithoutItsLock) {
  DeviceLedger* whole = nullptr;
  std::int64_t returned = 0, held = 0;
  const DeviceBudget budget = {[&](std::int64_t bytes) -> Status {
                                 // Another caller is faster.
                                 return bytes == 60 ? whole->take(80, "tensors") : Status{};
                               },
                               [&](std::int64_t bytes) {
                                 returned += bytes;
                                 held = whole->held();
                               }};
  DeviceLedger ledger(100, budget);
  whole = &ledger;
  EXPECT_FALSE(ledger.take(60, "tensors"));
  EXPECT_EQ(returned, 60);
  EXPECT_EQ(held, 80);
}

TEST(DeviceLedger, AsksTheBudgetThatItBelongsTo) {
  std::int64_t room = 500;
  const auto ledger = std::make_shared<DeviceLedger>(1000, budget_of(room));
  {
    const auto charge = DeviceCharge::make(ledger, 200, 300, "tensors");
    ASSERT_TRUE(charge);
    EXPECT_EQ(room, 0);
    EXPECT_FALSE(DeviceCharge::make(ledger, 1, 0, "tensors"));
    EXPECT_TRUE(DeviceCharge::make(ledger, -7, 300, "tensors")) << "nonsense counts as nothing";
  }
  EXPECT_EQ(room, 500);
  EXPECT_FALSE(DeviceCharge::make(ledger, 200, 301, "tensors"));
  EXPECT_EQ(room, 500);
  EXPECT_EQ(ledger->held(), 0);
  {
    const auto weights = DeviceCharge::make(ledger, 900, 0, "weights", DeviceBytes::kConstants);
    ASSERT_TRUE(weights) << "no budget counts them";
    EXPECT_EQ(room, 500);
    EXPECT_EQ(ledger->held(), 900);
  }
  EXPECT_EQ(room, 500);
  EXPECT_EQ(ledger->held(), 0);
}

class DevicePoolTest : public testing::Test {
 protected:
  std::shared_ptr<DevicePool> pool(std::int64_t limit) {
    ledger_ = std::make_shared<DeviceLedger>(limit);
    return std::make_shared<DevicePool>(opened_, ledger_);
  }
  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  const bool own_ = faults_.own_memory = true;
  const std::shared_ptr<const OpenDelegate> opened_ =
      *open_delegate(*check_table(&table_, ""), "test", "", Logger{});
  std::shared_ptr<DeviceLedger> ledger_;
};

TEST_F(DevicePoolTest, PiecesServeAgain) {
  const auto pool = this->pool(1000);
  DevicePiece* const first = pool->take(400)->get();
  EXPECT_EQ(faults_.pieces, 1);
  EXPECT_EQ(pool->take(300)->get(), first);
  EXPECT_EQ(pool->take(100)->get(), first) << "there is no room for another one";
  EXPECT_NE(pool->take(40)->get(), first) << "a larger value may need that";
  EXPECT_EQ(faults_.pieces, 2);
  EXPECT_EQ(ledger_->held(), 440);
  pool->trim();
  EXPECT_EQ(faults_.pieces, 0);
  EXPECT_EQ(ledger_->held(), 0);
}

TEST_F(DevicePoolTest, PiecesHoldNoMoreThanRunsNeedAtOnce) {
  const auto pool = this->pool(1'000'000);
  for (const bool falls : {false, true}) {
    pool->trim();
    std::size_t most = 0;
    for (std::size_t i = 1; i <= 100; ++i) {
      const std::size_t size = 10 * (falls ? 101 - i : i);
      {
        const auto a = pool->take(size), b = pool->take(2 * size);
        ASSERT_TRUE(a && b);
      }
      most = std::max(most, 3 * size);
      EXPECT_LE(ledger_->held(), static_cast<std::int64_t>(most * 11 / 10)) << size;
    }
  }
  pool->trim();
  EXPECT_EQ(ledger_->held(), 0);
}

TEST_F(DevicePoolTest, IdlePiecesGoWhereMemoryIsShort) {
  const auto pool = this->pool(1000);
  {
    const auto a = pool->take(300), b = pool->take(300);
    ASSERT_TRUE(a && b);
    EXPECT_FALSE(pool->take(401));
  }
  EXPECT_EQ(ledger_->held(), 600);
  EXPECT_TRUE(pool->take(900)) << "in place of both";
  faults_.refuse_memory = 1;
  EXPECT_TRUE(pool->take(60)) << "the idle one goes, as the device itself has no more";
  EXPECT_EQ(faults_.pieces, 1);
  faults_.refuse_memory = 2;
  EXPECT_FALSE(pool->take(500));
  EXPECT_EQ(ledger_->held(), 0);
}

TEST_F(DevicePoolTest, WhatCopiesTakeCountsBesides) {
  std::int64_t room = 100;
  ledger_ = std::make_shared<DeviceLedger>(1000);
  const auto pool = std::make_shared<DevicePool>(
      opened_, ledger_, std::make_shared<DeviceLedger>(1'000'000, budget_of(room)));
  faults_.staging_bytes = 60;
  {
    const auto first = pool->take(300);
    ASSERT_TRUE(first);
    EXPECT_EQ(room, 40);
    const auto second = pool->take(300);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kBudgetExceeded);
    EXPECT_EQ(faults_.pieces, 1) << "it is handed back";
    EXPECT_EQ(ledger_->held(), 300);
  }
  EXPECT_TRUE(pool->take(500)) << "in place of the idle one";
  EXPECT_EQ(room, 40);
  pool->trim();
  EXPECT_EQ(room, 100);
}

TEST_F(DevicePoolTest, WhatFailedIsNotUsedAgain) {
  const auto pool = this->pool(1000);
  (*pool->take(400))->spoil();
  EXPECT_EQ(faults_.pieces, 0);
  EXPECT_EQ(ledger_->held(), 0);
}

}  // namespace
}  // namespace parallax
