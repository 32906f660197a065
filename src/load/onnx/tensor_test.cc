#include "load/onnx/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using protozero::pbf_writer;

Result<Constant> read(const std::string& bytes) {
  const auto tensor = parse_onnx_tensor(bytes);
  if (!tensor) return tl::unexpected(tensor.error());
  LoadQuota quota;
  ExternalFiles external({}, quota);
  return read_tensor(*tensor, nullptr, external);
}

/// A tensor 't' of the given declaration followed by the fields that `fill` writes.
template <class Fill>
std::string tensor(int type, const Ints& dims, Fill fill) {
  return tensor_head("t", type, dims) + message(fill);
}

std::string text(const Constant& constant) {
  return {reinterpret_cast<const char*>(constant.bytes.data()), constant.bytes.size()};
}

TEST(ReadTensor, PointsIntoTheFile) {
  const std::string raw = float_tensor("t", {2}, {1, 2});
  const std::vector<float> values = {3, 4};
  const std::string packed = tensor(
      kOnnxFloat, {2}, [&](pbf_writer& w) { w.add_packed_float(4, values.begin(), values.end()); });
  for (const std::string& bytes : {raw, packed}) {
    const auto constant = read(bytes);
    ASSERT_TRUE(constant) << constant.error().to_string();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    EXPECT_GE(constant->bytes.data(), begin);
    EXPECT_LE(constant->bytes.data() + constant->bytes.size(), begin + bytes.size());
  }
}

TEST(ReadTensor, TakesTypesWithASizeAndNamesTheOthers) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    const DTypeInfo& type = kDTypes[i];
    if (type.kind == DTypeClass::kString) continue;  // stored otherwise
    const auto bytes = bytes_of(static_cast<DType>(i), 3).value_or(0);
    const auto constant =
        read(raw_tensor("t", type.onnx, {3}, std::string(static_cast<std::size_t>(bytes), '\1')));
    ASSERT_EQ(constant.has_value(), type.bits > 0) << type.text;
    if (constant) {
      EXPECT_EQ(constant->dtype, static_cast<DType>(i));
      continue;
    }
    EXPECT_EQ(constant.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(constant.error().message, "tensor 't' has the element type " +
                                            std::string(type.numpy) + ", which is not supported");
  }
}

struct DecodedCase {
  std::string tensor, expected;
};
void expect_decoded(std::span<const DecodedCase> cases) {
  for (const auto& c : cases) {
    const auto constant = read(c.tensor);
    ASSERT_TRUE(constant) << constant.error().to_string();
    EXPECT_EQ(text(*constant), c.expected);
  }
}

TEST(ReadTensor, DecodesTypedFields) {
  const Ints small = {-3, 0, 5};
  const auto packed32 = [&](pbf_writer& w) { w.add_packed_int32(5, small.begin(), small.end()); };
  const auto unpacked32 = [&](pbf_writer& w) {
    for (const std::int64_t v : small) w.add_int32(5, static_cast<std::int32_t>(v));
  };
  const auto packed64 = [&](pbf_writer& w) { w.add_packed_int64(7, small.begin(), small.end()); };
  const auto runs = [&](pbf_writer& w) {
    w.add_int64(7, -3);
    w.add_packed_int64(7, small.begin() + 1, small.end());
  };
  const auto floats = [&](pbf_writer& w) {
    w.add_float(4, 1.5F);
    w.add_float(4, -2);
  };
  const auto bools = [](pbf_writer& w) {
    w.add_int32(5, 1);
    w.add_int32(5, 0);
  };
  const auto doubles = [&](pbf_writer& w) {
    w.add_double(10, 1.5);
    w.add_double(10, -2);
  };
  const auto halves = [](pbf_writer& w) {
    w.add_int32(5, 0x3c00);
    w.add_int32(5, 0xc000);
  };
  const auto bytes = [](pbf_writer& w) {
    w.add_int32(5, 0x38);
    w.add_int32(5, 0xb8);
  };
  const auto unsigned64 = [](pbf_writer& w) {
    w.add_uint64(11, 7);
    w.add_uint64(11, 4294967295);
  };
  const std::string i64 = raw_data(small), i32 = raw_data(std::vector<std::int32_t>{-3, 0, 5});
  const std::string i8 = raw_data(std::vector<std::int8_t>{-3, 0, 5});
  const DecodedCase cases[] = {
      {tensor(kOnnxInt32, {3}, packed32), i32},
      {tensor(kOnnxInt32, {3}, unpacked32), i32},
      {tensor(kOnnxInt8, {3, 1}, packed32), i8},
      {tensor(kOnnxInt64, {3}, packed64), i64},
      {tensor(kOnnxInt64, {1, 3}, runs), i64},
      {tensor(kOnnxFloat, {2}, floats), raw_data(std::vector<float>{1.5F, -2})},
      {tensor(kOnnxBool, {2}, bools), std::string("\1\0", 2)},
      {tensor(kOnnxDouble, {2}, doubles), raw_data(std::vector<double>{1.5, -2})},
      {tensor(kOnnxHalf, {2}, halves), raw_data(std::vector<std::uint16_t>{0x3c00, 0xc000})},
      {tensor(17, {2}, bytes), std::string("\x38\xb8")},
      {tensor(22, {3}, bytes), std::string("\x38\xb8")},
      {tensor(25, {7}, bytes), std::string("\x38\xb8")},
      {tensor(5, {3}, packed32), raw_data(std::vector<std::int16_t>{-3, 0, 5})},
      {tensor(12, {2}, unsigned64), raw_data(std::vector<std::uint32_t>{7, 4294967295})},
      {tensor(13, {2}, unsigned64), raw_data(std::vector<std::uint64_t>{7, 4294967295})},
      {tensor(kOnnxFloat, {0, 5}, [](pbf_writer&) {}), ""},
      {tensor(kOnnxInt64, {3, 0}, [](pbf_writer&) {}), ""},
  };
  expect_decoded(cases);
}

