// Tests memory of runs, shared with the host or not.
#include "delegates/opencl/device/device_memory.h"

#include <future>
#include <vector>

#include "delegates/opencl/opencl_test_util.h"
#include "ir/text/text.h"

namespace parallax::opencl {
namespace {

std::shared_ptr<ClContext> context_that(bool shares_memory) {
  ClDevice device = test_context()->device();
  device.shares_memory = shares_memory;
  auto context = ClContext::open(device);
  return context ? *context : nullptr;
}

/// Waits for what `begin` begins.
template <class Begin>
Status waited(Begin begin) {
  std::promise<Status> ended;
  PX_RETURN_IF_ERROR(begin([&](Status status) { ended.set_value(std::move(status)); }));
  return ended.get_future().get();
}

TEST(OpenClMemory, RunsSeeWhatWasWritten) {
  PX_NEEDS_DEVICE();
  for (const bool shared : {false, true}) {
    const auto context = context_that(shared);
    ASSERT_NE(context, nullptr);
    auto graph = parse_graph("input x f32 [8]\ny = Neg(x)\noutput y\n");
    ASSERT_TRUE(graph && infer_graph(*graph));
    const auto region = Region::compile(context, *graph);
    ASSERT_TRUE(region) << region.error().to_string();
    const auto binding = Region::bind(*region, descs_of(*graph));
    ASSERT_TRUE(binding) << binding.error().to_string();
    // Input and output are parts of one memory.
    const auto memory = DeviceMemory::allocate(context, 128);
    ASSERT_TRUE(memory) << memory.error().to_string();
    ASSERT_EQ((*memory)->host() != nullptr, shared);
    EXPECT_EQ((*memory)->staging_bytes(), shared ? 0 : 128);
    for (int round = 0; round < 3; ++round) {
      const std::vector<float> x = random_floats(8, static_cast<unsigned>(round));
      std::vector<float> y(8);
      if (shared && round > 0) {
        std::memcpy((*memory)->host(), x.data(), 32);
      } else {
        ASSERT_TRUE(waited([&](auto done) { return (*memory)->write(0, x.data(), 32, done); }));
      }
      const BufferPart in{(*memory)->buffer(), 0, memory->get()},
          out{(*memory)->buffer(), 64, memory->get()};
      ASSERT_TRUE(waited([&](auto done) -> Status {
        (*binding)->run(std::span(&in, 1), std::span(&out, 1), done);
        return {};
      }));
      if (shared && round > 0) {
        std::memcpy(y.data(), (*memory)->host() + 64, 32);
      } else {
        ASSERT_TRUE(waited([&](auto done) { return (*memory)->read(64, y.data(), 32, done); }));
      }
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], -x[i]);
    }
  }
}

TEST(OpenClMemory, IsTheHostsOfCpusAndWhereItIsShared) {
  for (const bool is_cpu : {false, true}) {
    for (const bool shared : {false, true}) {
      ClDevice device;
      device.is_cpu = is_cpu;
      device.shares_memory = shared;
      EXPECT_EQ(device.in_host_memory(), is_cpu || shared);
    }
  }
}

TEST(OpenClMemory, ManyRunsMayReadOne) {
  PX_NEEDS_DEVICE();
  const auto context = context_that(true);
  auto graph = parse_graph("input x f32 [64]\ny = Softmax(x)\nz = Neg(y)\noutput z\n");
  ASSERT_TRUE(graph && infer_graph(*graph));
  const auto region = Region::compile(context, *graph);
  ASSERT_TRUE(region);
  const auto binding = Region::bind(*region, descs_of(*graph));
  ASSERT_TRUE(binding);
  const auto input = DeviceMemory::allocate(context, 256);
  ASSERT_TRUE(input);
  std::memset((*input)->host(), 0, 256);
  const BufferPart in{(*input)->buffer(), 0, input->get()};
  std::vector<std::unique_ptr<DeviceMemory>> outputs;
  std::vector<std::promise<Status>> ended(8);
  for (std::promise<Status>& end : ended) {
    auto output = DeviceMemory::allocate(context, 256);
    ASSERT_TRUE(output);
    const BufferPart out{(*output)->buffer(), 0, output->get()};
    (*binding)->run(std::span(&in, 1), std::span(&out, 1),
                    [&end](Status status) { end.set_value(std::move(status)); });
    outputs.push_back(std::move(*output));
  }
  for (std::size_t i = 0; i < ended.size(); ++i) {
    ASSERT_TRUE(ended[i].get_future().get());
    float first = 0;
    std::memcpy(&first, outputs[i]->host(), sizeof(first));
    EXPECT_NEAR(first, -1.0F / 64, 1e-6F);
  }
  EXPECT_EQ(*reinterpret_cast<const float*>((*input)->host()), 0.0F);
}

}  // namespace
}  // namespace parallax::opencl
