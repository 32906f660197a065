// For tests of regions on a delegate: two regions, and a delegate in its memory or in the host's.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "delegate_host/delegate_device.h"
#include "delegate_host/test_delegate_util.h"
#include "run/run_test_util.h"

namespace parallax {

/// Two regions in sequence, with nodes of the CPU before, between and parallel to them.
inline constexpr std::string_view kTwoRegions = R"(
    symbols n
    input x f32 [n, 8]
    const w f32 [8] = fill 0.5
    a = Neg(x) @r0
    b = Exp(a) @r0b
    c = Tanh(x)
    d = Tanh(b)
    e = Add(d, c) @r1
    f = Relu(e) @r1b
    g = Add(e, f) @r1c
    output g, b)";

inline std::shared_ptr<GraphContext> with_regions(const std::shared_ptr<GraphContext>& plain) {
  Delegation delegation;
  delegation.substitute = true;
  for (const Node& node : plain->graph.nodes) {
    const bool in_region = node.name.size() > 1 && node.name[0] == 'r';
    delegation.region_of.push_back(in_region ? RegionId{node.name[1] - '0'} : RegionId{});
  }
  for (int region = 0; region < 2; ++region) delegation.seconds.push_back(1e-3);
  return std::make_shared<GraphContext>(plain->graph, std::move(delegation));
}

struct DelegateMemory {
  const char* name;
  bool own, host_sees_it;
};
inline void PrintTo(const DelegateMemory& memory, std::ostream* out) { *out << memory.name; }

class DelegateDeviceIn : public testing::TestWithParam<DelegateMemory> {
 protected:
  DelegateDeviceIn() {
    faults_.own_memory = GetParam().own;
    faults_.host_sees_it = GetParam().host_sees_it;
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 7) / 4 - 1;
    settings_.threads = 2;
    settings_.parallel = true;
    settings_.lease_owner = memory_;
    settings_.late = &late_;
    use(x_);
  }
  ~DelegateDeviceIn() override {
    faults_.answer_held();
    device_.reset();
    program_.reset();
    store_.reset();
    const bool opened = opened_ != nullptr;
    opened_.reset();
    // A thread that answered may still hand back.
    for (int i = 0; i < 30000 && faults_.closed != faults_.opened; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(faults_.closed, opened ? faults_.opened.load() : 0);
    EXPECT_EQ(faults_.regions, 0);
    EXPECT_EQ(faults_.bindings, 0);
    EXPECT_EQ(faults_.pieces, 0);
  }

  void use(const std::vector<float>& x) {
    inputs_ = {bytes_of(x)};
    settings_.symbols = {static_cast<std::int64_t>(x.size() / 8)};
    program_ = *program_of(context_, settings_);
    device_ = std::make_shared<DelegateDevice>(std::vector<DelegateUse>{{opened_, store_}},
                                               program_->bound->compiled);
    const auto got = parallax::run(plain_, inputs_, {.symbols = settings_.symbols});
    expected_.clear();
    for (const Tensor& output : *got) expected_.push_back(floats(output));
  }
  Result<std::vector<Tensor>> run() {
    PX_RETURN_IF_ERROR(device_->prepare(log_));
    settings_.device = device_.get();
    settings_.log = &log_;
    return parallax::run(*program_, pool_, *memory_, inputs_, settings_);
  }
  void expect_right() {
    const auto got = run();
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < expected_.size(); ++i)
      for (std::size_t j = 0; j < expected_[i].size(); ++j)
        EXPECT_NEAR(floats((*got)[i])[j], expected_[i][j], 1e-6);
  }

  WithFaults faults_;
  px_delegate table_ = test_delegate();
  std::vector<std::string> lines_;
  Mutex lines_mutex_;
  Logger log_{Log([this](LogLevel level, std::string_view line) {
    const MutexLock lock(lines_mutex_);
    if (level == LogLevel::kWarning) lines_.emplace_back(line);
  })};
  const bool set_ = [this] {
    faults_.own_memory = GetParam().own;
    return true;
  }();
  std::shared_ptr<const OpenDelegate> opened_ =
      *open_delegate(*check_table(&table_, ""), "test", "", log_);
  std::shared_ptr<RegionStore> store_ = std::make_shared<RegionStore>();
  std::shared_ptr<GraphContext> plain_ = context_of(kTwoRegions), context_ = with_regions(plain_);
  std::vector<float> x_ = std::vector<float>(40);
  bool late_ = false;
  Inputs inputs_;
  Settings settings_;
  std::vector<std::vector<float>> expected_;
  WorkerPool pool_{2};
  std::shared_ptr<RunMemory> memory_ = std::make_shared<RunMemory>();
  std::shared_ptr<const Program> program_;
  std::shared_ptr<DelegateDevice> device_;
};

}  // namespace parallax
