// Tests the delegate through its C ABI, as a host uses it.
#include "delegates/opencl/opencl_delegate.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "delegates/opencl/opencl_test_util.h"

namespace parallax::opencl {
namespace {

constexpr std::size_t kStatusSize = sizeof(px_status);

/// A status that a call may fill, released at the end.
struct Answer {
  px_status status{};
  Answer() { status.size = kStatusSize; }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() {
    if (status.release != nullptr) status.release(status.owner);
  }
};

struct Ended {
  std::promise<std::pair<px_code, std::string>> promise;
  static void done(void* context, px_code code, const char* message) {
    static_cast<Ended*>(context)->promise.set_value({code, message == nullptr ? "" : message});
  }
  std::pair<px_code, std::string> wait() { return promise.get_future().get(); }
};

/// y = Relu(x W + b) and the row of a table that an index chooses, with a free number of rows.
class OpenClDelegate : public testing::Test {
 protected:
  void SetUp() override {
    table_ = px_opencl_delegate();
    const px_open_options options{sizeof(px_open_options), "", nullptr, nullptr, nullptr};
    if (table_->open(&options, &device_, &answer_.status) != PX_OK)
      GTEST_SKIP() << "no OpenCL device: install pocl-opencl-icd";
  }
  void TearDown() override {
    if (device_ != nullptr) table_->close(device_);
  }

  static px_type type_of(const std::vector<std::int64_t>& dims,
                         const std::vector<const char*>& symbols, px_dtype dtype) {
    return {sizeof(px_type), dtype, static_cast<std::int32_t>(dims.size()), dims.data(),
            symbols.data()};
  }
  static px_tensor tensor_of(const std::vector<std::int64_t>& dims, px_dtype dtype,
                             const void* data, std::size_t bytes) {
    return {sizeof(px_tensor),       dtype, static_cast<std::int32_t>(dims.size()), dims.data(),
            const_cast<void*>(data), bytes};
  }

  /// Compiles MatMul, Add and Relu with weights of 2 x 3.
  px_code compile() {
    types_ = {type_of(rows2_, symbols2_, PX_FLOAT32), type_of(w_dims_, none2_, PX_FLOAT32),
              type_of(b_dims_, none1_, PX_FLOAT32), type_of(rows3_, symbols2_, PX_FLOAT32)};
    w_ = tensor_of(w_dims_, PX_FLOAT32, weights_.data(), sizeof(weights_));
    b_ = tensor_of(b_dims_, PX_FLOAT32, bias_.data(), sizeof(bias_));
    values_ = {{sizeof(px_value), "x", &types_[0], nullptr, 0},
               {sizeof(px_value), "w", &types_[1], &w_, 0},
               {sizeof(px_value), "b", &types_[2], &b_, 0},
               {sizeof(px_value), "m", &types_[3], nullptr, 0},
               {sizeof(px_value), "a", &types_[3], nullptr, 0},
               {sizeof(px_value), "y", &types_[3], nullptr, 0}};
    nodes_ = {{sizeof(px_node), "MatMul", "m", 0, nullptr, 2, ids_[0].data(), 1, &ids_[0][2]},
              {sizeof(px_node), "Add", "a", 0, nullptr, 2, ids_[1].data(), 1, &ids_[1][2]},
              {sizeof(px_node), operator_, "y", 0, nullptr, 1, ids_[2].data(), 1, &ids_[2][2]}};
    for (std::size_t i = 0; i < values_.size(); ++i) value_list_[i] = &values_[i];
    for (std::size_t i = 0; i < nodes_.size(); ++i) node_list_[i] = &nodes_[i];
    const px_region region{sizeof(px_region),
                           "m",
                           values_.size(),
                           value_list_.data(),
                           nodes_.size(),
                           node_list_.data(),
                           1,
                           &input_,
                           1,
                           &output_,
                           PX_FLOAT32};
    px_compiled compiled{sizeof(px_compiled), nullptr, 0};
    const px_code code = table_->compile(device_, &region, &compiled, &answer_.status);
    region_ = compiled.region;
    return code;
  }

  void* bind(std::int64_t rows) {
    const std::vector<std::int64_t> x{rows, 2}, y{rows, 3};
    const std::array<px_tensor, 6> tensors{tensor_of(x, PX_FLOAT32, nullptr, 0),
                                           w_,
                                           b_,
                                           tensor_of(y, PX_FLOAT32, nullptr, 0),
                                           tensor_of(y, PX_FLOAT32, nullptr, 0),
                                           tensor_of(y, PX_FLOAT32, nullptr, 0)};
    std::array<const px_tensor*, 6> list{};
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = &tensors[i];
    const px_sizes sizes{sizeof(px_sizes), 6, list.data()};
    px_binding binding{sizeof(px_binding), nullptr, 0, 0};
    EXPECT_EQ(table_->bind(device_, region_, &sizes, &binding, &answer_.status), PX_OK) << text();
    return binding.binding;
  }

