// Tests the delegate "cores" through its table: descriptions, regions, cancelled runs.
#include "delegates/cores/cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "base/c_types.h"
#include "delegates/cores/cores_profile.h"
#include "device/profile_toml.h"

namespace parallax {
namespace {

using testing::HasSubstr;

std::string profile_path(const std::string& name) {
  return std::string(PX_SOURCE_DIR) + "/profiles/" + name + ".toml";
}

TEST(CoresProfile, ReadsItsText) {
  EXPECT_EQ(parse_cores_options("")->threads, 1);
  EXPECT_EQ(parse_cores_options("3")->threads, 3);
  EXPECT_EQ(parse_cores_options("a.toml")->profile, "a.toml");
  const auto both = parse_cores_options("2,a.toml");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->threads, 2);
  EXPECT_EQ(both->profile, "a.toml");
  for (const char* const wrong : {"0", "257", "a,b", ",", "2,,"})
    EXPECT_FALSE(parse_cores_options(wrong)) << wrong;
}

TEST(CoresProfile, ClaimsWhatAProfileDoes) {
  for (const char* const name : {"opencl-mobile", "npu-int8", "pixel6", "p30-pro", "redmi-k50"}) {
    const auto text = describe_cores({2, profile_path(name)});
    ASSERT_TRUE(text) << text.error().to_string();
    const auto read = parse_profile(*text, name);
    ASSERT_TRUE(read) << read.error().to_string() << *text;
    const auto original = load_profile(profile_path(name));
    const auto &claimed = read->delegate->operators, &wanted = original->delegate->operators;
    ASSERT_EQ(claimed.size(), wanted.size());
    for (const auto& [op, limits] : wanted) {
      const OperatorLimits& its = claimed.at(op);
      EXPECT_EQ(its.dtypes, limits.dtypes);
      EXPECT_EQ(its.max_rank, limits.max_rank);
      EXPECT_EQ(its.bridge, limits.bridge);
      ASSERT_EQ(its.attributes.size(), limits.attributes.size());
      for (std::size_t i = 0; i < its.attributes.size(); ++i) {
        EXPECT_EQ(its.attributes[i].name, limits.attributes[i].name);
        EXPECT_EQ(its.attributes[i].max, limits.attributes[i].max);
        EXPECT_EQ(its.attributes[i].one_of, limits.attributes[i].one_of);
      }
    }
  }
  const auto all = parse_profile(*describe_cores({}), "all");
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_GT(all->delegate->operators.size(), 50U);
  EXPECT_TRUE(all->delegate->channels_last);
}

/// A device of the table, with what a test calls.
class Cores : public testing::Test {
 protected:
  Cores() {
    status_.size = sizeof status_;
    const px_open_options options = {sizeof options, "2", nullptr, [](void*, int, const char*) {},
                                     nullptr};
    EXPECT_EQ(table_.open(&options, &device_, &status_), PX_OK);
  }
  ~Cores() override { table_.close(device_); }

