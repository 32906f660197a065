// Einsum and Det.
#include <gmock/gmock.h>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;

template <class... T>
Floats einsum(const char* equation, T&&... tensors) {
  return run_one<float>(OpKind::kEinsum, test_inputs(std::forward<T>(tensors)...),
                        test_attributes({{"equation", std::string(equation)}}));
}

TEST(ReferenceEinsum, ProductsSumsAndDiagonals) {
  const auto square = [] { return test_tensor<float>({2, 2}, {1, 2, 3, 4}); };
  EXPECT_THAT(einsum("ij,jk", square(), square()), ElementsAre(7, 10, 15, 22));
  EXPECT_THAT(einsum("ij,jk->ki", square(), square()), ElementsAre(7, 15, 10, 22));
  EXPECT_THAT(einsum("ij->j", square()), ElementsAre(4, 6));
  EXPECT_THAT(einsum("ji", square()), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(einsum("ii->i", square()), ElementsAre(1, 4));
  EXPECT_THAT(einsum("ii", square()), ElementsAre(5));
  EXPECT_THAT(einsum("ij,ij,j->i", square(), square(), row<float>({1, 10})), ElementsAre(41, 169));
  EXPECT_THAT(einsum("...i,i...->...", square(), square()), ElementsAre(7, 22));
  EXPECT_THAT(einsum(",", scalar(3.0F), scalar(4.0F)), ElementsAre(12));
  EXPECT_THAT(einsum("ij,ij->ij", square(), test_tensor<float>({1, 2}, {2, 3})),
              ElementsAre(2, 6, 6, 12));
}

TEST(ReferenceEinsum, EmptyAndIntegers) {
  EXPECT_THAT(einsum("ij,j->i", test_tensor<float>({2, 0}, {}), row<float>({})), ElementsAre(0, 0));
  EXPECT_TRUE(einsum("ij->ji", test_tensor<float>({2, 0}, {})).empty());
  const auto big = [] { return row<std::int8_t>({100, 100}); };
  EXPECT_THAT(run_one<std::int8_t>(OpKind::kEinsum, test_inputs(big()),
                                   test_attributes({{"equation", std::string("i->")}})),
              ElementsAre(-56));
}

TEST(ReferenceDet, PivotsAndBatches) {
  const auto det = [](Dims dims, const std::vector<float>& elements) {
    return run_one<float>(OpKind::kDet, test_inputs(test_tensor<float>(dims, elements)));
  };
  EXPECT_THAT(det({2, 2, 2}, {0, 1, 1, 0, 1, 2, 3, 4}), ElementsAre(-1, -2));
  EXPECT_THAT(det({2, 2}, {1, 2, 2, 4}), ElementsAre(0));
  EXPECT_THAT(det({1, 1}, {kInf}), ElementsAre(kInf));
  EXPECT_THAT(det({2, 0, 0}, {}), ElementsAre(1, 1));
  EXPECT_TRUE(det({0, 2, 2}, {}).empty());
}

}  // namespace
}  // namespace parallax
