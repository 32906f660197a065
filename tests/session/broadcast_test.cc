// Free dimensions that meet in operators that broadcast: what a whole model gives for every
// combination of small sizes, against broadcasting written out plainly.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

struct Array {
  std::vector<std::int64_t> dims;
  std::vector<float> elements;
  friend bool operator==(const Array&, const Array&) = default;
};
using Arrays = std::vector<Array>;
using MaybeArray = std::optional<Array>;

std::int64_t dim_from_back(const Array& a, std::size_t back) {
  return back < a.dims.size() ? a.dims[a.dims.size() - 1 - back] : 1;
}

/// Nothing where the shapes do not go together.
std::optional<std::vector<std::int64_t>> common_dims(const Arrays& arrays) {
  std::size_t rank = 0;
  for (const Array& a : arrays) rank = std::max(rank, a.dims.size());
  std::vector<std::int64_t> dims(rank, 1);
  for (std::size_t back = 0; back < rank; ++back) {
    std::int64_t& dim = dims[rank - 1 - back];
    for (const Array& a : arrays) {
      const std::int64_t own = dim_from_back(a, back);
      if (own != 1 && dim != 1 && own != dim) return std::nullopt;
      if (own != 1) dim = own;
    }
  }
  return dims;
}

/// The element of `a` that belongs to element `index`, counted row by row, of a tensor of `dims`.
float element_of(const Array& a, const std::vector<std::int64_t>& dims, std::int64_t index) {
  std::int64_t offset = 0, stride = 1;
  for (std::size_t back = 0; back < dims.size(); ++back) {
    const std::int64_t dim = dims[dims.size() - 1 - back], own = dim_from_back(a, back);
    if (own != 1) offset += index % dim * stride;
    stride *= own;
    index /= dim;
  }
  return a.elements[static_cast<std::size_t>(offset)];
}

using Function = std::function<float(const std::vector<float>&)>;

MaybeArray combine(const Function& function, const Arrays& arrays) {
  const auto dims = common_dims(arrays);
  if (!dims) return std::nullopt;
  Array result{*dims, {}};
  std::int64_t size = 1;
  for (const std::int64_t dim : *dims) size *= dim;
  for (std::int64_t i = 0; i < size; ++i) {
    std::vector<float> row;
    for (const Array& a : arrays) row.push_back(element_of(a, *dims, i));
    result.elements.push_back(function(row));
  }
  return result;
}

Array shape_of(const Array& a) {
  return {{static_cast<std::int64_t>(a.dims.size())}, {a.dims.begin(), a.dims.end()}};
}

float sum(const std::vector<float>& x) { return x[0] + x[1]; }

struct BroadcastCase {
  std::string_view name, graph;
  /// The outputs for the inputs, none where they are refused.
  std::function<Arrays(const Arrays&)> oracle;
};

Arrays listed(std::initializer_list<MaybeArray> arrays) {
  Arrays result;
  for (const MaybeArray& a : arrays) {
    if (!a) return {};
    result.push_back(*a);
  }
  return result;
}

