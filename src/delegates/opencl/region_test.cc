// Tests regions: fusion, new sizes, memory, concurrent runs, and errors.
#include "delegates/opencl/region.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "base/status.h"
#include "cache/test_folder.h"
#include "delegates/opencl/device/program_cache.h"
#include "delegates/opencl/opencl_test_util.h"
#include "ir/text/text.h"

namespace parallax::opencl {
namespace {

Graph region_graph(std::string_view text) {
  auto graph = parse_graph(text);
  if (graph) {
    if (auto inferred = infer_graph(*graph); !inferred) ADD_FAILURE() << inferred.error().message;
    return *std::move(graph);
  }
  ADD_FAILURE() << graph.error().to_string();
  return {};
}

constexpr std::string_view kDense =
    "symbols n\ninput x f32 [n, 8]\nconst w f32 [8, 16] = fill 0.5\nconst b f32 [16] = fill -1\n"
    "const f f32 [] = fill 2\nm0 = MatMul(x, w)\nm = Mul(f, m0)\na = Add(b, m)\nr = Relu(a)\ns = "
    "Softmax(r)\nt = Transpose(s)\n"
    "p = Mul(r, r)\noutput t, p\n";

std::vector<TensorDesc> sizes_with(const Graph& graph, std::int64_t n) {
  ::parallax::Binding symbols;
  symbols.symbols.push_back(n);
  const auto shapes = concrete_shapes(graph, symbols);
  std::vector<TensorDesc> descs = descs_of(graph);
  for (const ValueId id : graph.values.ids())
    descs[static_cast<std::size_t>(id.value)].dims = *(*shapes)[id];
  return descs;
}

TEST(OpenClRegion, ProductsTakeScaleBiasAndActivation) {
  const Graph graph = region_graph(kDense);
  const auto steps = find_steps(graph);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 4U);
  EXPECT_EQ((*steps)[0].activation.op, OpKind::kRelu);
  EXPECT_TRUE((*steps)[0].added.valid());
  EXPECT_EQ((*steps)[0].scale, 2.0F);
}

TEST(OpenClRegion, RefusesActivationsThatProductsDoNotHave) {
  for (const std::string op : {"Elu", "HardSigmoid", "LeakyRelu", "Mish", "Softplus"}) {
    const auto steps = find_steps(region_graph(
        "input x f32 [2, 8]\ninput w f32 [8, 3]\nm = MatMul(x, w)\ny = " + op + "(m)\noutput y"));
    ASSERT_FALSE(steps) << op;
    EXPECT_EQ(steps.error().code, ErrorCode::kUnsupported) << op;
  }
}

TEST(OpenClRegion, ANewSizeCompilesNothing) {
  PX_NEEDS_DEVICE();
  const Graph graph = region_graph(kDense);
  const auto region = Region::compile(test_context(), graph);
  ASSERT_TRUE(region) << region.error().to_string();
  for (const std::int64_t n : {3, 1, 50, 0}) {
    const auto descs = sizes_with(graph, n);
    const auto binding = Region::bind(*region, descs);
    ASSERT_TRUE(binding) << binding.error().to_string();
    const Tensor x = random_tensor({n, 8});
    std::vector<TensorDesc> outputs;
    for (const ValueId output : graph.outputs)
      outputs.push_back(descs[static_cast<std::size_t>(output.value)]);
    const auto result = run_bound(**binding, {x.view()}, outputs);
    ASSERT_TRUE(result) << result.error().to_string();
    const auto xs = test_values<float>(x), p = test_values<float>((*result)[1]);
    for (std::int64_t row = 0; row < n; ++row) {
      float sum = -1;
      for (std::int64_t i = 0; i < 8; ++i) sum += xs[static_cast<std::size_t>(row * 8 + i)];
      const float expected = sum > 0 ? sum * sum : 0;
      EXPECT_NEAR(p[static_cast<std::size_t>(row * 16)], expected, 1e-4F);
      EXPECT_NEAR(test_values<float>((*result)[0])[static_cast<std::size_t>(row)], 1.0F / 16,
                  1e-5F);
    }
  }
}

TEST(OpenClRegion, TensorsShareMemory) {
  PX_NEEDS_DEVICE();
  const Graph graph = region_graph(
      "input x f32 [1000]\na = Softmax(x)\nb = Softmax(a)\nc = Softmax(b)\nd = Softmax(c)\n"
      "e = Softmax(d)\noutput e\n");
  const auto region = Region::compile(test_context(), graph);
  ASSERT_TRUE(region);
  const auto binding = Region::bind(*region, descs_of(graph));
  ASSERT_TRUE(binding);
  EXPECT_LE((*binding)->memory_bytes(), 2 * 4096);
}

TEST(OpenClRegion, OutputsMayBeInputsConstantsAndViews) {
  PX_NEEDS_DEVICE();
  const Graph graph = region_graph(
      "input x f32 [2, 3]\nconst c f32 [2] = [5, 6]\nconst s i64 [1] = [6]\nv = Reshape(x, s)\n"
      "r = Neg(x)\nw = Reshape(r, s)\noutput v, r, w, r, c, x\n");
  const Tensor x = random_tensor({2, 3});
  const auto result = run_graph(graph, {x.view()}, false);
  ASSERT_TRUE(result) << result.error().to_string();
  const auto xs = test_values<float>(x);
  for (const std::size_t same : {0U, 5U}) EXPECT_EQ(test_values<float>((*result)[same]), xs);
  for (const std::size_t negated : {1U, 2U, 3U}) {
    const auto values = test_values<float>((*result)[negated]);
    for (std::size_t i = 0; i < xs.size(); ++i) EXPECT_EQ(values[i], -xs[i]);
  }
  EXPECT_EQ(test_values<float>((*result)[4]), (std::vector<float>{5, 6}));
}

TEST(OpenClRegion, RunsOfOneBindingMayOverlap) {
  PX_NEEDS_DEVICE();
  const Graph graph = region_graph("input x f32 [64]\na = Softmax(x)\nb = Exp(a)\noutput b\n");
  const auto region = Region::compile(test_context(), graph);
  ASSERT_TRUE(region);
  const auto binding = Region::bind(*region, descs_of(graph));
  ASSERT_TRUE(binding);
  const std::vector<TensorDesc> outputs{{true, DType::kF32, {64}, nullptr}};
  const auto run = [&](unsigned seed) {
    const Tensor x = random_tensor({64}, seed);
    auto result = run_bound(**binding, {x.view()}, outputs);
    return result ? test_values<float>((*result)[0]) : std::vector<float>();
  };
  std::vector<std::vector<float>> expected(4);
  for (unsigned i = 0; i < 4; ++i) expected[i] = run(i);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) EXPECT_EQ(run(i), expected[i]);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Keeps the device from beginning commands that are given during its life, however fast it is.
class HeldDevice {
 public:
  explicit HeldDevice(ClContext& context) {
    const ClContext::Commands commands(context);
    cl_context whose = nullptr;
    function<decltype(clGetCommandQueueInfo)>("clGetCommandQueueInfo")(
        commands.queue(), CL_QUEUE_CONTEXT, sizeof(whose), &whose, nullptr);
    go_on_ = function<decltype(clCreateUserEvent)>("clCreateUserEvent")(whose, nullptr);
    function<decltype(clEnqueueBarrierWithWaitList)>("clEnqueueBarrierWithWaitList")(
        commands.queue(), 1, &go_on_, nullptr);
  }
  HeldDevice(const HeldDevice&) = delete;
  HeldDevice& operator=(const HeldDevice&) = delete;
  ~HeldDevice() {
    function<decltype(clSetUserEventStatus)>("clSetUserEventStatus")(go_on_, CL_COMPLETE);
    test_context()->cl().clReleaseEvent(go_on_);
  }

