// Every file that open_tflite() refuses, one change of a file that opens at a time.
#include "load/tflite/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "load/tflite_test_util.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using testing::HasSubstr;
constexpr auto kInvalid = ErrorCode::kInvalidModel, kNot = ErrorCode::kUnsupported;

struct Refusal {
  const char* message;  // part of it
  std::function<void(TfliteModel&)> change;
  ErrorCode code = kInvalid;
};

/// y = -(x + w), over tensors that rows change.
TfliteModel good_model() {
  TfliteGraph graph = {.tensors = {{"x", {2}},
                                   {"w", {2}, tflite_data<float>({1, 2})},
                                   {"t", {2}},
                                   {"y", {2}},
                                   {"spare", {2}},
                                   {"state", {2}, {}, TfliteType::FLOAT32, {}, {}, {}, true}},
                       .operators = {{TfliteOp::ADD, {0, 1}, {2}}, {TfliteOp::NEG, {2}, {3}}},
                       .inputs = {0},
                       .outputs = {3}};
  const TfliteGraph body = {
      .tensors = {{"a", {2}}}, .operators = {}, .inputs = {0}, .outputs = {0}};
  return {.graphs = {std::move(graph), body},
          .signatures = {{"run", {{"in", 0}}, {{"out", 3}}}},
          .metadata = {{"note", 0}}};
}

void expect_refused(std::span<const Refusal> rows) {
  for (const Refusal& row : rows) {
    TfliteModel model = good_model();
    row.change(model);
    const OpenedTflite opened(tflite_bytes(model));
    ASSERT_FALSE(opened.file) << row.message;
    const Error& error = opened.file.error();
    EXPECT_EQ(error.stage, Stage::kLoad) << row.message;
    EXPECT_EQ(error.code, row.code) << row.message;
    EXPECT_THAT(error.to_string(), HasSubstr(row.message));
    EXPECT_EQ(error.to_string().find('\n'), std::string::npos);
  }
}

TfliteTensor& main_tensor(TfliteModel& m, std::size_t i) { return m.graphs[0].tensors[i]; }
TfliteStep& main_operator(TfliteModel& m, std::size_t i) { return m.graphs[0].operators[i]; }

TEST(VerifyTflite, OpensTheModelThatRowsChange) {
  const OpenedTflite opened(tflite_bytes(good_model()));
  EXPECT_TRUE(opened.file) << opened.file.error().to_string();
}

TEST(VerifyTflite, RefusesOtherFiles) {
  for (const char* bytes : {"", "TFL3", "....TFL2....", "....TFL3", "\x10...TFL3............"}) {
    const OpenedTflite opened{std::string(bytes)};
    ASSERT_FALSE(opened.file) << bytes;
    EXPECT_EQ(opened.file.error().code, kInvalid);
  }
}

TEST(VerifyTflite, RefusesModels) {
  const Refusal rows[] = {
      {"schema version 2", [](auto& m) { m.version = 2; }, kNot},
      {"no subgraph", [](auto& m) { m.graphs.clear(); }},
      {"subgraph 1 contains the control character", [](auto& m) { m.graphs[1].name = "\n"; }},
      {"operator code 1 is not UTF-8", [](auto& m) { main_operator(m, 1).custom_code = "\xFF"; }},
      {"buffer 1 has 9 bytes at 4294967296 of a file of",
       [](auto& m) {
         m.buffers = {{{}, std::uint64_t{1} << 32U, 9}};
       }},
      {"buffer 1 has 18446744073709551615 bytes at 8",
       [](auto& m) {
         m.buffers = {{{}, 8, std::numeric_limits<std::uint64_t>::max()}};
       }},
      {"entry 0 of the metadata has buffer 9 of 2", [](auto& m) { m.metadata[0].second = 9; }},
      {"entry 0 of the metadata contains", [](auto& m) { m.metadata[0].first = "\x1B"; }},
  };
  expect_refused(rows);
}

