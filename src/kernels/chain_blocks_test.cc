#include "kernels/chain_blocks.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/chain_spread.h"

namespace parallax {
namespace {

struct BlockCase {
  Dims output, input;
};

const std::vector<BlockCase> kCases = {
    {{}, {}},
    {{7}, {7}},
    {{7}, {1}},
    {{2, 3, 5}, {2, 3, 5}},
    {{2, 3, 5}, {5}},
    {{2, 3, 5}, {3, 1}},
    {{2, 3, 5}, {2, 1, 1}},
    {{2, 3, 5}, {2, 1, 5}},
    {{4, 1, 6}, {4, 1, 1}},
    {{3, 500}, {3, 1}},
    {{3, 500}, {500}},
    {{1, 1}, {1, 1, 1}},
    {{2, 2, 2, 2, 2, 2, 2, 2}, {2, 1, 2, 1, 2, 1, 2, 1}},
};

/// Returns the index of the input's element from which element `at` of the output is computed.
std::int64_t source_of(const BlockCase& c, std::int64_t at) {
  std::int64_t source = 0, stride = 1;
  if (c.input.elements() == 1) return 0;
  for (int d = c.output.rank() - 1, i = c.input.rank() - 1; d >= 0; --d, --i) {
    const std::int64_t index = at % c.output[d];
    at /= c.output[d];
    if (i < 0) continue;
    if (c.input[i] != 1) source += index * stride;
    stride *= c.input[i];
  }
  return source;
}

TEST(ChainBlocks, CoverTheOutputAndFindTheirInputs) {
  for (const BlockCase& c : kCases) {
    // The dense second input changes which axes are merged.
    for (const std::int64_t most : {1, 4, 10, 200, 5000}) {
      SCOPED_TRACE(c.output.to_string() + " " + c.input.to_string() + " " + std::to_string(most));
      const std::vector<Dims> inputs = {c.input, c.output};
      const ChainBlocks blocks(c.output, inputs, most);
      std::vector<std::int32_t> numbers(static_cast<std::size_t>(c.input.elements()));
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
      std::int64_t next = 0;
      for (std::int64_t b = 0; b < blocks.count(); ++b) {
        const ChainBlock block = blocks.block(b);
        ASSERT_EQ(block.begin, next);
        next += block.elements();
        EXPECT_TRUE(block.elements() == blocks.elements() ||
                    block.elements() == blocks.last_elements());
        EXPECT_EQ(blocks.offset(1, block), block.begin);
        const std::int32_t* from = numbers.data() + blocks.offset(0, block);
        std::vector<std::int32_t> seen(static_cast<std::size_t>(block.elements()));
        const BlockInput kind = blocks.input(0);
        if (kind != BlockInput::kDense && kind != BlockInput::kSingle) {
          spread(kind, reinterpret_cast<const std::byte*>(from), blocks.row_stride(0), 4, block,
                 reinterpret_cast<std::byte*>(seen.data()));
          from = seen.data();
        }
        for (std::int64_t e = 0; e < block.elements(); ++e)
          ASSERT_EQ(from[kind == BlockInput::kSingle ? 0 : e], source_of(c, block.begin + e));
      }
      EXPECT_EQ(next, c.output.elements());
    }
  }
}

}  // namespace
}  // namespace parallax
