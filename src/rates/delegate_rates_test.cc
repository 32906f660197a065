// Tests the rates of the test delegate, which may be slow.
#include "rates/delegate_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cache/test_folder.h"
#include "delegate_host/test_delegate_util.h"
#include "rates/measure.h"
#include "rates/probe_run.h"
#include "rates/probes.h"

namespace parallax {
namespace {

/// The machine may be busy.
const RateRules kPatient = {.limit = std::chrono::seconds(60), .most_spread = 1e9};

class DelegateRatesTest : public FolderTest {
 protected:
  std::shared_ptr<const OpenDelegate> open() {
    return *open_delegate(*check_table(&table_, ""), "test", "", Logger{});
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
};

TEST_F(DelegateRatesTest, AllProbesAreGraphsThatTheCpuRuns) {
  for (const Probe& probe : all_probes()) {
    const auto graph = probe_graph(probe);
    ASSERT_TRUE(graph) << probe.text << graph.error().to_string();
    EXPECT_EQ(graph->outputs.size(), 1U);
  }
}

TEST_F(DelegateRatesTest, TimesWhatTheDelegateRuns) {
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    faults_.microseconds = 2000;
    const auto delegate = open();
    Calibration known;
    Measuring measuring{
        {WorkKind::kElementwise, WorkKind::kFunction, WorkKind::kProduct}, 1, &known};
    const Status status = measure(delegate, measuring, std::chrono::seconds(60));
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_TRUE(measuring.wanted.empty());
    EXPECT_TRUE(known.has_samples_of(WorkKind::kElementwise));
    EXPECT_TRUE(known.has_samples_of(WorkKind::kFunction)) << "it has Exp";
    EXPECT_FALSE(known.has_samples_of(WorkKind::kProduct)) << "which it does not run";
    EXPECT_EQ(known.samples.size(), 4U) << "two sizes each";
    ASSERT_TRUE(known.launch_seconds);
    // Copies there and back are answered as late.
    EXPECT_GT(*known.launch_seconds, own_memory ? 5e-3 : 1.5e-3);
    EXPECT_EQ(known.bytes_per_second.has_value(), own_memory);
    for (const WorkSample& sample : known.samples) {
      EXPECT_GT(sample.predicted, 0);
      EXPECT_GT(sample.cpu, 0);
      EXPECT_GT(sample.delegate, 0);
    }
  }
}

TEST_F(DelegateRatesTest, StopsInTime) {
  faults_.microseconds = 20000;
  const auto delegate = open();
  Calibration known;
  Measuring measuring{{WorkKind::kElementwise, WorkKind::kFunction}, 1, &known};
  ASSERT_TRUE(measure(delegate, measuring, std::chrono::milliseconds(1)));
  EXPECT_EQ(known.samples.size(), 0U);
  EXPECT_EQ(measuring.wanted.size(), 2U);
}

TEST_F(DelegateRatesTest, ADelegateThatFailsIsNotTimed) {
  faults_.refuse_compile = 100;
  const auto delegate = open();
  Calibration known;
  Measuring measuring{{WorkKind::kElementwise}, 1, &known};
  EXPECT_FALSE(measure(delegate, measuring, std::chrono::seconds(60)));
  EXPECT_TRUE(known.samples.empty());
  EXPECT_TRUE(measuring.wanted.empty()) << "nor ever again";
}

struct Room {
  bool own_memory;
  std::int64_t device, host;  ///< bytes
  std::size_t samples;
  bool may_fit_later;
};
constexpr std::int64_t kPlenty = 1'000'000'000;
/// Large probes have values of 1 MiB, small ones of 16 KiB.
constexpr Room kRooms[] = {{false, kPlenty, kPlenty, 4, false}, {true, kPlenty, kPlenty, 4, false},
                           {false, kPlenty, 300'000, 2, false}, {false, kPlenty, 10'000, 0, true},
                           {false, kPlenty, 100, 0, true},      {true, kPlenty, 300'000, 0, true},
                           {true, 300'000, kPlenty, 0, true}};

TEST_F(DelegateRatesTest, ProbesCountAndStayWithinTheirMemory) {
  faults_.at_once = true;
  for (const Room& room : kRooms) {
    faults_.own_memory = room.own_memory;
    faults_.staging_bytes = room.own_memory ? 100 : 0;
    const auto delegate = open();
    Calibration known;
    Measuring measuring{
        {WorkKind::kElementwise, WorkKind::kFunction},
        1,
        &known,
        {std::make_shared<DeviceLedger>(room.device), std::make_shared<DeviceLedger>(room.host)}};
    const Status status = measure(delegate, measuring, std::chrono::seconds(60));
    const auto& [device, host] = measuring.memory;
    SCOPED_TRACE(testing::Message() << room.device << " and " << room.host << " bytes");
    EXPECT_EQ(status.has_value(), room.samples == 4);
    EXPECT_TRUE(status || status.error().code == ErrorCode::kBudgetExceeded);
    EXPECT_EQ(known.samples.size(), room.samples);
    EXPECT_EQ(!measuring.wanted.empty(), room.may_fit_later);
    if (room.samples == 4) {
      EXPECT_GE(host->peak(), 2 << 20) << "what large probes read and make";
      EXPECT_EQ(device->peak() >= 2 << 20, room.own_memory);
    }
    for (int i = 0; i < 5000 && device->held() + host->held() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(device->held(), 0);
    EXPECT_EQ(host->held(), 0);
  }
}

TEST_F(DelegateRatesTest, AnotherCallTimesWhatFoundNoMemory) {
  const auto delegate = open();
  RateStore store(folder_, Logger{});
  store.set_rules(kPatient);
  const auto rates = store.of(*delegate, 1);
  rates->measure(delegate, {WorkKind::kElementwise}, {nullptr, std::make_shared<DeviceLedger>(0)});
  EXPECT_TRUE(rates->known().samples.empty());
  rates->measure(delegate, {WorkKind::kElementwise});
  EXPECT_FALSE(rates->known().samples.empty());
}

TEST_F(DelegateRatesTest, TimesOnceAndKeepsIt) {
  const auto delegate = open();
  const std::set<WorkKind> kinds = {WorkKind::kElementwise, WorkKind::kProduct};
  Calibration first;
  {
    RateStore store(folder_, Logger{});
    store.set_rules(kPatient);
    const auto rates = store.of(*delegate, 1);
    EXPECT_EQ(rates, store.of(*delegate, 1));
    EXPECT_NE(rates, store.of(*delegate, 2));
    rates->measure(delegate, kinds);
    const int compiled = faults_.compiled;
    EXPECT_GT(compiled, 0);
    rates->measure(delegate, kinds);
    EXPECT_EQ(faults_.compiled, compiled);
    first = rates->known();
    EXPECT_FALSE(first.samples.empty());
  }
  const int compiled = faults_.compiled;
  {
    RateStore next(folder_, Logger{});
    const auto rates = next.of(*delegate, 1);
    rates->measure(delegate, {WorkKind::kElementwise});
    EXPECT_EQ(faults_.compiled, compiled);
    EXPECT_EQ(rates->known().samples.size(), first.samples.size());
  }
  for (const auto& file : std::filesystem::directory_iterator(folder_))
    write(file.path(), "garbage\n");
  RateStore third(folder_, Logger{});
  third.set_rules(kPatient);
  const auto rates = third.of(*delegate, 1);
  EXPECT_TRUE(rates->known().samples.empty());
  rates->measure(delegate, {WorkKind::kElementwise});
  EXPECT_GT(faults_.compiled, compiled);
  EXPECT_FALSE(rates->known().samples.empty());
}

TEST_F(DelegateRatesTest, TellsABusyMachineByTheSpreadOfTimings) {
  EXPECT_EQ(spread_of({1, 2}), std::nullopt) << "two say little";
  EXPECT_EQ(spread_of({0, 1, 1}), std::nullopt);
  EXPECT_EQ(spread_of({3, 2, 9, 2}), 0.5);
  EXPECT_EQ(spread_of({4, 4, 8, 4, 8}), 0) << "half of the runs were not disturbed";
  faults_.varies = true;
  faults_.microseconds = 8000;  // and none, which differ on a busy machine too
  Calibration known;
  Measuring measuring{{WorkKind::kElementwise}, 1, &known};
  ASSERT_TRUE(measure(open(), measuring, std::chrono::seconds(60)));
  EXPECT_GT(measuring.spread, kMaxSpread);
}

TEST_F(DelegateRatesTest, UsesTimesOfABusyMachineAndDoesNotKeepThem) {
  const auto delegate = open();
  RateRules busy = kPatient;
  busy.most_spread = -1;
  {
    RateStore store(folder_, Logger{});
    store.set_rules(busy);
    const auto rates = store.of(*delegate, 1);
    rates->measure(delegate, {WorkKind::kElementwise});
    EXPECT_TRUE(rates->known().has_samples_of(WorkKind::kElementwise));
    EXPECT_TRUE(rates->known().launch_seconds);
    const int compiled = faults_.compiled;
    rates->measure(delegate, {WorkKind::kElementwise});
    EXPECT_EQ(faults_.compiled, compiled) << "once is enough for a runtime";
    const auto times = rates->times(7, "n", 1e-3);
    for (int i = 0; i < 3; ++i) times->add(5e-3);
    rates->save();
  }
  RateStore next(folder_, Logger{});
  next.set_rules(kPatient);
  const auto rates = next.of(*delegate, 1);
  EXPECT_EQ(rates->known().regions.size(), 1U) << "what runs took is kept";
  EXPECT_TRUE(rates->known().samples.empty());
  EXPECT_FALSE(rates->known().launch_seconds);
  rates->measure(delegate, {WorkKind::kElementwise});
  EXPECT_TRUE(rates->known().has_samples_of(WorkKind::kElementwise));
  RateStore last(folder_, Logger{});
  EXPECT_TRUE(last.of(*delegate, 1)->known().has_samples_of(WorkKind::kElementwise));
}

TEST_F(DelegateRatesTest, TimesAgainWhatIsOld) {
  const auto delegate = open();
  std::chrono::sys_seconds now{std::chrono::sys_days(std::chrono::year(2026) / 11 / 26)};
  RateRules rules = kPatient;
  rules.now = [&now] { return now; };
  const auto made = [&] {
    auto store = std::make_unique<RateStore>(folder_, Logger{});
    store->set_rules(rules);
    return store;
  };
  const auto old = made()->of(*delegate, 1);
  old->measure(delegate, {WorkKind::kElementwise});
  const int compiled = faults_.compiled;
  now += std::chrono::days(30);
  EXPECT_FALSE(made()->of(*delegate, 1)->known().samples.empty());
  old->measure(delegate, {WorkKind::kElementwise});
  EXPECT_EQ(faults_.compiled, compiled);
  now -= std::chrono::days(32);
  EXPECT_TRUE(made()->of(*delegate, 1)->known().samples.empty()) << "of a clock that was wrong";
  now += std::chrono::days(33);
  EXPECT_TRUE(made()->of(*delegate, 1)->known().samples.empty());
  old->measure(delegate, {WorkKind::kElementwise});
  EXPECT_GT(faults_.compiled, compiled) << "a process may live for long";
  EXPECT_EQ(old->known().samples.size(), 2U);
  EXPECT_FALSE(made()->of(*delegate, 1)->known().samples.empty()) << "as of today";
}

TEST_F(DelegateRatesTest, LearnsWhatRegionsTake) {
  const auto delegate = open();
  {
    RateStore store(folder_, Logger{});
    const auto rates = store.of(*delegate, 1);
    const auto times = rates->times(7, "n", 1e-3);
    EXPECT_EQ(times, rates->times(7, "n", 2e-3));
    times->add(5e-3);
    times->add(5e-3);
    EXPECT_TRUE(rates->known().regions.empty()) << "two runs are few";
    times->add(1);
    ASSERT_EQ(rates->known().regions.size(), 1U);
    EXPECT_NEAR(rates->known().regions[0].seconds, 5e-3, 1e-6);
    for (int i = 0; i < 8; ++i) times->add(2e-3);
    EXPECT_NEAR(rates->known().regions[0].seconds, 2e-3, 1e-6) << "the last runs count";
    rates->save();
  }
  RateStore next(folder_, Logger{});
  ASSERT_EQ(next.of(*delegate, 1)->known().regions.size(), 1U);
  EXPECT_EQ(next.of(*delegate, 1)->known().regions[0].key, 7U);
}

TEST_F(DelegateRatesTest, LearnsWhatSplitsTake) {
  const auto delegate = open();
  {
    RateStore store(folder_, Logger{});
    const auto rates = store.of(*delegate, 1);
    const auto times = rates->split_times(7, 16);
    EXPECT_EQ(times, rates->split_times(7, 16));
    EXPECT_NE(times, rates->split_times(7, 17));
    for (int i = 0; i < 3; ++i) {
      TimedScope failed(times);
      TimedScope beside_another(times);
      beside_another.succeeded();
    }
    EXPECT_EQ(next_share(rates->known(), 7), std::nullopt) << "no run was alone and succeeded";
    for (int i = 0; i < 3; ++i) TimedScope(times).succeeded();
    EXPECT_EQ(next_share(rates->known(), 7), 17);
    rates->refuse_split(7, 17);
    EXPECT_EQ(next_share(rates->known(), 7), 15);
    rates->save();
  }
  RateStore next(folder_, Logger{});
  EXPECT_EQ(next_share(next.of(*delegate, 1)->known(), 7), 15);
}

}  // namespace
}  // namespace parallax
