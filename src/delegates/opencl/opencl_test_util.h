// Runs graphs and single nodes of tests on this machine's first OpenCL device and compares them
// with the reference kernels. Without a device, tests are skipped. Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "delegates/opencl/region.h"
#include "kernels/kernel_test_util.h"

namespace parallax::opencl {

/// Returns the device of all tests of this process; null if the machine has no device.
inline const std::shared_ptr<ClContext>& test_context() {
  static const std::shared_ptr<ClContext> kContext = []() -> std::shared_ptr<ClContext> {
    const auto devices = find_devices();
    if (!devices || devices->empty()) return nullptr;
    auto context = ClContext::open(devices->front());
    return context ? *context : nullptr;
  }();
  return kContext;
}
#define PX_NEEDS_DEVICE() \
  if (test_context() == nullptr) GTEST_SKIP() << "no OpenCL device: install pocl-opencl-icd"

/// PX_OPENCL_CHECK=1: a checker such as oclgrind runs the test, which sees tensors apart.
inline bool under_checker() { return std::getenv("PX_OPENCL_CHECK") != nullptr; }

inline std::vector<float> random_floats(std::int64_t count, unsigned seed, float low = -1,
                                        float high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(low, high);
  std::vector<float> elements(static_cast<std::size_t>(count));
  for (float& element : elements) element = number(random);
  return elements;
}
inline Tensor random_tensor(const Dims& dims, unsigned seed = 1, float low = -1, float high = 1) {
  return test_tensor<float>(dims, random_floats(dims.elements(), seed, low, high));
}
inline Tensor int_tensor(const std::vector<std::int64_t>& elements) {
  return test_tensor<std::int64_t>({static_cast<std::int64_t>(elements.size())}, elements);
}

/// A buffer with the tensor's bytes.
inline OwnedBuffer uploaded(const TensorView& view, ClContext& context = *test_context()) {
  auto buffer = context.buffer(static_cast<std::int64_t>(view.bytes.size()), view.bytes.data());
  return buffer ? std::move(*buffer) : OwnedBuffer();
}

/// Runs a bound region once and waits. `inputs` are those of the graph.
inline Result<std::vector<Tensor>> run_bound(Binding& binding,
                                             const std::vector<TensorView>& inputs,
                                             const std::vector<TensorDesc>& outputs,
                                             ClContext& context = *test_context()) {
  std::vector<OwnedBuffer> owned;
  std::vector<BufferPart> in, out;
  for (const TensorView& input : inputs) {
    owned.push_back(uploaded(input, context));
    in.push_back({owned.back().get(), 0});
  }
  for (const TensorDesc& output : outputs) {
    PX_ASSIGN(OwnedBuffer buffer, context.buffer(output.bytes()));
    owned.push_back(std::move(buffer));
    out.push_back({owned.back().get(), 0});
  }
  std::promise<Status> ended;
  binding.run(in, out, [&](Status status) { ended.set_value(std::move(status)); });
  PX_RETURN_IF_ERROR(ended.get_future().get());
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PX_ASSIGN(Tensor result, Tensor::allocate(outputs[i].dtype, outputs[i].dims));
    const auto bytes = result.mutable_view().bytes;
    if (!bytes.empty()) {
      const ClContext::Commands commands(context);
      PX_RETURN_IF_ERROR(cl_check(
          "clEnqueueReadBuffer",
          context.cl().clEnqueueReadBuffer(commands.queue(), out[i].buffer, CL_TRUE, 0,
                                           bytes.size(), bytes.data(), 0, nullptr, nullptr)));
    }
    results.push_back(std::move(result));
  }
  return results;
}

/// Sizes of all values of a graph whose shapes are numbers, with the bytes of constants.
inline std::vector<TensorDesc> descs_of(const Graph& graph) {
  std::vector<TensorDesc> descs;
  for (const Value& value : graph.values) {
    TensorDesc desc{true, value.dtype, {}, nullptr};
    for (const Expr& dim : value.shape) desc.dims.push_back(dim.constant().value_or(0));
    if (value.constant) desc.data = value.constant->bytes.data();
    descs.push_back(desc);
  }
  return descs;
}