TEST(VerifyTflite, RefusesTensors) {
  constexpr std::int32_t kBig = std::numeric_limits<std::int32_t>::max();
  const Refusal rows[] = {
      {"tensor 0 of subgraph 0 contains the control",
       [](auto& m) { main_tensor(m, 0).name = "a\nb"; }},
      {"tensor 0 of subgraph 0 is not UTF-8", [](auto& m) { main_tensor(m, 0).name = "\xC0"; }},
      {"'x' has the unknown element type 99",
       [](auto& m) { main_tensor(m, 0).type = static_cast<TfliteType>(99); }, kNot},
      {"'x' has 9 dimensions", [](auto& m) { main_tensor(m, 0).shape.assign(9, 1); }, kNot},
      {"'x' has the dimension -1", [](auto& m) { main_tensor(m, 0).shape = {-1}; }},
      {"size of 'x' overflows",
       [](auto& m) {
         main_tensor(m, 0).shape = {kBig, kBig, kBig};
       }},
      {"size of 'x' overflows",
       [](auto& m) {
         main_tensor(m, 0).shape = {kBig, kBig, 2};
       }},
      {"size of 'x' overflows",
       [](auto& m) {
         main_tensor(m, 0).shape = {kBig, kBig, kBig, 0};
       }},
      {"shape_signature of 'x'",
       [](auto& m) {
         main_tensor(m, 0).signature = {-1, 2};
       }},
      {"shape_signature of 'x'", [](auto& m) { main_tensor(m, 0).signature = {3}; }},
      {"shape_signature of 'x'", [](auto& m) { main_tensor(m, 0).signature = {-2}; }},
      {"'x' has buffer 7 of 2", [](auto& m) { main_tensor(m, 0).buffer = 7; }},
      {"bytes of 'x' are in another file", [](auto& m) { main_tensor(m, 0).external_buffer = 1; },
       kNot},
      {"'w' has 8 bytes, not 12", [](auto& m) { main_tensor(m, 1).shape = {3}; }},
      {"'w' has 8 bytes, not 4", [](auto& m) { main_tensor(m, 1).shape = {}; }},
      {"'w' has 8 bytes, not 0", [](auto& m) { main_tensor(m, 1).shape = {0}; }},
      {"'w' has 8 bytes, not 16", [](auto& m) { main_tensor(m, 1).type = TfliteType::COMPLEX64; }},
      {"'w' has 8 bytes, not 1", [](auto& m) { main_tensor(m, 1).type = TfliteType::INT4; }},
      {"'w' is a constant of type VARIANT",
       [](auto& m) { main_tensor(m, 1).type = TfliteType::VARIANT; }, kNot},
      {"variable 'w' has bytes", [](auto& m) { main_tensor(m, 1).variable = true; }, kNot},
  };
  expect_refused(rows);
}

TEST(VerifyTflite, RefusesStrings) {
  const struct {
    const char* message;
    std::string bytes;
  } cases[] = {
      {"too few bytes", "abc"},
      {"too few bytes", tflite_data<std::int32_t>({0})},
      {"too few bytes", tflite_data<std::int32_t>({-1, 8})},
      {"too few bytes", tflite_data<std::int32_t>({2, 16, 16})},
      {"too few bytes", tflite_data<std::int32_t>({std::numeric_limits<std::int32_t>::max(), 8})},
      {"has 3 strings, not 2", tflite_strings({"a", "b", "c"})},
      {"offsets", tflite_data<std::int32_t>({2, 12, 16, 16})},
      {"offsets", tflite_data<std::int32_t>({2, 16, 18, 17}) + "ab"},
      {"offsets", tflite_data<std::int32_t>({2, 16, 15, 18}) + "ab"},
      {"offsets", tflite_data<std::int32_t>({2, 16, 17, 19}) + "ab"},
      {"offsets", tflite_data<std::int32_t>({2, 16, 17, 17}) + "ab"},
  };
  for (const auto& c : cases) {
    const Refusal rows[] = {{c.message, [&](auto& m) {
                               main_tensor(m, 1).type = TfliteType::STRING;
                               main_tensor(m, 1).bytes = c.bytes;
                             }}};
    expect_refused(rows);
  }
}

