// Graphs of what passes fuse in f32, in other floats: outputs are those of the reference kernels
// without passes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "parallax/elements.h"
#include "parallax/session.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

constexpr std::string_view kAttention = R"(
    input q TYPE [1, 2, 5, 8]
    input k TYPE [1, 2, 7, 8]
    input v TYPE [1, 2, 7, 8]
    const scale TYPE [] = [0.25]
    kt = Transpose(k) {perm = [0, 1, 3, 2]}
    raw = MatMul(q, kt)
    scores = Mul(raw, scale)
    weights = Softmax(scores)
    y = MatMul(weights, v)
    output y)";

constexpr std::string_view kNormalisation = R"(
    input x TYPE [3, 16]
    const axes i64 [1] = [-1]
    const two TYPE [] = [2]
    const epsilon TYPE [] = [0.001]
    const scale TYPE [16] = fill 1.5
    const bias TYPE [16] = fill 0.25
    mean = ReduceMean(x, axes)
    off = Sub(x, mean)
    squares = Pow(off, two)
    variance = ReduceMean(squares, axes)
    safe = Add(variance, epsilon)
    deviation = Sqrt(safe)
    normal = Div(off, deviation)
    scaled = Mul(normal, scale)
    y = Add(scaled, bias)
    output y)";

constexpr std::string_view kConvolution = R"(
    input x TYPE [1, 4, 9, 9]
    const w TYPE [4, 4, 3, 3] = fill 0.0625
    const scale TYPE [4] = [1, 2, 0.5, 1]
    const bias TYPE [4] = [0, -1, 0.25, 0]
    const mean TYPE [4] = [0.5, 0, 0, 1]
    const var TYPE [4] = fill 4
    c = Conv(x, w) {pads = [1, 1, 1, 1]}
    n = BatchNormalization(c, scale, bias, mean, var)
    r = Relu(n)
    p = MaxPool(r) {kernel_shape = [2, 2]}
    y = Shape(p)
    output p, y)";

constexpr std::string_view kGelu = R"(
    input x TYPE [4, 24]
    const w TYPE [24, 8] = fill 0.125
    const b TYPE [8] = fill 0.5
    const root TYPE [] = [1.4142135]
    const one TYPE [] = [1]
    const half TYPE [] = [0.5]
    m = MatMul(x, w)
    a = Add(m, b)
    d = Div(a, root)
    e = Erf(d)
    s = Add(e, one)
    t = Mul(a, s)
    g = Mul(t, half)
    z = Sigmoid(g)
    y = Mul(g, z)
    output y)";

Result<std::vector<Tensor>> outputs_of(const Model& model, Kernels kernels) {
  auto session = Session::create(model, {.kernels = kernels});
  if (!session) return tl::unexpected(session.error());
  std::vector<Tensor> tensors;
  std::vector<NamedInput> inputs;
  std::minstd_rand random(3);
  for (const TensorInfo& info : model.inputs()) {
    Dims dims;
    for (const Dimension& dim : info.shape) dims.push_back(dim.value);
    tensors.push_back(*Tensor::allocate(info.dtype, dims));
    for (std::int64_t i = 0; i < dims.elements(); ++i)
      write_element(info.dtype, static_cast<double>(random() % 512) / 256 - 1,
                    tensors.back().mutable_view().bytes.data(), i);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({model.inputs()[i].name, tensors[i].view()});
  return session->run(inputs);
}

std::string of_type(std::string text, std::string_view type) {
  for (std::size_t at = text.find("TYPE"); at != std::string::npos; at = text.find("TYPE"))
    text.replace(at, 4, type);
  return text;
}

double worst(const Tensor& a, const Tensor& b) {
  double apart = 0;
  for (std::int64_t i = 0; i < a.dims().elements(); ++i)
    apart = std::max(apart, std::fabs(read_element<double>(a.dtype(), a.view().bytes.data(), i) -
                                      read_element<double>(b.dtype(), b.view().bytes.data(), i)));
  return apart;
}

TEST(ElementTypes, FusedGraphsGiveWhatTheirNodesGive) {
  struct Row {
    const char* type;
    double tolerance;
  };
  for (const Row& row : {Row{"f32", 1e-5}, {"f64", 1e-12}, {"f16", 8e-3}, {"bf16", 6e-2}}) {
    for (const std::string_view graph : {kAttention, kNormalisation, kConvolution, kGelu}) {
      const std::string text = of_type(std::string(graph), row.type);
      const Model model = model_of(text);
      const auto wanted = outputs_of(model, Kernels::kReference);
      const auto ours = outputs_of(model, Kernels::kBest);
      ASSERT_TRUE(wanted.has_value()) << wanted.error().to_string() << text;
      ASSERT_TRUE(ours.has_value()) << ours.error().to_string() << text;
      for (std::size_t i = 0; i < wanted->size(); ++i) {
        EXPECT_EQ((*ours)[i].dtype(), model.outputs()[i].dtype);
        EXPECT_LE(worst((*ours)[i], (*wanted)[i]), row.tolerance) << row.type << graph;
      }
    }
  }
}

}  // namespace
}  // namespace parallax