  /// Compiles y = Relu(x + w), of f32 [dim].
  px_code compile(const char* op, px_compiled& compiled) {
    static const std::int64_t any[] = {-1};
    static const char* const symbols[] = {"n"};
    static const std::int64_t one[] = {1};
    static float half[] = {0.5F};
    static const px_type free = {sizeof free, PX_FLOAT32, 1, any, symbols};
    static const px_type fixed = {sizeof fixed, PX_FLOAT32, 1, one, nullptr};
    static const px_tensor w = {sizeof w, PX_FLOAT32, 1, one, half, sizeof half};
    static const px_value values[] = {{sizeof(px_value), "x", &free, nullptr, 0},
                                      {sizeof(px_value), "w", &fixed, &w, 0},
                                      {sizeof(px_value), "s", &free, nullptr, 0},
                                      {sizeof(px_value), "y", &free, nullptr, 0}};
    static const px_value* const value_list[] = {&values[0], &values[1], &values[2], &values[3]};
    static const std::int32_t add_inputs[] = {0, 1}, add_outputs[] = {2}, relu_outputs[] = {3};
    const px_node nodes[] = {
        {sizeof(px_node), op, "add", 0, nullptr, 2, add_inputs, 1, add_outputs},
        {sizeof(px_node), "Relu", "relu", 0, nullptr, 1, add_outputs, 1, relu_outputs}};
    const px_node* const node_list[] = {&nodes[0], &nodes[1]};
    const px_region region = {sizeof region, "add", 4,          value_list, 2,
                              node_list,     1,     add_inputs, 1,          relu_outputs,
                              PX_FLOAT32};
    return table_.compile(device_, &region, &compiled, &status_);
  }
  px_code bind(void* region, std::int64_t n, px_binding& binding) {
    const std::int64_t one[] = {1};
    const px_tensor given = {sizeof given, PX_FLOAT32, 1,
                             &n,           nullptr,    static_cast<std::size_t>(n) * sizeof(float)};
    const px_tensor w = {sizeof w, PX_FLOAT32, 1, one, nullptr, sizeof(float)};
    const px_tensor* const list[] = {&given, &w, &given, &given};
    const px_sizes sizes = {sizeof sizes, 4, list};
    return table_.bind(device_, region, &sizes, &binding, &status_);
  }
  px_code run(void* binding, std::vector<float>& x, std::vector<float>& y) {
    const px_place in = {sizeof in, x.data(), nullptr, 0, x.size() * sizeof(float)};
    const px_place out = {sizeof out, y.data(), nullptr, 0, y.size() * sizeof(float)};
    const px_place *const inputs[] = {&in}, *const outputs[] = {&out};
    const px_run run = {sizeof run, 1, inputs, 1, outputs};
    std::promise<px_code> promise;
    auto answer = promise.get_future();
    const px_done done = [](void* context, px_code code, const char*) {
      static_cast<std::promise<px_code>*>(context)->set_value(code);
    };
    EXPECT_EQ(table_.run(device_, binding, &run, done, &promise, &status_), PX_OK);
    return answer.get();
  }
  std::string why() {
    const Status failed = status_from(&status_);
    status_ = px_status{};
    status_.size = sizeof status_;
    return failed ? "" : failed.error().message;
  }

  const px_delegate& table_ = *cores_delegate();
  void* device_ = nullptr;
  px_status status_{};
};

TEST_F(Cores, RunsARegionForManySizes) {
  px_compiled compiled{};
  ASSERT_EQ(compile("Add", compiled), PX_OK) << why();
  for (const std::int64_t n : {1, 7, 1000}) {
    px_binding binding{};
    ASSERT_EQ(bind(compiled.region, n, binding), PX_OK) << why();
    std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 3;
    EXPECT_EQ(run(binding.binding, x, y), PX_OK);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], std::max(0.F, x[i] + 0.5F));
    table_.unbind(device_, compiled.region, binding.binding);
  }
  table_.discard(device_, compiled.region);
}

TEST_F(Cores, RefusesWhatItCannotRun) {
  px_compiled compiled{};
  EXPECT_EQ(compile("Frobnicate", compiled), PX_UNSUPPORTED);
  EXPECT_EQ(why(), "no operator 'Frobnicate'");
  ASSERT_EQ(compile("Relu", compiled), PX_OK);
  px_binding binding{};
  EXPECT_NE(bind(compiled.region, 3, binding), PX_OK) << "Relu of two inputs";
  EXPECT_NE(why(), "");
  table_.discard(device_, compiled.region);
}

TEST_F(Cores, RefusesTexts) {
  void* device = nullptr;
  const px_open_options options = {sizeof options, "no/such.toml", nullptr,
                                   [](void*, int, const char*) {}, nullptr};
  EXPECT_EQ(table_.open(&options, &device, &status_), PX_IO);
  EXPECT_THAT(why(), HasSubstr("no/such.toml"));
}

}  // namespace
}  // namespace parallax