/// Returns the names of all kernels that run_graph has launched so far.
inline std::set<std::string>& launched_kernels() {
  static std::set<std::string> names;
  return names;
}

/// Runs a graph of known sizes.
inline Result<std::vector<Tensor>> run_graph(const Graph& graph,
                                             const std::vector<TensorView>& inputs,
                                             RegionOptions options) {
  options.separate_buffers = under_checker();
  PX_ASSIGN(const auto region, Region::compile(test_context(), graph, options));
  const std::vector<TensorDesc> descs = descs_of(graph);
  PX_ASSIGN(const auto binding, Region::bind(region, descs));
  for (const std::string_view name : binding->kernels()) launched_kernels().emplace(name);
  std::vector<TensorDesc> outputs;
  for (const ValueId output : graph.outputs)
    outputs.push_back(descs[static_cast<std::size_t>(output.value)]);
  return run_bound(*binding, inputs, outputs);
}

inline Result<std::vector<Tensor>> run_graph(const Graph& graph,
                                             const std::vector<TensorView>& inputs,
                                             bool through_local_memory) {
  RegionOptions options;
  options.through_local_memory = through_local_memory;
  return run_graph(graph, inputs, options);
}

/// Runs one node on the device. Inputs of `run.constants` and those that define a shape are
/// constants.
inline Result<std::vector<Tensor>> run_node(const KernelRun& run, const RegionOptions& options) {
  PX_ASSIGN(Graph graph, test_detail::one_node_graph(run));
  Node& node = graph.nodes[NodeId{0}];
  std::vector<TensorView> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    if (op_def(node.op).decides_shape(i) || (run.constants >> i & 1U) != 0) continue;
    Value& value = graph.values[node.inputs[i]];
    value.kind = ValueKind::kInput;
    value.constant.reset();
    value.content.reset();
    graph.inputs.push_back(node.inputs[i]);
    inputs.push_back(run.inputs[i]->view());
  }
  for (const ValueId output : node.outputs) graph.outputs.push_back(output);
  return run_graph(graph, inputs, options);
}

/// Fails the test if f32 elements differ by more than `tolerance` of the largest magnitude, or
/// others at all. NaN equals NaN.
inline void expect_same(const Tensor& actual, const Tensor& expected, const std::string& what,
                        float tolerance = 1e-4F) {
  ASSERT_EQ(actual.dims().to_string(), expected.dims().to_string()) << what;
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  if (expected.dtype() != DType::kF32) {
    const auto a = actual.view().bytes, b = expected.view().bytes;
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << what;
    return;
  }
  const auto a = test_values<float>(actual), b = test_values<float>(expected);
  float largest = 0;
  for (const float x : b)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < b.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= tolerance * largest;
    ASSERT_TRUE(same) << what << ": element " << i << " is " << a[i] << ", not " << b[i];
  }
}

/// Tolerance with 16-bit storage, relative to the largest magnitude.
inline constexpr float kHalfTolerance = 2e-2F;

/// Fails the test if the device and the reference kernel differ.
inline void expect_as_reference(const KernelRun& run, const std::string& what,
                                RegionOptions options = {}) {
  const std::string name = std::string(to_string(run.op)) + " " + what;
  const auto expected = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(expected) << name << ": " << expected.error().to_string();
  const bool product = run.op == OpKind::kConv || run.op == OpKind::kMatMul ||
                       run.op == OpKind::kGemm || run.op == OpKind::kFusedAttention;
  for (const bool local : {false, true}) {
    if (local && !product) continue;
    options.through_local_memory = local;
    const auto actual = run_node(run, options);
    ASSERT_TRUE(actual) << name << ": " << actual.error().to_string();
    ASSERT_EQ(actual->size(), expected->size()) << name;
    for (std::size_t i = 0; i < actual->size(); ++i)
      expect_same((*actual)[i], (*expected)[i], name + (local ? " (local)" : ""),
                  options.half ? kHalfTolerance : 1e-4F);
  }
}

}  // namespace parallax::opencl
