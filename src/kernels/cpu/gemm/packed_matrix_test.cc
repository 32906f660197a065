#include "kernels/cpu/gemm/packed_matrix.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/files/mapped_file.h"
#include "base/files/resident_test_util.h"
#include "kernels/bf16.h"

namespace parallax {
namespace {

/// Numbers that all types have exactly; `columns` lie one after the other, or rows.
std::vector<float> numbers(std::int64_t count) {
  std::vector<float> result(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    result[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 101 - 50);
  return result;
}

FillRows fill_from(const float* from, bool by_columns) {
  return [from, by_columns](const PackedMatrix& matrix, std::int64_t panel, TileRange rows,
                            float* to) {
    const std::int64_t stride = matrix.stride(panel);
    std::fill_n(to, (rows.end - rows.begin) * stride, 0.0F);
    for (std::int64_t k = rows.begin; k < rows.end; ++k, to += stride)
      for (std::int64_t j = 0; j < matrix.width(panel); ++j) {
        const std::int64_t column = matrix.column(panel) + j;
        to[j] = from[by_columns ? column * matrix.depth + k : k * matrix.columns + column];
      }
  };
}

TEST(PackInOrder, GivesTheBytesOfAMatrixThatIsPackedAsAWhole) {
  struct Size {
    std::int64_t depth, columns;
  };
  for (const auto& [depth, columns] : {Size{1001, 333}, Size{70, 5000}, Size{3, 5}}) {
    const std::vector<float> from = numbers(depth * columns);
    const auto* const source = reinterpret_cast<const std::byte*>(from.data());
    for (const GemmType* type :
         {&gemm_type(Precision::kF32), &gemm_type(Precision::kBf16), &byte_gemm_type()}) {
      if (type == &gemm_type(Precision::kBf16) && !cpu_multiplies_bf16()) continue;
      for (const bool by_columns : {false, true}) {
        SCOPED_TRACE(testing::Message() << depth << " " << type->name << " " << by_columns);
        const auto pack = [&](const char* layout, DenseConstant constant) {
          PackedWeights packed;
          const auto matrix = pack_in_order(PackedMatrix(*type, depth, columns), source, layout,
                                            fill_from(from.data(), by_columns), constant, packed);
          EXPECT_TRUE(matrix);
          return matrix->bytes;
        };
        const auto whole = pack("whole", {});
        const auto blocks = pack("blocks", {std::as_bytes(std::span(from)), by_columns});
        ASSERT_EQ(whole->size(), blocks->size());
        EXPECT_EQ(
            std::memcmp(whole->data(), blocks->data(), static_cast<std::size_t>(whole->size())), 0);
      }
    }
  }
}

TEST(PackInOrder, HoldsNoMoreThanABlockOfAFile) {
  constexpr std::int64_t kDepth = 2048, kColumns = 1024;
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("packed_matrix_" + std::to_string(::getpid()));
  const std::vector<float> from = numbers(kDepth * kColumns);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(from.data()),
             static_cast<std::streamsize>(from.size() * sizeof(float)));
  const auto file = MappedFile::open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(file);
  const auto bytes = (*file)->bytes();
  for (const bool by_columns : {false, true}) {
    long most = 0;
    const auto fill =
        [&, rows = fill_from(reinterpret_cast<const float*>(bytes.data()), by_columns)](
            const PackedMatrix& matrix, std::int64_t panel, TileRange range, float* to) {
          rows(matrix, panel, range, to);
          if (panel % 4 == 0) most = std::max(most, resident_kib(bytes.data()));
        };
    PackedWeights packed;
    ASSERT_TRUE(pack_in_order(PackedMatrix(gemm_type(Precision::kF32), kDepth, kColumns),
                              bytes.data(), "of a file", fill, {bytes, by_columns}, packed));
    EXPECT_GE(most, 512);
    EXPECT_LE(most, 2048) << "of 8192";
    EXPECT_LE(resident_kib(bytes.data()), 1024);
  }
}

}  // namespace
}  // namespace parallax