 private:
  /// Returns a function that the delegate itself does not need.
  template <class Function>
  static Function* function(const char* name) {
    static void* const kLibrary = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(::dlsym(kLibrary, name));
  }

  cl_event go_on_ = nullptr;
};

TEST(OpenClRegion, WhatACancelledRunLacksIsLeftOut) {
  PX_NEEDS_DEVICE();
  // More launches than the device receives in advance.
  std::string text = "input x f32 [64, 1000]\nv0 = Softmax(x)\n";
  for (int i = 1; i < 300; ++i) text += fmt::format("v{} = Softmax(v{})\n", i, i - 1);
  const Graph graph = region_graph(text + "output v299\n");
  const auto region = Region::compile(test_context(), graph);
  ASSERT_TRUE(region);
  const auto binding = Region::bind(*region, descs_of(graph));
  ASSERT_TRUE(binding);
  const OwnedBuffer in = uploaded(random_tensor({64, 1000}).view());
  const BufferPart from{in.get(), 0, nullptr};
  std::vector<OwnedBuffer> out;
  std::vector<std::promise<Status>> ended(6);
  std::optional<HeldDevice> held;
  if (!under_checker()) held.emplace(*test_context());  // one runs commands as they are given
  for (std::promise<Status>& end : ended) {
    auto buffer = test_context()->buffer(64 * 1000 * 4);
    ASSERT_TRUE(buffer);
    out.push_back(std::move(*buffer));
    const BufferPart to{out.back().get(), 0, nullptr};
    (*binding)->run(
        std::span(&from, 1), std::span(&to, 1),
        [&end](Status status) { end.set_value(std::move(status)); }, &end);
  }
  // The first is under way, the others wait for it.
  for (std::size_t i = 0; i + 1 < ended.size(); ++i) (*binding)->cancel(&ended[i]);
  (*binding)->cancel(&out);  // identifies no run
  held.reset();
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const Status status = ended[i].get_future().get();
    if (i + 1 == ended.size()) {
      EXPECT_TRUE(status) << status.error().to_string();
    } else if (!under_checker()) {
      EXPECT_TRUE(!status && status.error().code == ErrorCode::kCancelled) << i;
    }
  }
  (*binding)->cancel(ended.data());  // late
}

