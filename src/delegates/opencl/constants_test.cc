// Tests constants that the device reads in the host's memory, and those that are copied.
#include "delegates/opencl/constants.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <vector>

#include "delegates/opencl/opencl_test_util.h"
#include "ir/text/text.h"

namespace parallax::opencl {
namespace {

constexpr std::size_t kPages = 4 * 4096;

/// Memory that is read-only once it is full, like that of a mapped model.
class MappedPages {
 public:
  MappedPages()
      : begin_(static_cast<std::byte*>(
            mmap(nullptr, kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  ~MappedPages() { munmap(begin_, kPages); }

  /// Moves the constant's bytes to `offset`.
  void take(Constant& constant, std::size_t offset) {
    std::memcpy(begin_ + offset, constant.bytes.data(), constant.bytes.size());
    constant.bytes = {begin_ + offset, constant.bytes.size()};
  }
  void protect() { ASSERT_EQ(mprotect(begin_, kPages, PROT_READ), 0); }

 private:
  std::byte* begin_;
};

std::shared_ptr<ClContext> context_with(bool shares_memory, std::int64_t max_buffer_bytes) {
  ClDevice device = test_context()->device();
  device.shares_memory = shares_memory;
  device.max_buffer_bytes = max_buffer_bytes;
  auto context = ClContext::open(device);
  return context ? *context : nullptr;
}

/// Elements are read one by one, in fours, as vectors and as 64-bit integers.
constexpr std::string_view kReaders =
    "input x f32 [2, 16]\nconst w f32 [16, 16] = fill 0.5\nconst c f32 [3, 16] = fill 2\n"
    "const i i64 [2] = [1, 0]\nm = MatMul(x, w)\ng = Gather(m, i)\ny = Concat(g, c) {axis = 0}\n"
    "output y, c\n";

struct Case {
  std::array<std::size_t, 3> offsets;  ///< offsets of w, c and i
  std::int64_t copied;                 ///< bytes
  bool shares_memory = true, half = false;
  std::int64_t max_buffer_bytes = std::int64_t{1} << 30;
};
constexpr std::int64_t kW = 16 * 16 * 4, kC = 3 * 16 * 4, kI = 2 * 8;

TEST(OpenClConstants, StayWhereTheDeviceReadsThem) {
  PX_NEEDS_DEVICE();
  const Case cases[] = {
      {{0, 4096, 8192}, 0},
      {{0, 1024, 2048}, 0},
      {{3584, 24, 8}, 0},  // across a page's end, next to others
      {{4092, 4096 + 1020, 0}, 0},
      {{4 * 4096 - 1024, 4, 3000}, 0},  // up to the end of what is mapped
      {{2, 4096, 8192}, kW},
      {{0, 4097, 8196}, kC + kI},
      {{0, 4096, 8192}, kW + kC + kI, false},
      {{0, 4096, 8192}, kW / 2 + kC / 2, true, true},
      {{0, 1024, 2048}, kI, true, false, 1280},  // no room for the third in one buffer
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::PrintToString(c.offsets));
    auto graph = parse_graph(kReaders);
    ASSERT_TRUE(graph && infer_graph(*graph));
    MappedPages pages;
    std::size_t next = 0;
    for (Value& value : graph->values)
      if (value.constant) pages.take(*value.constant, c.offsets.at(next++));
    ASSERT_EQ(next, c.offsets.size());
    pages.protect();
    const auto context = context_with(c.shares_memory, c.max_buffer_bytes);
    ASSERT_NE(context, nullptr);
    RegionOptions options;
    options.half = c.half;
    const auto region = Region::compile(context, *graph, options);
    ASSERT_TRUE(region) << region.error().to_string();
    EXPECT_EQ((*region)->memory_bytes(), c.copied);
    const auto descs = descs_of(*graph);
    const auto binding = Region::bind(*region, descs);
    ASSERT_TRUE(binding) << binding.error().to_string();
    std::vector<float> x(32, 1.0F);
    x[16] = -7;
    const auto result = run_bound(
        **binding, {test_tensor<float>({2, 16}, x).view()},
        {{true, DType::kF32, {5, 16}, nullptr}, {true, DType::kF32, {3, 16}, nullptr}}, *context);
    ASSERT_TRUE(result) << result.error().to_string();
    const auto y = test_values<float>((*result)[0]);
    for (std::size_t at = 0; at < y.size(); ++at)
      EXPECT_EQ(y[at], at < 16 ? 4.0F : at < 32 ? 8.0F : 2.0F) << at;
    EXPECT_EQ(test_values<float>((*result)[1]), std::vector<float>(48, 2.0F));
  }
}

}  // namespace
}  // namespace parallax::opencl
