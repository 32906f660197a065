// Variables of TFLite files, which keep their values from run to run.
#include <thread>

#include "parallax/state.h"
#include "session/tflite_variables_test_util.h"

namespace parallax::tflite_rule {
namespace {

using testing::HasSubstr;

/// A loaded model with its bytes.
struct Kept {
  explicit Kept(const TfliteModel& file)
      : bytes(tflite_bytes(file)),
        model(Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr})) {}
  std::string bytes;
  Result<Model> model;
};

/// The first output of a run on x.
float run_once(Session& session, float x, const RunOptions& options = {}) {
  const Tensor input = tensor_of({{1}, {x}}, DType::kF32);
  const auto outputs = session.run(std::vector<NamedInput>{{"x", input.view()}}, options);
  EXPECT_TRUE(outputs) << outputs.error().to_string();
  return outputs ? (*outputs)[0].view().as<float>()[0] : -1;
}

TEST(TfliteVariables, KeepTheirValuesInASession) {
  const Kept kept(accumulator());
  ASSERT_TRUE(kept.model) << kept.model.error().to_string();
  ASSERT_EQ(kept.model->ties().size(), 1U);
  EXPECT_EQ(kept.model->ties()[0].input, "sum");
  EXPECT_EQ(kept.model->inputs().back().name, "sum");
  EXPECT_EQ(kept.model->ties()[0].output, kept.model->outputs().back().name);
  Session session = *Session::create(*kept.model), other = *Session::create(*kept.model);
  EXPECT_EQ(run_once(session, 1), 11);
  EXPECT_EQ(run_once(session, 2, {.tied_outputs = false}), 13);
  EXPECT_EQ(run_once(other, 5), 15) << "each session has variables of its own";
  EXPECT_EQ(run_once(session, 1), 14);
  const Tensor x = tensor_of({{1}, {1}}, DType::kF32), sum = tensor_of({{1}, {100}}, DType::kF32);
  const auto given = session.run(std::vector<NamedInput>{{"x", x.view()}, {"sum", sum.view()}});
  EXPECT_EQ((*given)[0].view().as<float>()[0], 101) << "what is given replaces the variable";
  EXPECT_EQ(run_once(session, 1), 102);
}

TEST(TfliteVariables, AreSeparateInEachState) {
  const Kept kept(accumulator());
  Session session = *Session::create(*kept.model);
  State one = *State::create(session), two = *State::create(session);
  EXPECT_EQ(run_once(session, 1, {.state = &one}), 11);
  EXPECT_EQ(run_once(session, 1, {.state = &one}), 12);
  EXPECT_EQ(run_once(session, 1, {.state = &two}), 11);
  EXPECT_EQ(run_once(session, 1), 11);
  State copy = *one.copy();
  one.reset();
  EXPECT_EQ(run_once(session, 1, {.state = &one}), 11);
  EXPECT_EQ(run_once(session, 1, {.state = &copy}), 13);
  const Tensor seven = tensor_of({{1}, {7}}, DType::kF32);
  ASSERT_TRUE(two.set("sum", seven.view()));
  EXPECT_EQ(run_once(session, 1, {.state = &two}), 8);
  const auto twice = State::create(session, kept.model->ties());
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("input 'sum' is tied twice"));
}

TEST(TfliteVariables, RunsWithoutAStateAreSerial) {
  const Kept kept(accumulator());
  Session session = *Session::create(*kept.model);
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        for (int i = 0; i < 25; ++i) run_once(session, 1);
      });
  }
  EXPECT_EQ(run_once(session, 0), 110);
}

/// Bytes that stand for real numbers begin with those of zero; a variable that no run changes is a
/// constant.
TEST(TfliteVariables, BeginAsTheFileSays) {
  TfliteModel constant = accumulator();
  constant.graphs[0].operators.pop_back();
  const Kept fixed(constant);
  ASSERT_TRUE(fixed.model) << fixed.model.error().to_string();
  EXPECT_TRUE(fixed.model->ties().empty());
  Session session = *Session::create(*fixed.model);
  EXPECT_EQ(run_once(session, 1), 11);
  EXPECT_EQ(run_once(session, 1), 11);
  TfliteModel plain = accumulator();
  plain.graphs[0].operators.erase(plain.graphs[0].operators.begin());
  const Kept zeros(plain);
  Session begins = *Session::create(*zeros.model);
  EXPECT_EQ(run_once(begins, 1), 1);
  EXPECT_EQ(run_once(begins, 1), 2);
}

struct Refused {
  std::function<void(TfliteModel&)> change;
  std::string message;
};