std::vector<BroadcastCase> elementwise_cases() {
  return {
      {"Add", "input a f32 [n, 2]\ninput b f32 [m, 2]\ny = Add(a, b)\nz = Shape(y)\noutput y, z",
       [](const Arrays& in) {
         const auto y = combine(sum, in);
         return listed({y, y ? shape_of(*y) : MaybeArray{}});
       }},
      {"ShapeAlone",
       "input a f32 [n, 2]\ninput b f32 [m, 2]\ny = Add(a, b)\nz = Shape(y)\noutput z",
       [](const Arrays& in) {
         const auto y = combine(sum, in);
         return listed({y ? shape_of(*y) : MaybeArray{}});
       }},
      // What is added to is read by nothing else, so that it may be overwritten where sizes allow.
      {"InPlace",
       "input a f32 [n, m]\ninput b f32 [k, 1]\nx = Neg(a)\ny = Abs(b)\nu = Mul(x, y)\n"
       "v = Sub(y, u)\nw = Relu(v)\noutput w",
       [](const Arrays& in) {
         return listed({combine(
             [](const std::vector<float>& x) {
               return std::max(std::abs(x[1]) - -x[0] * std::abs(x[1]), 0.0F);
             },
             in)});
       }},
      {"Max",
       "input a f32 [n, 1]\ninput b f32 [m]\ninput c f32 [k, m]\ny = Max(a, b, c)\n"
       "z = Min(c, b)\nu = Add(y, z)\noutput u",
       [](const Arrays& in) {
         const auto z = combine([](const auto& x) { return std::min(x[0], x[1]); }, {in[2], in[1]});
         const auto y = combine([](const auto& x) { return std::max({x[0], x[1], x[2]}); }, in);
         return y && z ? listed({combine(sum, {*y, *z})}) : Arrays{};
       }},
      {"Where",
       "input a f32 [n]\ninput b f32 [m]\ninput c f32 [k, 1]\nconst two f32 [] = [2]\n"
       "t = Less(a, two)\ny = Where(t, b, c)\noutput y",
       [](const Arrays& in) {
         return listed({combine([](const auto& x) { return x[0] < 2 ? x[1] : x[2]; }, in)});
       }},
      {"Expand",
       "input a f32 [n, 1]\ninput b f32 [m, k]\ns = Shape(b)\ny = Expand(a, s)\nz = Add(y, b)\n"
       "output z",
       [](const Arrays& in) { return listed({combine(sum, in)}); }},
      // Sums of equal operands in another order are one value only where they have one shape.
      {"Twice",
       "input a f32 [n]\ninput b f32 [m]\nconst s i64 [2] = [2, -1]\nx = Add(a, b)\n"
       "y = Add(b, a)\nz = Concat(x, y) {axis = 0}\nu = Reshape(z, s)\noutput u",
       [](const Arrays& in) {
         const auto x = combine(sum, in);
         if (!x) return Arrays{};
         Array both{{2, x->dims[0]}, x->elements};
         both.elements.insert(both.elements.end(), x->elements.begin(), x->elements.end());
         return Arrays{both};
       }},
  };
}

std::vector<BroadcastCase> product_cases() {
  return {
      {"MatMul", "input a f32 [n, 1, 2]\ninput b f32 [m, 2, 1]\ny = MatMul(a, b)\noutput y",
       [](const Arrays& in) {
         const auto column = [](const Array& a, std::size_t i) {
           Array one{{a.dims[0], 1, 1}, {}};
           for (std::size_t r = i; r < a.elements.size(); r += 2)
             one.elements.push_back(a.elements[r]);
           return one;
         };
         return listed(
             {combine([](const auto& x) { return x[0] * x[1] + x[2] * x[3]; },
                      {column(in[0], 0), column(in[1], 0), column(in[0], 1), column(in[1], 1)})});
       }},
      // C must fit the product, which it does not make larger.
      {"Gemm",
       "input a f32 [n, 1]\ninput b f32 [1, 2]\ninput c f32 [m, 2]\ny = Gemm(a, b, c)\noutput y",
       [](const Arrays& in) {
         if (in[2].dims[0] != 1 && in[2].dims[0] != in[0].dims[0]) return Arrays{};
         return listed({combine([](const auto& x) { return x[0] * x[1] + x[2]; }, in)});
       }},
      // A mask that makes the scores larger. One key per query: the softmax is 1.
      {"Attention",
       "input q f32 [n, 2, 4]\ninput mask f32 [m, k, 1]\nconst keys f32 [4, 1] = fill 0.5\n"
       "const values f32 [1, 1] = [3]\ns = MatMul(q, keys)\nt = Add(s, mask)\n"
       "p = Softmax(t) {axis = -1}\ny = MatMul(p, values)\noutput y",
       [](const Arrays& in) {
         const Array scores{{in[0].dims[0], 2, 1},
                            std::vector<float>(static_cast<std::size_t>(in[0].dims[0]) * 2)};
         return listed({combine([](const auto&) { return 3.0F; }, {scores, in[1]})});
       }},
  };
}