struct RefusedCase {
  std::string tensor;
  const char* message;
  ErrorCode code = ErrorCode::kInvalidModel;
};
void expect_refused(std::span<const RefusedCase> cases) {
  for (const auto& c : cases) {
    const auto constant = read(c.tensor);
    ASSERT_FALSE(constant) << c.message;
    EXPECT_EQ(constant.error().code, c.code) << constant.error().to_string();
    EXPECT_NE(constant.error().message.find(c.message), std::string::npos)
        << constant.error().message << "\nhas no: " << c.message;
  }
}

TEST(ReadTensor, RefusesWhatDisagrees) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 33;
  const auto one_float = [](pbf_writer& w) { w.add_float(4, 1); };
  const auto one_int = [](pbf_writer& w) { w.add_int32(5, 300); };
  const auto nothing = [](pbf_writer&) {};
  const RefusedCase cases[] = {
      {raw_tensor("t", kOnnxFloat, {1000000}, "abcd"), "stores 4 bytes"},
      {raw_tensor("t", kOnnxFloat, {1}, "abcde"), "stores 5 bytes"},
      {raw_tensor("t", kOnnxFloat, {kHuge, kHuge}, "abcd"), "overflows"},
      {raw_tensor("t", kOnnxFloat, {std::numeric_limits<std::int64_t>::max()}, ""), "overflows"},
      {raw_tensor("t", kOnnxFloat, {kHuge, kHuge, 0, 2}, "abcd"), "'t'"},
      {raw_tensor("t", kOnnxFloat, {-1}, ""), "dimension -1"},
      {raw_tensor("t", kOnnxFloat, {-2, -2}, "abcdefghijklmnop"), "dimension -2"},
      {raw_tensor("t", kOnnxFloat, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "abcd"), "9 dimensions",
       ErrorCode::kUnsupported},
      {raw_tensor("t", kOnnxBool, {1}, "\2"), "holds the byte 2"},
      {raw_tensor("t", 0, {1}, "abcd"), "unknown element type 0"},
      {raw_tensor("t", 99, {1}, "abcd"), "unknown element type 99"},
      {raw_tensor("t", -1, {1}, "abcd"), "unknown element type -1"},
      {raw_tensor("t", 14, {1}, "abcdefgh"), "complex64", ErrorCode::kUnsupported},
      {raw_tensor("t", kOnnxString, {1}, ""), "is of strings but stores other elements"},
      {tensor(kOnnxFloat, {3}, nothing), "stores 0 bytes"},
      {tensor(kOnnxInt64, {}, nothing), "stores 0 bytes"},
      {tensor(kOnnxFloat, {2}, one_float), "stores 4 bytes"},
      {tensor(kOnnxInt64, {1}, one_int), "another type"},
      {tensor(kOnnxFloat, {1}, one_int), "another type"},
      {tensor(kOnnxDouble, {1}, one_int), "another type"},
      {tensor(22, {2}, one_int), "holds 300"},
      {tensor(17, {1}, one_int), "holds 300"},
      {tensor(kOnnxInt32, {1}, one_float), "another type"},
      {tensor(kOnnxUint8, {1}, one_int), "holds 300"},
      {tensor(kOnnxInt8, {1}, one_int), "holds 300"},
      {tensor(kOnnxBool, {1}, one_int), "holds 300"},
      {tensor(kOnnxInt32, {2}, one_int), "stores 1 elements"},
      {tensor(kOnnxInt32, {0}, one_int), "stores 1 or more"},
      {tensor(kOnnxInt32, {kHuge}, one_int), "stores 2 bytes"},
      {float_tensor("t", {1}, {1}) + message(one_float), "twice"},
      {tensor(kOnnxFloat, {1}, [](pbf_writer& w) { w.add_string(6, "s"); }), "stores"},
      {float_tensor("t", {1}, {1}) + message([](pbf_writer& w) { w.add_bytes(3, "", 0); }),
       "segments", ErrorCode::kUnsupported},
      {float_tensor("t", {1}, {1}) + message([](pbf_writer& w) { w.add_int32(14, 2); }),
       "data location 2"},
      {float_tensor("t", {1}, {1}) + message([](pbf_writer& w) { w.add_bytes(13, "", 0); }),
       "external data"},
      {tensor(kOnnxFloat, {1}, [](pbf_writer& w) { w.add_int32(14, 1); }), "location"},
      {tensor(kOnnxInt64, {2}, [](pbf_writer& w) { w.add_bytes(7, "\x01\x80"); }), "malformed"},
      {tensor(kOnnxInt64, {1},
              [](pbf_writer& w) { w.add_bytes(7, std::string(11, '\x80') + "\x01"); }),
       "malformed"},
      {tensor(kOnnxFloat, {1}, [](pbf_writer& w) { w.add_int64(4, 1); }), "malformed"},
      {tensor(kOnnxFloat, {1}, [](pbf_writer& w) { w.add_int64(9, 1); }), "malformed"},
  };
  expect_refused(cases);
}

}  // namespace
}  // namespace parallax