TEST(TfliteVariables, RefuseWhatCannotBeState) {
  const std::vector<Refused> rows = {
      {[](auto& m) { m.graphs[0].operators[2].inputs = {0}; }, "is not one that VAR_HANDLE"},
      {[](auto& m) { m.graphs[0].operators[4].inputs = {1}; }, "another number of inputs"},
      {[](auto& m) {
         m.graphs[0].operators[4].inputs = {1, -1};
       },
       "another number of inputs"},
      {[](auto& m) { m.graphs[0].tensors[2].type = TfliteType::INT32; }, "as another type"},
      {[](auto& m) {
         m.graphs[1].tensors.push_back({"t", {1}});
         m.graphs[1].operators[1] = {TfliteOp::RELU, {1}, {2}};
       },
       "RELU is not supported where variables are initialised"},
      {[](auto& m) {
         m.graphs[0].operators[1] = handle(1, "other");
         m.graphs[0].tensors[2].signature = {-1};
       },
       "variable 'other' has no fixed shape"},
      {[](auto& m) { m.graphs[0].tensors[0].shape = {2}; }, "variable 'sum' changes its"},
      {[](auto& m) {
         std::swap(m.graphs[0].operators[0], m.graphs[0].operators[2]);
         std::swap(m.graphs[0].operators[0], m.graphs[0].operators[1]);
       },
       "is read before it is initialised"},
  };
  for (const Refused& row : rows) {
    TfliteModel file = accumulator();
    row.change(file);
    const Kept kept(file);
    ASSERT_FALSE(kept.model) << row.message;
    EXPECT_THAT(kept.model.error().to_string(), HasSubstr(row.message));
  }
}

/// h = relu(x + 2 h + 1), with h from run to run.
TEST(TfliteVariables, KeepTheStateOfRecurrentOperators) {
  const auto weight = [](float w) { return constant({1, 1}, {w}); };
  const RuleCase rnn = {
      "Rnn",
      TfliteOp::RNN,
      {{{1, 1}, {4}}, weight(1), weight(2), constant({1}, {1}), variable({1, 1})},
      {{{1, 1}, {}}},
      with([](auto& to) { return schema::CreateRNNOptions(to, Activation::RELU); })};
  RuleCase sequence = rnn;
  sequence.code = TfliteOp::UNIDIRECTIONAL_SEQUENCE_RNN;
  sequence.inputs[0] = {{2, 1, 1}, {4, 4}};
  sequence.outputs[0].shape = {2, 1, 1};
  sequence.options =
      with([](auto& to) { return schema::CreateSequenceRNNOptions(to, true, Activation::RELU); });
  const RuleCase svdf = {
      "Svdf",
      TfliteOp::SVDF,
      {{{1, 1}, {4}}, weight(1), constant({1, 3}, {100, 10, 1}), missing(), variable({1, 3})},
      {{{1, 1}, {}}},
      with([](auto& to) { return schema::CreateSVDFOptions(to, 1); })};
  // As LiteRT gives them.
  const RuleCase basic = {"BasicLstm",
                          TfliteOp::LSTM,
                          {{{1, 1}, {4}},
                           variable({1, 1}),
                           constant({4, 2}, {0, 0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F}),
                           constant({4}, {0, 0.1F, 0.2F, 0.3F}),
                           variable({1, 1})},
                          {{{1, 1}, {}}, {{1, 1}, {}}, {{1, 2}, {}}, {{1, 4}, {}}},
                          with([](auto& to) {
                            return schema::CreateLSTMOptions(to, Activation::TANH, 0, 0,
                                                             schema::LSTMKernelType::BASIC);
                          })};
  struct Row {
    RuleCase rule;
    Floats last;  ///< element of the output, by run
  };
  for (const Row& row : std::vector<Row>{{rnn, {5, 15, 35}},
                                         {sequence, {15, 75, 315}},
                                         {svdf, {4, 44, 444, 444}},
                                         {basic, {0.321946F, 0.573695F, 0.740343F, 0.838810F}}}) {
    const Kept kept(file_of(row.rule));
    ASSERT_TRUE(kept.model) << kept.model.error().to_string();
    Session session = *Session::create(*kept.model);
    const Tensor x = tensor_of(row.rule.inputs[0], DType::kF32);
    for (const float wanted : row.last) {
      const auto outputs = session.run(std::vector<NamedInput>{{"in0", x.view()}});
      ASSERT_TRUE(outputs) << outputs.error().to_string();
      EXPECT_NEAR(elements_as_floats((*outputs)[0].view()).back(), wanted, 1e-5F) << row.rule.name;
    }
  }
}

}  // namespace
}  // namespace parallax::tflite_rule