std::vector<BroadcastCase> broadcast_cases() {
  std::vector<BroadcastCase> cases = elementwise_cases();
  for (const BroadcastCase& each : product_cases()) cases.push_back(each);
  return cases;
}

using Sizes = std::map<std::string, std::int64_t>;

Tensor input_of(const TensorInfo& info, const Sizes& sizes, float first) {
  Dims dims;
  for (const Dimension& dim : info.shape)
    dims.push_back(dim.symbol.empty() ? dim.value : sizes.at(dim.symbol));
  Tensor tensor = *Tensor::allocate(info.dtype, dims);
  for (std::int64_t i = 0; i < dims.elements(); ++i)
    tensor.mutable_view().as<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

Array array_of(const Tensor& tensor) {
  Array a{{tensor.dims().begin(), tensor.dims().end()}, {}};
  for (std::int64_t i = 0; i < tensor.dims().elements(); ++i) {
    a.elements.push_back(tensor.dtype() == DType::kF32
                             ? tensor.view().as<float>()[i]
                             : static_cast<float>(tensor.view().as<std::int64_t>()[i]));
  }
  return a;
}

void check(const BroadcastCase& row, const Model& model, Session& session, const Sizes& sizes) {
  std::vector<Tensor> tensors;
  std::vector<NamedInput> inputs;
  Arrays arrays;
  for (const TensorInfo& info : model.inputs()) {
    tensors.push_back(input_of(info, sizes, static_cast<float>(tensors.size()) - 1));
    arrays.push_back(array_of(tensors.back()));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({model.inputs()[i].name, tensors[i].view()});
  const auto outputs = session.run(inputs);
  const Arrays expected = row.oracle(arrays);
  if (expected.empty()) {
    ASSERT_FALSE(outputs);
    EXPECT_EQ(outputs.error().code, ErrorCode::kInvalidInput) << outputs.error().to_string();
    EXPECT_FALSE(outputs.error().node.empty() && row.name != "ShapeAlone");
    return;
  }
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Array got = array_of((*outputs)[i]);
    EXPECT_EQ(got.dims, expected[i].dims) << "output " << i;
    EXPECT_EQ(got.elements, expected[i].elements) << "output " << i;
  }
}

TEST(Broadcast, EverySizeGivesWhatPlainBroadcastingGives) {
  const std::vector<SessionOptions> sessions = {
      {.scheduler = Scheduler::kSequential, .threads = 1, .kernels = Kernels::kReference},
      {.scheduler = Scheduler::kDataflow, .threads = 2}};
  for (const BroadcastCase& row : broadcast_cases()) {
    const Model model = model_of("symbols n m k\n" + std::string(row.graph));
    for (const SessionOptions& options : sessions) {
      auto session = Session::create(model, options);
      ASSERT_TRUE(session);
      for (std::int64_t i = 0; i < 64; ++i) {
        const Sizes sizes = {{"n", i % 4}, {"m", i / 4 % 4}, {"k", i / 16}};
        SCOPED_TRACE(fmt::format("{} n={} m={} k={}", row.name, i % 4, i / 4 % 4, i / 16));
        check(row, model, *session, sizes);
      }
    }
  }
}

TEST(Broadcast, ErrorsNameNodeAndSizes) {
  const Model model =
      model_of("symbols n m\ninput a f32 [n, 4]\ninput b f32 [m, 4]\ny = Add(a, b) @sum\noutput y");
  EXPECT_EQ(model.outputs()[0].shape[0].symbol, "broadcast(n, m)");
  auto session = Session::create(model, {.threads = 1});
  ASSERT_TRUE(session);
  const std::vector<DimValue> dims = {{"n", 2}, {"m", 3}};
  const auto report = Planner(*session).plan(dims);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().node, "sum");
  EXPECT_THAT(report.error().message, testing::HasSubstr("broadcast(n, m)x4: with n = 2, m = 3"));
}

}  // namespace
}  // namespace parallax
