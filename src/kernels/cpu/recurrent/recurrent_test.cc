#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"
#include "kernels/cpu/tiles.h"
#include "kernels/recurrent_shape.h"

namespace parallax {
namespace {

struct RecurrentCase {
  OpKind op;
  std::int64_t steps, batch, inputs, hidden;
  Attributes attributes = {};
  bool all_inputs = false;
  std::vector<std::int32_t> lengths = {};
};

/// Weights small enough that gates are not all at their ends.
KernelRun recurrent_run(const RecurrentCase& c) {
  Node node;
  node.op = c.op;
  node.attributes = c.attributes;
  const Recurrence spec = recurrence_of(node).value();
  const std::int64_t d = spec.directions, rows = spec.gates * c.hidden;
  const Dims state = spec.batch_first ? Dims{c.batch, d, c.hidden} : Dims{d, c.batch, c.hidden};
  KernelRun run{c.op,
                test_inputs(random_floats(spec.batch_first ? Dims{c.batch, c.steps, c.inputs}
                                                           : Dims{c.steps, c.batch, c.inputs},
                                          1),
                            random_floats({d, rows, c.inputs}, 2, -0.3F, 0.3F),
                            random_floats({d, rows, c.hidden}, 3, -0.3F, 0.3F)),
                c.attributes, c.op == OpKind::kLSTM ? 3 : 2, 0b10001110};
  if (!c.all_inputs && c.lengths.empty()) return run;
  run.inputs.emplace_back(random_floats({d, 2 * rows}, 4, -0.3F, 0.3F));
  run.inputs.emplace_back();
  if (!c.lengths.empty()) run.inputs.back() = test_tensor<std::int32_t>({c.batch}, c.lengths);
  run.inputs.emplace_back(random_floats(state, 5));
  if (c.op != OpKind::kLSTM) return run;
  run.inputs.emplace_back(random_floats(state, 6));
  run.inputs.emplace_back(random_floats({d, 3 * c.hidden}, 7, -0.3F, 0.3F));
  return run;
}

Attributes recurrent_attributes(const char* direction, std::int64_t layout = 0) {
  return test_attributes({{"direction", std::string(direction)}, {"layout", layout}});
}

TEST(CpuRecurrent, AgreesWithReference) {
  const Attributes before = test_attributes(
      {{"linear_before_reset", std::int64_t{1}}, {"direction", std::string("bidirectional")}});
  const Attributes coupled = test_attributes({{"input_forget", std::int64_t{1}}, {"clip", 0.4F}});
  const Attributes limited = test_attributes({{"cell_clip", 0.05F}});
  const std::vector<RecurrentCase> cases = {
      {OpKind::kLSTM, 1, 1, 7, 5},
      {OpKind::kLSTM, 1, 1, 40, 70, {}, true},
      {OpKind::kLSTM, 1, 1, 256, 512, recurrent_attributes("reverse"), true},
      {OpKind::kLSTM, 1, 2, 300, 300, {}, true},
      {OpKind::kLSTM, 35, 1, 9, 17, recurrent_attributes("bidirectional"), true},
      {OpKind::kLSTM, 5, 9, 3, 16, recurrent_attributes("reverse", 1), true},
      {OpKind::kLSTM, 4, 3, 3, 33, coupled, true},
      {OpKind::kLSTM, 4, 3, 3, 33, limited, true},
      {OpKind::kLSTM, 6, 3, 3, 8, recurrent_attributes("bidirectional"), true, {6, 0, 2}},
      {OpKind::kLSTM, 40, 90, 20, 24, recurrent_attributes("bidirectional", 1)},
      {OpKind::kGRU, 33, 1, 8, 4, before, true},
      {OpKind::kGRU, 1, 33, 8, 8, before, true},
      {OpKind::kGRU, 3, 5, 8, 20, recurrent_attributes("bidirectional"), true},
      {OpKind::kGRU, 20, 1, 8, 20, recurrent_attributes("reverse", 1)},
      {OpKind::kGRU, 4, 2, 8, 20, before, true, {4, 1}},
      {OpKind::kRNN, 20, 2, 6, 30, recurrent_attributes("bidirectional"), true},
      {OpKind::kRNN, 1, 1, 6, 30},
  };
  for (const RecurrentCase& c : cases) {
    SCOPED_TRACE(testing::Message() << to_string(c.op) << " " << c.steps << "x" << c.batch << "x"
                                    << c.inputs << "x" << c.hidden);
    expect_same_as_reference(recurrent_run(c), {1e-4, 1e-5});
  }
}

/// Weights that are bytes times a unit of their direction.
TEST(CpuRecurrent, ReadsWeightsOfBytes) {
  static const std::vector<float> kUnits = {0.003F, 0.005F}, kOne = {0.004F};
  const KernelMaker make = [](KernelRequest request) {
    std::vector<TensorDesc> inputs(request.inputs.begin(), request.inputs.end());
    inputs[1].units = &kUnits;
    inputs[2].units = &kOne;
    request.inputs = inputs;
    return test_detail::make_of(request, KernelLibrary::kCpu);
  };
  for (const std::int64_t batch : {1, 7}) {
    KernelRun run = recurrent_run(
        {OpKind::kLSTM, 19, batch, 9, 17, recurrent_attributes("bidirectional"), true});
    for (const std::size_t i : {1U, 2U}) {
      std::vector<float> weights = test_values<float>(*run.inputs[i]);
      for (std::size_t at = 0; at < weights.size(); ++at) {
        const float unit = i == 2 ? kOne[0] : kUnits[2 * at / weights.size()];
        weights[at] = std::nearbyint(weights[at] / unit) * unit;
      }
      run.inputs[i] = test_tensor<float>(run.inputs[i]->dims(), weights);
    }
    const auto got = run_kernel_tiles(run, make);
    const auto want = run_kernel(run, KernelLibrary::kReference);
    const auto floats = run_kernel_tiles(run, KernelLibrary::kCpu);
    ASSERT_TRUE(got && want && floats);
    EXPECT_NE(test_values<float>(got->outputs[0]), test_values<float>(floats->outputs[0]))
        << "units are ignored";
    for (std::size_t i = 0; i < 3; ++i) expect_close(got->outputs[i], (*want)[i], {1e-4, 1e-5});
  }
}

/// Returns the bytes of weights [directions, rows, depth], which lie as the weights or as
/// [directions, depth, rows].
StoredForm stored_bytes(const Tensor& w, const std::vector<float>& units, DType dtype,
                        bool turned) {
  const std::int64_t d = w.dims()[0], rows = w.dims()[1], depth = w.dims()[2];
  const std::vector<float> weights = test_values<float>(w);
  std::vector<std::byte> bytes(weights.size());
  for (std::int64_t i = 0; i < std::ssize(weights); ++i) {
    const std::int64_t direction = i / (rows * depth), row = i / depth % rows, k = i % depth;
    const float unit = units.size() == 1 ? units[0] : units[to_size(direction)];
    const int zero = dtype == DType::kU8 ? 128 : 0;
    const int number = static_cast<int>(std::lround(weights[to_size(i)] / unit)) + zero;
    const std::int64_t at = turned ? (direction * depth + k) * rows + row : i;
    bytes[to_size(at)] = static_cast<std::byte>(number);
  }
  const Dims dims = turned ? Dims{d, depth, rows} : w.dims();
  const StoredForm form = *own_form(make_constant(dtype, dims, bytes));
  const std::int64_t perm[] = {0, 2, 1};
  return turned ? transposed_form(form, dims, perm) : form;
}

TEST(CpuRecurrent, PacksTheBytesOfAFile) {
  static const std::vector<float> kUnits = {0.003F, 0.005F}, kOne = {0.004F};
  KernelRun run =
      recurrent_run({OpKind::kLSTM, 5, 2, 9, 17, recurrent_attributes("bidirectional"), true});
  for (const std::size_t i : {1U, 2U}) {
    std::vector<float> weights = test_values<float>(*run.inputs[i]);
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const float unit = i == 2 ? kOne[0] : kUnits[2 * at / weights.size()];
      weights[at] = std::nearbyint(weights[at] / unit) * unit;
    }
    run.inputs[i] = test_tensor<float>(run.inputs[i]->dims(), weights);
  }
  const auto outputs_of = [&run](std::optional<DType> stored, bool turned) {
    const std::vector<std::byte> unread(std::size_t{64} << 10);
    const KernelMaker make = [&](KernelRequest request) {
      std::vector<TensorDesc> inputs(request.inputs.begin(), request.inputs.end());
      for (const std::size_t i : {1U, 2U}) {
        inputs[i].units = i == 1 ? &kUnits : &kOne;
        if (!stored) continue;
        inputs[i].stored = std::make_shared<const StoredForm>(
            stored_bytes(*run.inputs[i], *inputs[i].units, *stored, turned));
        inputs[i].data = unread.data() + i;
      }
      request.inputs = inputs;
      return test_detail::make_of(request, KernelLibrary::kCpu);
    };
    return test_values<float>(run_kernel_tiles(run, make).value().outputs[0]);
  };
  const std::vector<float> want = outputs_of(std::nullopt, false);
  for (const DType dtype : {DType::kI8, DType::kU8})
    for (const bool turned : {false, true})
      EXPECT_EQ(outputs_of(dtype, turned), want) << to_string(dtype) << " " << turned;
}

TEST(CpuRecurrent, EveryActivation) {
  for (const char* name : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh",
                           "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}) {
    SCOPED_TRACE(name);
    RecurrentCase c{OpKind::kRNN, 3, 2, 6, 11};
    c.attributes.set("activations", std::vector<std::string>{name});
    c.attributes.set("activation_alpha", std::vector<float>{0.3F});
    expect_same_as_reference(recurrent_run(c), {1e-4, 1e-5});
  }
}

TEST(CpuRecurrent, CutsOneStepAndManySequences) {
  const auto tiles = [](const RecurrentCase& c) {
    const auto outcome = run_kernel_tiles(recurrent_run(c), KernelLibrary::kCpu);
    return outcome ? outcome->tiles : -1;
  };
  EXPECT_GT(tiles({OpKind::kLSTM, 1, 1, 256, 512}), 1);
  EXPECT_EQ(tiles({OpKind::kLSTM, 50, 1, 256, 512, recurrent_attributes("bidirectional")}), 2);
  EXPECT_GT(tiles({OpKind::kLSTM, 50, 64, 32, 32}), 1);
}

TEST(CpuRecurrent, LeavesWhatIsComputedToTheReference) {
  KernelRun run = recurrent_run({OpKind::kLSTM, 2, 1, 3, 4});
  run.constants = 0;
  EXPECT_TRUE(cpu_declines(run));
  EXPECT_TRUE(cpu_declines(recurrent_run({OpKind::kLSTM, 0, 1, 3, 4})));
}

}  // namespace
}  // namespace parallax