TEST(OpenClRegion, RefusesWhatItCannotIndex) {
  PX_NEEDS_DEVICE();
  const Graph graph = region_graph(kDense);
  const auto region = Region::compile(test_context(), graph);
  ASSERT_TRUE(region);
  const auto binding = Region::bind(*region, sizes_with(graph, std::int64_t{1} << 29));
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().code, ErrorCode::kUnsupported);
}

TEST(OpenClRegion, AnOperatorThatIsMissingIsNamed) {
  PX_NEEDS_DEVICE();
  const auto region =
      Region::compile(test_context(), region_graph("input x f32 [4]\ny = NonZero(x)\noutput y\n"));
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(region.error().message, "opencl has no NonZero");
}

class OpenClPrograms : public FolderTest {};

TEST_F(OpenClPrograms, AreKeptOnDisk) {
  PX_NEEDS_DEVICE();
  const std::string source = "kernel void nothing(global int* x) { x[0] = 1; }";
  for (int i = 0; i < 2; ++i) {
    auto context = ClContext::open(test_context()->device(), folder_);
    ASSERT_TRUE(context);
    EXPECT_TRUE((*context)->program(source));
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    ++files;
    EXPECT_TRUE(read_program(entry.path()));
  }
  EXPECT_EQ(files, 1);
  auto context = ClContext::open(test_context()->device(), folder_);
  const auto broken = (*context)->program("kernel void wrong(");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kInternal);
}

TEST_F(OpenClPrograms, ADamagedFileIsNone) {
  const auto file = program_file(folder_, "device", "source");
  EXPECT_FALSE(read_program(file));
  const std::vector<std::byte> binary(100, std::byte{7});
  write_program(file, binary);
  EXPECT_EQ(read_program(file), binary);
  std::string text = read(file);
  text.back() = '!';
  write(file, text);
  EXPECT_FALSE(read_program(file));
  EXPECT_NE(program_file(folder_, "device2", "source"), file);
}

}  // namespace
}  // namespace parallax::opencl