  /// Runs the binding for x = 1, 2, 3, ...
  std::vector<float> run(void* binding, std::int64_t rows) {
    const auto n = static_cast<std::size_t>(rows);
    std::vector<float> x(n * 2), y(n * 3);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    px_memory memory{sizeof(px_memory), nullptr, nullptr, 0};
    constexpr std::size_t kAt = 64 * 1024;
    EXPECT_EQ(table_->allocate(device_, 2 * kAt, &memory, &answer_.status), PX_OK);
    Ended written, ran, read;
    EXPECT_EQ(table_->write(device_, memory.memory, 0, x.data(), x.size() * 4, &Ended::done,
                            &written, &answer_.status),
              PX_OK);
    EXPECT_EQ(written.wait().first, PX_OK);
    const px_place in{sizeof(px_place), nullptr, memory.memory, 0, x.size() * 4},
        out{sizeof(px_place), nullptr, memory.memory, kAt, y.size() * 4};
    const px_place *ins = &in, *outs = &out;
    const px_run begin{sizeof(px_run), 1, &ins, 1, &outs};
    EXPECT_EQ(table_->run(device_, binding, &begin, &Ended::done, &ran, &answer_.status), PX_OK)
        << text();
    EXPECT_EQ(ran.wait().first, PX_OK);
    EXPECT_EQ(table_->read(device_, memory.memory, kAt, y.data(), y.size() * 4, &Ended::done, &read,
                           &answer_.status),
              PX_OK);
    EXPECT_EQ(read.wait().first, PX_OK);
    table_->release(device_, memory.memory);
    return y;
  }

  std::string text() const {
    return answer_.status.message == nullptr ? "" : answer_.status.message;
  }

  const px_delegate* table_ = nullptr;
  void* device_ = nullptr;
  void* region_ = nullptr;
  Answer answer_;
  const char* operator_ = "Relu";
  std::array<float, 6> weights_{1, 2, 3, 4, 5, -6};
  std::array<float, 3> bias_{0.5F, 0, 0};
  const std::vector<std::int64_t> rows2_{-1, 2}, rows3_{-1, 3}, w_dims_{2, 3}, b_dims_{3};
  const std::vector<const char*> symbols2_{"rows", nullptr}, none2_{nullptr, nullptr},
      none1_{nullptr};
  std::vector<px_type> types_;
  px_tensor w_{}, b_{};
  std::vector<px_value> values_;
  std::vector<px_node> nodes_;
  std::array<const px_value*, 6> value_list_{};
  std::array<const px_node*, 3> node_list_{};
  const std::array<std::array<std::int32_t, 3>, 3> ids_{{{0, 1, 3}, {3, 2, 4}, {4, -1, 5}}};
  const std::int32_t input_ = 0, output_ = 5;
};

TEST_F(OpenClDelegate, IsRefusedToAChildWhoseParentUsedIt) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer's locks are left as they are";
#else
  const pid_t child = ::fork();
  if (child == 0) {
    void* device = nullptr;
    Answer answer;
    const px_open_options options{sizeof(px_open_options), "", nullptr, nullptr, nullptr};
    const px_code code = table_->open(&options, &device, &answer.status);
    ::_exit(code == PX_UNSUPPORTED && device == nullptr ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
#endif
}

TEST_F(OpenClDelegate, RunsARegionForSeveralSizes) {
  ASSERT_EQ(compile(), PX_OK) << text();
  void* two = bind(2);
  void* three = bind(3);
  EXPECT_EQ(run(two, 2), (std::vector<float>{9.5F, 12, 0, 19.5F, 26, 0}));
  EXPECT_EQ(run(three, 3), (std::vector<float>{9.5F, 12, 0, 19.5F, 26, 0, 29.5F, 40, 0}));
  EXPECT_EQ(run(two, 2), (std::vector<float>{9.5F, 12, 0, 19.5F, 26, 0}));
  table_->unbind(device_, region_, two);
  table_->unbind(device_, region_, three);
  table_->discard(device_, region_);
}

TEST_F(OpenClDelegate, RefusesAnOperatorThatItLacks) {
  operator_ = "TopK";
  EXPECT_EQ(compile(), PX_UNSUPPORTED);
  EXPECT_EQ(text(), "opencl has no TopK");
  operator_ = "NoSuchThing";
  Answer second;
  std::swap(second.status, answer_.status);
  EXPECT_EQ(compile(), PX_UNSUPPORTED);
}

TEST_F(OpenClDelegate, DescribesItself) {
  px_description description{};
  description.size = sizeof(description);
  ASSERT_EQ(table_->describe(device_, &description, &answer_.status), PX_OK);
  EXPECT_EQ(description.memory, PX_MEMORY_DEVICE);
  const ClDevice& device = test_context()->device();
  EXPECT_EQ(description.in_host_memory, device.is_cpu || device.shares_memory ? 1 : 0);
  px_memory memory{};
  memory.size = sizeof(memory);
  ASSERT_EQ(table_->allocate(device_, 100, &memory, &answer_.status), PX_OK);
  EXPECT_EQ(memory.host_bytes, memory.host == nullptr ? 100 : 0);
  table_->release(device_, memory.memory);
  EXPECT_GT(std::strlen(description.device), 0U);
  EXPECT_NE(std::string(description.profile).find("[delegate]"), std::string::npos);
}

TEST_F(OpenClDelegate, OpensOnlyDevicesThatAreThere) {
  const px_open_options options{sizeof(px_open_options), "no such device", nullptr, nullptr,
                                nullptr};
  void* device = nullptr;
  EXPECT_EQ(table_->open(&options, &device, &answer_.status), PX_INVALID_INPUT);
  EXPECT_EQ(text(), "no OpenCL device 'no such device'");
}

}  // namespace
}  // namespace parallax::opencl