TEST(VerifyTflite, RefusesQuantization) {
  const auto blocks = [](std::int32_t scales, std::int32_t zeros, std::int32_t size) {
    return [=](TfliteModel& m) {
      main_tensor(m, 0).quantization = [=](FlatBuilder& to) {
        const auto details = schema::CreateBlockwiseQuantization(to, scales, zeros, size).Union();
        return schema::CreateQuantizationParameters(
            to, 0, 0, 0, 0, schema::QuantizationDetails::BlockwiseQuantization, details);
      };
    };
  };
  const auto multi = [](TfliteModel& m) {
    main_tensor(m, 0).quantization = [](FlatBuilder& to) {
      const TfliteInts axes = {1};
      const auto details = schema::CreateMultiAxisQuantizationDirect(to, 1, 1, 1, &axes).Union();
      return schema::CreateQuantizationParameters(
          to, 0, 0, 0, 0, schema::QuantizationDetails::MultiAxisQuantization, details);
    };
  };
  const auto with = [](std::vector<float> scales, std::vector<std::int64_t> zeros, int axis = 0) {
    return [=](TfliteModel& m) {
      main_tensor(m, 0).shape = {2, 3};
      main_tensor(m, 0).quantization = tflite_quantized(scales, zeros, axis);
    };
  };
  const Refusal rows[] = {
      {"'x' has the scale -1", with({-1}, {0})},
      {"'x' has the scale inf", with({std::numeric_limits<float>::infinity()}, {0})},
      {"'x' has the scale nan", with({std::numeric_limits<float>::quiet_NaN()}, {0})},
      {"'x' has 0 zero points for 1 scales", with({1}, {})},
      {"'x' has 1 zero points for 0 scales", with({}, {0})},
      {"'x' has 2 zero points for 1 scales", with({1}, {0, 0})},
      {"'x' has 2 zero points for 3 scales", with({1, 1, 1}, {0, 0}, 1)},
      {"'x' has 3 scales for the 2 indices of axis 0", with({1, 1, 1}, {0, 0, 0})},
      {"'x' is quantized along axis 2 of 2", with({1, 1}, {0, 0}, 2)},
      {"'x' is quantized along axis -1 of 2", with({1, 1}, {0}, -1)},
      {"scales in a missing tensor", blocks(-1, 0, 2)},
      {"scales in a missing tensor", blocks(6, 0, 2)},
      {"scales in a missing tensor", blocks(0, 6, 2)},
      {"'x' has blocks of -2", blocks(1, -1, -2)},
      {"an axis that it lacks", multi},
  };
  expect_refused(rows);
}

TEST(VerifyTflite, RefusesOperators) {
  const Refusal rows[] = {
      {"input 6 of subgraph 0", [](auto& m) { m.graphs[0].inputs = {6}; }},
      {"input -1 of subgraph 0", [](auto& m) { m.graphs[0].inputs = {-1}; }},
      {"output 6 of subgraph 0", [](auto& m) { m.graphs[0].outputs = {6}; }},
      {"'x' is an input of subgraph 0 twice",
       [](auto& m) {
         m.graphs[0].inputs = {0, 0};
       }},
      {"'NEG 1': its input 6", [](auto& m) { main_operator(m, 1).inputs = {6}; }},
      {"'NEG 1': its input -2", [](auto& m) { main_operator(m, 1).inputs = {-2}; }},
      {"'NEG 1': its output 6", [](auto& m) { main_operator(m, 1).outputs = {6}; }},
      {"'NEG 1': its intermediate -1", [](auto& m) { main_operator(m, 1).intermediates = {-1}; }},
      {"'NEG 1': it has 2 marks",
       [](auto& m) {
         main_operator(m, 1).mutating = {1, 0};
       }},
      {"'NEG 1': its options have 9 bytes at 1048576",
       [](auto& m) {
         main_operator(m, 1).large_offset = 1 << 20;
         main_operator(m, 1).large_size = 9;
       }},
      {"'NEG 1': its output 'w' is a constant", [](auto& m) { main_operator(m, 1).outputs = {1}; }},
      {"'NEG 1': its output 'state' is a constant or v",
       [](auto& m) { main_operator(m, 1).outputs = {5}; }},
      {"'NEG 1': its output 'x' is an input", [](auto& m) { main_operator(m, 1).outputs = {0}; }},
      {"'NEG 1': its output 't' is written before",
       [](auto& m) { main_operator(m, 1).outputs = {2}; }},
      {"'NEG 1': its output 'y' is written before",
       [](auto& m) {
         main_operator(m, 1).outputs = {3, 3};
       }},
      {"'NEG 1': nothing defines its input 'spare'",
       [](auto& m) { main_operator(m, 1).inputs = {4}; }},
      {"nothing defines the output 'spare'", [](auto& m) { m.graphs[0].outputs = {4}; }},
      {"'ADD 0': it depends on its own output",
       [](auto& m) {
         main_operator(m, 0).inputs = {0, 2};
       }},
      {"it depends on its own output",
       [](auto& m) {
         main_operator(m, 0).inputs = {0, 3};
       }},
  };
  expect_refused(rows);
}

TEST(VerifyTflite, RefusesAnOperatorCodeThatIsMissing) {
  FlatBuilder to;
  const std::vector operators = {schema::CreateOperator(to, 1)};
  const std::vector graphs = {
      schema::CreateSubGraphDirect(to, nullptr, nullptr, nullptr, &operators)};
  const std::vector codes = {schema::CreateOperatorCode(to)};
  schema::FinishModelBuffer(to, schema::CreateModelDirect(to, 3, &codes, &graphs));
  const OpenedTflite opened({reinterpret_cast<const char*>(to.GetBufferPointer()), to.GetSize()});
  ASSERT_FALSE(opened.file);
  EXPECT_THAT(opened.file.error().message,
              HasSubstr("operator 0 of subgraph 0 has operator code 1"));
}

TEST(VerifyTflite, RefusesCalls) {
  const auto call = [](const TfliteOptions& options, std::size_t graph = 0) {
    return [=](TfliteModel& m) {
      m.graphs[graph].operators.push_back({.code = TfliteOp::WHILE, .options = options});
    };
  };
  const auto branches = [](FlatBuilder& to) {
    const TfliteInts indices = {1, 2};
    return schema::CreateStablehloCaseOptionsDirect(to, &indices);
  };
  const Refusal rows[] = {
      {"'WHILE 2': it calls subgraph 2 of 2",
       call(tflite_options([=](auto& to) { return schema::CreateWhileOptions(to, 1, 2); }))},
      {"'WHILE 2': it calls subgraph -1 of 2",
       call(tflite_options([=](auto& to) { return schema::CreateIfOptions(to, 1, -1); }))},
      {"it calls subgraph 4294967295 of 2",
       call(tflite_options([=](auto& to) { return schema::CreateCallOptions(to, 0xFFFFFFFFU); }))},
      {"it calls subgraph 2 of 2", call(tflite_options(branches))},
      {"subgraph 0 calls itself",
       call(tflite_options([=](auto& to) { return schema::CreateCallOnceOptions(to, 0); }))},
      {"subgraph 0 calls itself",
       call(tflite_options([=](auto& to) { return schema::CreateIfOptions(to, 1, 0); }))},
      {"subgraph 0 calls itself", call(tflite_options([=](auto& to) {
         return schema::CreateStablehloWhileOptions(to, 1, 0);
       }))},
      {"subgraph 1 calls itself", call(tflite_options([=](auto& to) {
                                         return schema::CreateStableHLOCompositeOptions(to, 0, 1);
                                       }),
                                       1)},
      {"subgraph 0 calls itself",
       [&](TfliteModel& m) {
         call(tflite_options([=](auto& to) { return schema::CreateCallOptions(to, 1U); }))(m);
         call(tflite_options([=](auto& to) { return schema::CreateCallOptions(to, 0U); }), 1)(m);
       }},
  };
  expect_refused(rows);
}

TEST(VerifyTflite, RefusesSignatures) {
  const Refusal rows[] = {
      {"signature 'run' has subgraph 2 of 2", [](auto& m) { m.signatures[0].subgraph = 2; }},
      {"two signatures have the name 'run'",
       [](auto& m) { m.signatures.push_back(m.signatures[0]); }},
      {"signature 0 contains the control", [](auto& m) { m.signatures[0].key = "\t"; }},
      {"'in' of the inputs of signature 'run' is tensor 6",
       [](auto& m) { m.signatures[0].inputs[0].second = 6; }},
      {"'in' of the inputs of signature 'run' is tensor 3",
       [](auto& m) { m.signatures[0].inputs[0].second = 3; }},
      {"'out' of the outputs of signature 'run' is tensor 0",
       [](auto& m) { m.signatures[0].outputs[0].second = 0; }},
      {"two of the inputs of signature 'run' have the name 'in'",
       [](auto& m) {
         m.signatures[0].inputs.push_back({"in", 0});
       }},
      {"the outputs of signature 'run' is not UTF-8",
       [](auto& m) { m.signatures[0].outputs[0].first = "\xFF"; }},
  };
  expect_refused(rows);
}

}  // namespace
}  // namespace parallax
